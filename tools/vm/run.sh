# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared by the parts
# collvm run: boots a kernel, runs a command in it, passes judgement.

SPLAT='BUG:|WARNING:|Oops|KASAN:|KCSAN:|UBSAN:|KMSAN:|INFO: task|INFO: possible|suspicious RCU'
SPLAT+='|general protection|refcount_t|list_(add|del) corruption|unreferenced object'
SPLAT+='|Kernel panic'

# write_cmd FILE CMD ARGS...: the command as a script, byte for byte
write_cmd()
{
	local file=$1 v

	shift
	{
		while read -r v; do
			case $v in
			PATH|HOME|TERM|LANG|COLL_*|KSELFTEST_*|COLLVM_OUT)
				printf 'export %s=%q\n' "$v" "${!v}" ;;
			esac
		done < <(compgen -e)
		printf 'cd %q || exit 125\n' "$PWD"
		printf 'exec'
		printf ' %q' "$@"
		printf '\n'
	} >"$file"
}

# write_conf FILE KERNEL CPUS MODULE: shell variables for guest-init
write_conf()
{
	local file=$1 kernel=$2 cpus=$3 module=$4

	# shellcheck disable=SC2016  # the guest expands it
	{
		printf 'module=%q\n' "$module"
		# User-mode Linux trips lockdep while it brings up a second CPU.
		[[ $kernel == uml-debug ]] && ((cpus > 1)) && echo lockdep_optional=1
		[[ $kernel == uml-debug ]] && echo leaks=1
		case $kernel in
		uml*)	echo output=/dev/ttyS0 ;;
		*)	echo 'output=$(echo /dev/vport*)' # numbered as probed
			printf 'modules=%q\n' "$(debian_modules "$kernel")" ;;
		esac
		printf 'out=%q\n' "${COLLVM_OUT-}"
	} >"$file"
}

# stop_vm PID: of a timeout process, whose only child is the VM (user-mode Linux
# leaves the process group)
stop_vm()
{
	pkill -KILL -P "$1"
	kill -KILL "$1" 2>/dev/null
}

# boot_vm RUN SECONDS: runs vm_cmd to its end, its output to ours; true unless
# it had to be ended
boot_vm()
{
	local run=$1 limit=$2 started=$SECONDS vm out status

	exec 4> >(exec cat)
	out=$!
	(
		cd / && ulimit -c 0
		exec env "${vm_env[@]}" timeout -s KILL "$limit" "${vm_cmd[@]}"
	) </dev/null >"$run/console" 2>&1 &
	vm=$!
	exec 4>&-
	# shellcheck disable=SC2064  # the process of now
	trap "exec 2>/dev/null; stop_vm $vm; exit 130" INT TERM HUP
	wait "$vm" 2>/dev/null	# it says so when it is ended by a signal
	status=$?
	trap - INT TERM HUP
	wait "$out"
	((status != 137 || SECONDS - started < limit))
}

# The guest's console from where it was ready to load the module
console_tail()
{
	sed -n '/collvm: base/,$p' "$1" | tr -d '\r'
}

# splats RUN: prints the kernel's complaints, if any
splats()
{
	console_tail "$1/console" | grep -E -q -- "$SPLAT" || return 0
	echo "the kernel complained on its console:"
	console_tail "$1/console" | grep -E -n -B 3 -A 25 -- "$SPLAT" | head -n 150
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

# conclude RUN TIMED_OUT LIMIT: the exit status for what happened
conclude()
{
	local run=$1 timed_out=$2 limit=$3 reasons status

	if [[ $timed_out ]]; then
		splats "$run" >&2
		tail -n 30 "$run/console" >&2
		say "$kernel: ended after $limit seconds"
		return 97
	fi
	if [[ ! -f $run/started && ! -f $run/reasons ]]; then
		tail -n 30 "$run/console" >&2
		say "$kernel: did not boot"
		return 98
	fi
	reasons=$(judge "$run")
	status=$(cat "$run/status" 2>/dev/null)
	if [[ $reasons ]]; then
		printf '%s\n' "$reasons" >&2
		say "$kernel: verdict unclean (command's status: ${status:-none})"
		[[ ${status:-0} == 0 ]] && status=99
	fi
	return "$status"
}

# Keeps the consoles of the last runs
keep_log()
{
	local log

	log=$cache/log/run-$kernel-$(date +%Y%m%d-%H%M%S)-$$.log
	mv "$1/console" "$log" 2>/dev/null && echo "$log"
	find "$cache/log" -name 'run-*.log' -printf '%T@ %p\n' | sort -n | head -n -100 |
		cut -d ' ' -f 2- | xargs -r -d '\n' rm -f
}

# run_vm CPUS MEGABYTES SECONDS MODULE(1 or empty) CMD...; uses $kernel
run_vm()
{
	local cpus=$1 mem=$2 limit=$3 module=$4 run status log timed_out=
	local vm_cmd vm_env

	shift 4
	fetch_kernel "$kernel" || exit 98
	run=$(mktemp -d "$cache/run/XXXXXXXX") || exit 98
	# shellcheck disable=SC2064  # the directory of now
	trap "rm -rf '$run'" EXIT
	[[ ! $module ]] || build_module "$kernel" "$run/coll.ko" >/dev/null || exit 98
	cp "$vmlib/guest-init" "$run/" || exit 98
	write_cmd "$run/cmd" "$@"
	write_conf "$run/conf" "$kernel" "$cpus" "$module"
	case $kernel in
	uml*)		uml_command "$kernel" "$run" "$cpus" "$mem" ;;
	debian-*)	debian_command "$kernel" "$run" "$cpus" "$mem" ;;
	esac
	boot_vm "$run" "$limit" || timed_out=1
	conclude "$run" "$timed_out" "$limit"
	status=$?
	log=$(keep_log "$run")
	((status == 0)) || say "console: $log"
	return "$status"
}
