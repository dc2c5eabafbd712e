#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Small collectives in the memory that the ranks of a node share: the bits of the kernel's way,
# ways that are mixed, ranks that disagree, stop, leave, die, or write what they like there.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck source=selftests/net/shm_lib.sh
. "$(dirname "$0")/shm_lib.sh"

# stress MODE TIMES NAME
stress()
{
	COLL_TEST_SEED=$seed "$COLL_TEST_BUILD/shm_stress" "$1" "$2" >"$log" 2>&1 </dev/null
	ok $? "$3"
}

plan 42
echo "# COLL_TEST_SEED=$seed"
for n in 2 3 4; do
	once "the same bits as by the kernel" $n bits
	once "every rank by a way of its own" $n mixed
	once "several ops under way, in two communicators" $n posted
	often "ranks that disagree hear it" $n differ 1
	dead=1 often "the others hear of a rank that is killed" $n kill 1
	once "a child has no part in it" $n fork
done
dead=1 often "the others hear of a rank that leaves" 2 leave 0
dead=1 often "the others hear of a rank that leaves" 4 leave 1
often "an abort is heard" 2 abort 1
once "a rank that is stopped for long" 3 stop 2
once "a rank that is stopped for a while" 3 slow 2
often "a rank that writes what it likes there" 2 scribble 0
often "a rank that writes what it likes there" 3 scribble 1
rounds=4 often "a rank that takes its part in an op back" 3 liar
if (($(nproc) > 1)); then
	shm='' once "ops without a system call" 2 calls
else
	skip "ops without a system call" "one CPU"
fi
shm=0 once "switched off" 2 off
COLL_SHM_LIMIT=0 once "a limit of 0" 2 off
COLL_SHM_LIMIT=1024 once "a limit that is given" 2 limit
COLL_SHM_LIMIT=1024 once "a limit that is given" 4 limit

# agree NAME RANKS [WORDS]: the ranks of a communicator have the same limit. Its duplicate takes it
# over and measures nothing. WORDS are about how it was measured.
agree()
{
	local found measured

	COLL_DEBUG=1 COLL_SHM_LIMIT=auto well "$1" "$2" dup || { ok 1 "$1, $2 ranks"; return; }
	found=$(sed -n 's/.*shared memory for up to //p' "$log" | sort | uniq -c)
	awk -v n="$2" 'END { exit NR != 1 || $1 != 2 * n }' <<<"$found" &&
		measured=$(sed -n 's/.* \(all.* of [0-9]* bytes\): shared memory [0-9]* ns, kernel .*/\1/p' \
			"$log" | sort | uniq -c) &&
		grep -q "${3-}" "$log" &&
		awk -v n="$2" '$1 != n || NF < 2 { bad = 1 } END { exit !NR || bad }' <<<"$measured"
	ok $? "$1, $2 ranks"
}
agree "a limit that is measured" 2
agree "a limit that is measured" 3
crowded=''
(($(nproc) >= 4)) || crowded="sums of all rounds"
shm=measure agree "a limit that is measured, also with more ranks than CPUs" 4 "$crowded"
for n in 2 3; do
	COLL_SHM_LIMIT=auto dead=1 often "a rank is killed meanwhile" $n early 1
done
# says NAME WORDS COMMAND...: in the output of a run of small ops with registered buffers
says()
{
	local name=$1 words=$2

	shift 2
	"$@" "$tools/collrun" -t 200 -n 2 "$tools/collperf" allreduce -b 8 -e 8 -c 1 \
		--ioctl --registered >"$log" 2>&1 </dev/null && right "$log" && grep -q "$words" "$log"
	ok $? "$name"
}
says "registered buffers, too" "^# path: shared memory" env COLL_SHM=1
# unregister NAME OPTION...
unregister()
{
	COLL_SHM=1 "$tools/collrun" -t 100 "${@:2}" "$COLL_TEST_BUILD/shm_unregister_rank" \
		>"$log" 2>&1 </dev/null
	ok $? "a buffer is unregistered while a call sleeps, $1"
}
unregister "2 ranks" -n 2
unregister "4 ranks on 2 nodes" -n 4 --nodes 2
stress kill "$(largest 60 12)" "a rank is killed while others copy, look or sleep"
stress scribble "$(largest 10000 1000)" "a rank writes random bytes over all its memory"
stress differ "$(largest 60 12)" "ranks that disagree, each by a way of its own"
finish
