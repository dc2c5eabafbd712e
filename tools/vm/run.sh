# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared by the parts
# collvm run: boots a kernel, runs a command in it, passes judgement.

SPLAT='BUG:|WARNING:|Oops|KASAN:|KCSAN:|UBSAN:|KMSAN:|INFO: task|INFO: possible|suspicious RCU'
SPLAT+='|general protection|refcount_t|list_(add|del) corruption|unreferenced object'
SPLAT+='|Kernel panic'
# Also if the host does not run an emulator for 21 s: in user-mode Linux only
SPLAT_UML=$SPLAT'|INFO: rcu_[a-z_]+ (self-)?detected '

# write_cmd FILE VM CMD ARGS...: the command as a script, byte for byte
write_cmd()
{
	local file=$1 vm=$2 v

	shift 2
	{
		while read -r v; do
			case $v in
			PATH|HOME|TERM|LANG|COLL_*|KSELFTEST_*|COLLVM_OUT)
				printf 'export %s=%q\n' "$v" "${!v}" ;;
			esac
		done < <(compgen -e)
		((vms == 1)) || net_environment "$vm"
		printf 'cd %q || exit 125\n' "$PWD"
		printf 'exec'
		printf ' %q' "$@"
		printf '\n'
	} >"$file"
}

# write_conf FILE VM CPUS MODULE: shell variables for guest-init
write_conf()
{
	local file=$1 vm=$2 cpus=$3 module=$4

	# shellcheck disable=SC2016  # the guest expands it
	{
		printf 'module=%q\n' "$module"
		# User-mode Linux trips lockdep while it brings up a second CPU.
		[[ $kernel == uml-debug ]] && ((cpus > 1)) && echo lockdep_optional=1
		[[ $kernel == uml-debug ]] && echo leaks=1
		case $kernel in
		uml*)	echo output=/dev/ttyS0 ;;
		*)	echo 'output=$(echo /dev/vport*)' # numbered as probed
			[[ $kernel == kcsan ]] ||
				printf 'modules=%q\n' "$(debian_modules "$kernel")" ;;
		esac
		printf 'out=%q\n' "${COLLVM_OUT-}"
		((vms == 1)) || net_conf "$vm"
	} >"$file"
}

# stop_vm PID: of a timeout process, whose only child is the VM (user-mode Linux
# leaves the process group)
stop_vm()
{
	pkill -KILL -P "$1"
	kill -KILL "$1" 2>/dev/null
}

# start_vm VM: runs vm_cmd, its output to ours
start_vm()
{
	local vm=$1 fd

	if ((vms == 1)); then
		exec {fd}> >(exec cat)
	else
		exec {fd}> >(exec sed -u "s/^/[$vm] /")
	fi
	outs[vm]=$!
	(
		cd "$run" && ulimit -c 0
		exec 4>&"$fd" {fd}>&-
		exec env "${vm_env[@]}" timeout -s KILL "$limit" "${vm_cmd[@]}"
	) </dev/null >"$run/$vm/console" 2>&1 &
	pids[vm]=$!
	exec {fd}>&-
}

# vm_started VM: true as soon as it is, and the next may follow; not if it died
vm_started()
{
	local vm=$1 i pid

	for ((i = 0; i < 100; i++)); do
		# the only child of the timeout process
		pid=$(pgrep -P "${pids[vm]}") && { ((vms == 1)) || net_ready "$vm"; } && break
		[[ -d /proc/${pids[vm]} ]] || break
		sleep 0.1
	done
	[[ ! $report || ! $pid ]] || echo "pid $vm $pid" >>"$report"
	[[ $pid ]] && ((i < 100))
}

# stop_vms: stop the VMs that still run, and the process that would stop them later
stop_vms()
{
	local vm

	[[ ! $clock ]] || kill "$clock"
	clock=
	for vm in "${!pids[@]}"; do
		stop_vm "${pids[vm]}"
	done
}

# emulator_broke VM: did the emulation break its boot? QEMU before 8.1 may still run a
# breakpoint of the kernel's code patching that another CPU has already removed (mended by
# "accel/tcg: Always lock pages before translation").
emulator_broke()
{
	[[ $kernel != uml* && ! -f $run/$1/started ]] || return
	grep -q 'int3: 0000' "$run/$1/console" && is_emulated "$kernel"
}

# vm_over VM STATUS: of its process. Judges; sets $result if it is the first to fail,
# $broken if it was not to blame
vm_over()
{
	local vm=$1 late=${cut-} status log

	unset "pids[vm]"
	wait "${outs[vm]}"
	(($2 != 137 || SECONDS - started < limit)) || late="after $limit seconds"
	(($2 == 137)) || late=
	conclude "$run/$vm" "$(vm_name "$vm")" "$late"
	status=$?
	((status != 98)) || ! emulator_broke "$vm" || broken=1
	log=$(keep_log "$run/$vm" "$vm")
	((status == 0)) || say "console: $log"
	((result)) || result=$status
	((vms == 1)) || net_over "$vm"
	[[ ! $report ]] || echo "status $vm $status" >>"$report"
}

vm_name()
{
	if ((vms == 1)); then
		echo "$kernel"
	else
		echo "$kernel, VM $1"
	fi
}

