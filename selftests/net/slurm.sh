#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Jobs that srun starts, with slurmctld and slurmd of Debian in this machine. tools/slurm unpacks
# them into COLL_SLURM; make check-programs does both.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

sum=$top/.build/tools/allreduce
slurm=${COLL_SLURM-}
if [[ ! -d $slurm ]]; then
	plan 1
	skip "srun" "COLL_SLURM is not set"
	finish
fi
libs=$(dirname "$(compgen -G "$slurm/usr/lib/*/slurm-wlm/libslurmfull.so")")
tmp=$(mktemp -d /tmp/slurm.XXXXXX)
pids=()
own=10.255.0.1/32
trap 'kill -9 "${pids[@]}"; wait 2>/dev/null; rm -rf "$tmp" "$log"; ip addr del $own dev lo' EXIT
export LD_LIBRARY_PATH=$libs:${libs%/*} SLURM_CONF=$tmp/slurm.conf
ip link set lo up
# Slurm binds to what getaddrinfo() returns with AI_ADDRCONFIG, which is nothing as long as the
# machine has addresses of the loopback network only. Open MPI of a later test would find no
# network with this address.
ip addr add $own dev lo

# slurmd starts this one, by this name. The file system is the machine's own.
ln -sf "$slurm/usr/sbin/slurmstepd-wlm" /usr/sbin/slurmstepd

configure()
{
	mkdir "$tmp"/{state,spool}
	cat >"$SLURM_CONF" <<-END
	ClusterName=coll
	SlurmctldHost=$(hostname)(127.0.0.1)
	SlurmUser=root
	SlurmdUser=root
	AuthType=auth/munge
	AuthInfo=socket=$tmp/munge.socket
	PluginDir=$libs
	StateSaveLocation=$tmp/state
	SlurmdSpoolDir=$tmp/spool
	SlurmctldPidFile=$tmp/slurmctld.pid
	SlurmdPidFile=$tmp/slurmd.pid
	SlurmctldLogFile=$tmp/slurmctld.log
	SlurmdLogFile=$tmp/slurmd.log
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	SelectType=select/linear
	SchedulerType=sched/builtin
	JobAcctGatherType=jobacct_gather/none
	ReturnToService=2
	SlurmdParameters=config_overrides
	NodeName=$(hostname) NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
	PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	END
	head -c 128 /dev/urandom >"$tmp/munge.key"
	chmod 400 "$tmp/munge.key"
}

# daemon NAME PROGRAM ARGUMENTS: in the background, and its output in a file
daemon()
{
	"${@:2}" >"$tmp/$1.out" 2>&1 </dev/null &
	pids+=($!)
}

# ready: until the node takes jobs, for a minute at most
ready()
{
	local i

	for ((i = 0; i < 60 && SECONDS < 90; i++)); do
		[[ $(timeout -k 1 5 "$slurm/usr/bin/sinfo" -h -o %T 2>>"$log") != idle* ]] || return 0
		sleep 0.5
	done
	tail -n 15 "$tmp"/*.out "$tmp"/*.log >>"$log"
	return 1
}

start()
{
	daemon munged "$slurm/usr/sbin/munged" --foreground --force --socket "$tmp/munge.socket" \
		--key-file "$tmp/munge.key" --pid-file "$tmp/munged.pid" --seed-file "$tmp/seed" \
		--log-file "$tmp/munged.log"
	until [[ -S $tmp/munge.socket ]] || ((SECONDS > 30)); do sleep 0.1; done
	daemon slurmctld "$slurm/usr/sbin/slurmctld-wlm" -D -c
	daemon slurmd "$slurm/usr/sbin/slurmd-wlm" -D -c
	ready
}

# sums RANKS MPI: each rank prints the sum
sums()
{
	timeout -k 5 120 "$slurm/usr/bin/srun" --mpi="$2" --overcommit -n "$1" "$sum" \
		>"$log" 2>&1 </dev/null &&
		[[ $(grep -c "of $1: the sum is $(($1 * ($1 + 1) / 2))$" "$log") == "$1" ]]
	ok $? "srun --mpi=$2, $1 ranks"
}

plan 5
configure
start
ok $? "slurmctld, and a node that takes jobs"
sums 4 pmi2
sums 4 pmix
sums 1 pmi2
! timeout -k 5 60 "$slurm/usr/bin/srun" --mpi=none --overcommit -n 2 "$sum" >"$log" 2>&1 </dev/null &&
	grep -q "SLURM_NTASKS" "$log"
ok $? "srun --mpi=none is refused, and the text names a variable"
finish
