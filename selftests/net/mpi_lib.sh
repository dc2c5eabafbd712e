# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by scripts that run programs of MPI, after lib.sh.

# The processes of a test are more than the CPUs: an MPI that only polls would take forever.
export MPIR_CVAR_POLLS_BEFORE_YIELD=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
ip link set lo up

# calls LOG: how many calls of all ranks went through coll, and why others went to the MPI
calls()
{
	awk -F ': |, ' '
	/^coll_mpi: rank/ {
		for (i = 4; i <= NF; i++) {
			n = $i
			sub(/.* /, "", n)
			why = substr($i, 1, length($i) - length(n) - 1)
			sub(/^ +/, "", why)
			if (why == "taken") {
				taken += n
				continue
			}
			left += n
			if (!(why in of))
				order[nr++] = why
			of[why] += n
		}
	}
	END {
		printf "calls through coll: %d, to the MPI: %d", taken, left
		for (i = 0; i < nr; i++)
			printf "%s%s %d", i ? ", " : " (", order[i], of[order[i]]
		print nr ? ")" : ""
		exit !taken
	}' "$1"
}
