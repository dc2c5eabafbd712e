#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Small collectives with several nodes, which one rank posts for all ranks of its node: the bits of
# the kernel's way, ways that are mixed, ranks that disagree, stop, leave, die, or write what they
# like into the memory that they share.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=selftests/net/shm_lib.sh
. "$(dirname "$0")/shm_lib.sh"

# Starting a job of several nodes takes most of the time.
rounds=$(largest 8 2)

plan 20
echo "# COLL_TEST_SEED=$seed"
nodes=2
for n in 4 5; do
	once "the same bits as by the kernel" $n bits
	once "every rank by a way of its own" $n mixed
	often "ranks that disagree hear it" $n differ 1
	dead=1 often "the others hear of a rank that is killed" $n kill 0
	dead=1 often "the others hear of a rank that is killed" $n kill 1
	once "a child has no part in it" $n fork
done
once "one call for all ranks of a node" 4 node
once "several ops under way, in two communicators" 4 posted
dead=1 often "the others hear of a rank that leaves" 4 leave 1
often "an abort is heard" 4 abort 3
once "a rank that is stopped for a while" 4 slow 2
once "the first rank of a node is stopped for a while" 4 slow 0
often "a rank that writes what it likes there" 4 scribble 1
# A node with one rank has no such memory.
nodes=3 once "every rank by a way of its own" 4 mixed
finish