# wait_vms: until all are over. If one fails, the others have $grace seconds more.
wait_vms()
{
	local pid status vm cut=

	while ((${#pids[@]})); do
		pid=
		# it says so when one is ended by a signal
		wait -n -p pid "${pids[@]}" ${clock:+"$clock"} 2>/dev/null
		status=$?
		if [[ $clock && $pid == "$clock" ]]; then
			clock='' cut="$grace seconds after another had failed"
			stop_vms
			continue
		fi
		for vm in "${!pids[@]}"; do
			[[ $pid && ${pids[vm]} != "$pid" ]] || vm_over "$vm" "$status"
		done
		if ((result && ${#pids[@]})) && [[ ! $clock && ! $cut ]]; then
			sleep "$grace" &
			clock=$!
		fi
	done
	stop_vms	# the clock, that is
}

# The guest's console from where it was ready to load the module
console_tail()
{
	sed -n '/collvm: base/,$p' "$1" | tr -d '\r'
}

# splats RUN: prints the kernel's complaints, if any; uses $kernel
splats()
{
	local what=$SPLAT

	[[ $kernel == uml* ]] && what=$SPLAT_UML
	console_tail "$1/console" | grep -E -q -- "$what" || return 0
	echo "the kernel complained on its console:"
	console_tail "$1/console" | grep -E -n -B 3 -A 25 -- "$what" | head -n 150
}

# judge RUN: prints what is unclean, one reason a line
judge()
{
	local run=$1

	splats "$run"
	[[ -f $run/finished ]] || echo "the guest died before the end"
	cat "$run/reasons" 2>/dev/null
	head -n 100 "$run/leaks" 2>/dev/null
	return 0
}

# conclude RUN NAME LATE: the exit status for what happened; LATE says when it
# had to be ended, and why
conclude()
{
	local run=$1 name=$2 late=$3 reasons status

	# one of several that has finished may have been waiting for the others
	if [[ $late && (! -f $run/finished || $vms == 1) ]]; then
		splats "$run" >&2
		tail -n 30 "$run/console" >&2
		say "$name: ended $late"
		return 97
	fi
	if [[ ! -f $run/started && ! -f $run/reasons ]]; then
		tail -n 30 "$run/console" >&2
		say "$name: did not boot"
		return 98
	fi
	reasons=$(judge "$run")
	status=$(cat "$run/status" 2>/dev/null)
	if [[ $reasons ]]; then
		printf '%s\n' "$reasons" >&2
		say "$name: verdict unclean (command's status: ${status:-none})"
		[[ ${status:-0} == 0 ]] && status=99
	fi
	return "$status"
}

# keep_log RUN VM: keeps the consoles of the last runs
keep_log()
{
	local log

	log=$cache/log/run-$kernel-$(date +%Y%m%d-%H%M%S)-$$
	((vms == 1)) || log+=-vm$2
	log+=.log
	mv "$1/console" "$log" 2>/dev/null && echo "$log"
	find "$cache/log" -name 'run-*.log' -printf '%T@ %p\n' | sort -n | head -n -100 |
		cut -d ' ' -f 2- | xargs -r -d '\n' rm -f
}

# prepare_vm VM CPUS MEGABYTES MODULE CMD...: what start_vm needs
prepare_vm()
{
	local vm=$1 cpus=$2 mem=$3 module=$4 dir=$run/$1

	shift 4
	mkdir "$dir" || return
	[[ ! $module ]] || ln "$run/coll.ko" "$dir/" || return
	cp "$vmlib/guest-init" "$dir/" || return
	write_cmd "$dir/cmd" "$vm" "$@"
	write_conf "$dir/conf" "$vm" "$cpus" "$module"
	case $kernel in
	uml*)		uml_command "$kernel" "$dir" "$cpus" "$mem" ;;
	*)		qemu_command "$kernel" "$dir" "$cpus" "$mem" ;;
	esac
	((vms == 1)) || net_command "$vm"
}

# run_vms CPUS MEGABYTES MODULE(1 or empty) CMD...; uses $kernel, $vms, $limit,
# $grace and $report
run_vms()
{
	local tries=3 result broken

	fetch_kernel "$kernel" || exit 98
	while run_once "$@"; [[ $broken ]] && ((--tries)); do
		say "$kernel: the emulator broke the boot, once more"
	done
	return "$result"
}

# run_once, as run_vms: sets $result; $broken if it was the emulator's, and CMD not begun
run_once()
{
	local module=$3 run vm started
	local vm_cmd vm_env pids=() outs=() clock=

	result=0 broken=
	run=$(mktemp -d "$cache/run/XXXXXXXX") || exit 98
	# shellcheck disable=SC2064  # the directory of now
	trap "rm -rf '$run'" EXIT
	[[ ! $module ]] || build_module "$kernel" "$run/coll.ko" >/dev/null || exit 98
	((vms == 1)) || net_prepare || exit 98
	[[ ! $report ]] || : >"$report" || exit 98
	trap 'exec 2>/dev/null; stop_vms; exit 130' INT TERM HUP
	started=$SECONDS
	# that with the hub connects to the others
	for ((vm = vms - 1; vm >= 0; vm--)); do
		prepare_vm "$vm" "$@" || { stop_vms; exit 98; }
		start_vm "$vm"
		vm_started "$vm" || break
	done
	wait_vms
	trap - INT TERM HUP
	! compgen -G "$run/*/started" >/dev/null || broken=
	rm -rf "$run"
}
