#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: make CHECK=sparse.sh C=2 ..., with SPARSE_LOG
#
# Sparse, as kbuild calls it. Into the file SPARSE_LOG goes a line for each source,
# which shows that it ran at all, and what it says.
#
# Linux 7.2 uses two things that sparse 0.6.4 does not know: kbuild goes on without
# it for the one, and the other, in MODULE_PARM_DESC(), is an error to it, after
# which it keeps silent on the rest of the file.

for source; do :; done
echo "CHECK $source" >>"$SPARSE_LOG"
exec sparse "$@" -D__typeof_unqual__=__typeof__ '-D__builtin_strlen(s)=(sizeof(s) - 1)' \
	>>"$SPARSE_LOG" 2>&1
