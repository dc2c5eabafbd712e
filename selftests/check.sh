#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: check.sh KERNEL...
#
# All suites: func and net on each kernel, and hosts on one; beside them, what needs no VM.
# Every part closes with "TITLE: N passed, M failed"; a part without that line has
# failed. The last line is the sum.
#
# With COLL_CHECK_SECONDS, a suite is not begun in a VM if it would not end within so
# many seconds from here on. It is named, and counts neither way; the first kernel,
# and uml, must have their turn, though. So the kernels that matter most come first.
#
# Products of many cases, and programs that are not in the core of a kernel, are
# sampled by a seed: COLL_CHECK_SEED, else the commit. With COLL_CHECK_SEED=all everything
# runs (make check-full).
#
# With uml alone this is the inner loop of someone at work: tests that loop do so a third
# as often, unless COLL_TEST_SCALE says otherwise; make check-full does not. The other kernels do
# less as it is.

set -u
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
[[ $* != uml || ${COLL_CHECK_SEED-} == all ]] || export COLL_TEST_SCALE=${COLL_TEST_SCALE:-30}
passed=0
failed=0
broken=()
left_out=()
declare -A took			# seconds, by TITLE
budget=${COLL_CHECK_SECONDS:-0}	# 0: as long as it takes
grace=600			# for a suite that was begun and takes longer than thought

# failed_tests LOG: their names
failed_tests()
{
	awk '
	/^# [a-z_0-9]+(\.sh)?$/ { prog = $2 }
	/^not ok / { print prog ": " $0 }
	' "$1"
}

# failures TITLE LOG: each failed test with the lines around it. A program prints its
# reasons ahead of the result, a script behind it.
failures()
{
	printf '\n## failures of %s\n' "$1"
	awk '
	/^# [a-z_0-9]+(\.sh)?$/ { prog = $2 }
	/^ok |^TAP / { kept = 0; after = 0; next }
	/^not ok / {
		print prog ": " $0
		for (i = kept > 15 ? kept - 15 : 0; i < kept; i++)
			print "  " line[i]
		kept = 0
		after = 20
		next
	}
	after > 0 { after--; print "  " $0; next }
	{ line[kept++] = $0 }
	/^collvm: .*(verdict unclean|did not boot|ended )/ {
		for (i = kept > 30 ? kept - 30 : 0; i < kept; i++)
			print line[i]
		kept = 0
	}
	' "$2" | tail -n 120
}

# count TITLE STATUS LOG: adds up the result of a part
count()
{
	local title=$1 status=$2 log=$3 line

	line=$(grep -E '^[a-z][^:]*: [0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	if [[ $line =~ :\ ([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
		passed=$((passed + BASH_REMATCH[1]))
		failed=$((failed + BASH_REMATCH[2]))
		if [[ ${BASH_REMATCH[2]} == 0 && $status != 0 ]]; then
			failed=$((failed + 1))	# an unclean VM, most likely
			line+=", but status $status"
		fi
	else
		failed=$((failed + 1))
		line="no result, status $status"
	fi
	[[ $status == 0 && ${BASH_REMATCH[2]-1} == 0 ]] && return
	broken+=("$title: $line")
	while read -r line; do
		broken+=("  $line")
	done < <(failed_tests "$log")
	failures "$title" "$log" >>"$work/failures"
}

# part TITLE COMMAND...: alone on the machine, for its tests measure time
part()
{
	local title=$1 status start=$SECONDS

	shift
	printf '\n## %s\n' "$title"
	"$@" 2>&1 </dev/null | tee "$work/log"
	status=${PIPESTATUS[0]}
	took[$title]=$((SECONDS - start))
	printf '## %s: %d s\n' "$title" "${took[$title]}"
	count "$title" "$status" "$work/log"
}

# beside TITLE COMMAND...: may run together with others; output comes by join
beside()
{
	local title=$1

	shift
	titles+=("$title")
	("$@" >"$work/$title" 2>&1 </dev/null; echo $? >"$work/$title.status") &
}

join()
{
	local title start=$SECONDS

	wait
	for title in "${titles[@]}"; do
		printf '\n## %s\n' "$title"
		cat "$work/$title"
		count "$title" "$(cat "$work/$title.status")" "$work/$title"
	done
	printf '## %s: %d s\n' "${titles[*]}" $((SECONDS - start))
	titles=()
}

# later TITLE COMMAND...: in the background, in the order of these calls; output comes by await
later()
{
	queue+=("$(printf '%q ' "$@")")
}

# run_later TITLE COMMAND...: the status is there when the log is whole
run_later()
{
	local title=$1 start=$SECONDS

	shift
	"$@" >"$work/$title" 2>&1 </dev/null
	echo "$? $((SECONDS - start))" >"$work/$title.tmp"
	mv "$work/$title.tmp" "$work/$title.status"
}

# The queue, as many at a time as there are CPUs. These have the CPUs that the tests in VMs
# leave: those measure time, and what is of the idle class yields to them at once.
begin_later()
{
	(
		chrt --idle --pid 0 "$BASHPID"
		for job in "${queue[@]}"; do
			while (($(jobs -rp | wc -l) >= $(nproc))); do
				wait -n
			done
			eval "run_later $job" &
			# The first suite waits for the first job: it has all CPUs.
			[[ $job != "${queue[0]}" ]] || wait
		done
		wait
	) &
	queue_pid=$!
}

# await TITLE: what later was given
await()
{
	local title=$1 start=$SECONDS status seconds

	while [[ ! -f $work/$title.status ]] && kill -0 "$queue_pid" 2>/dev/null; do
		sleep 0.2
	done
	read -r status seconds <"$work/$title.status" || status=none seconds=0
	printf '\n## %s\n' "$title"
	cat "$work/$title"
	printf '## %s: %d s, of which %d were waited for\n' "$title" "$seconds" $((SECONDS - start))
	count "$title" "$status" "$work/$title"
}

# estimate SUITE KERNEL: seconds. The emulated kernels do a tenth of the loops, and
# uml-debug a third. All programs took half as long to twice as long as on uml, where it was
# measured; a sample is less than half of them. Of hosts, nothing nearer than func is known.
estimate()
{
	local suite=${1/hosts/func}
	local same=${took[$suite on $2]-} debian=${took[$suite on debian-6.1]-}
	local uml=${took[$suite on uml]-}

	if [[ $same ]]; then
		echo "$same"
	elif [[ $2 == debian-6.12 && $debian ]]; then
		echo "$debian"
	elif [[ $2 != uml && $uml ]]; then
		echo $((${#sampled[@]} ? uml : 2 * uml))
	else
		echo 1
	fi
}

leave_out()
{
	left_out+=("$1 on $2")
	[[ $2 == "$first" || $2 == uml ]] || return 0
	failed=$((failed + 1))
	broken+=("$1 on $2: left out")
}

# suite HOW SUITE KERNEL: in a VM, by HOW, which is part or beside
suite()
{
	local how=$1 suite=$2 kernel=$3 left=$((budget + grace - SECONDS))
	local limits=("${full[@]+"${full[@]}"}")

	if ((budget && SECONDS + $(estimate "$suite" "$kernel") > budget)); then
		leave_out "$suite" "$kernel"
		return
	fi
	((!budget || left >= 1800)) || limits+=(LIMIT_SUITE="$left")
	((!budget || left >= 1200)) || limits+=(LIMIT_PROG="$left")
	"$how" "$suite on $kernel" make -s --no-print-directory -C selftests \
		"run-$suite" KERNEL="$kernel" "${limits[@]}" "${sampled[@]+"${sampled[@]}"}"
}

cd "$top" || exit 1
first=$1
seed=${COLL_CHECK_SEED:-$(git rev-parse --short=12 HEAD 2>/dev/null || date +%s)}
sampled=(SAMPLE="$seed")
full=()
if [[ $seed == all ]]; then
	sampled=()
	full=(LIMIT_SUITE=14400)	# seconds, on a slow machine
fi
titles=()
queue=()
# Before anything runs side by side: two makes must not build the same files at a time.
make -s --no-print-directory -j"$(nproc)" user || exit 1
for kernel in "$@"; do
	later "kernel $kernel" selftests/kernel.sh "$kernel" "$@"
done
later unit make -s --no-print-directory -C selftests/unit run
later libcoll make -s --no-print-directory -C libcoll_user test
later static selftests/static.sh "$first"
later doc sh selftests/doc.sh
begin_later
for kernel in "$@"; do
	how=part
	await "kernel $kernel"
	# has one CPU, and measures little
	[[ $kernel != uml-debug ]] || how=beside
	suite $how func "$kernel"
	suite $how net "$kernel"
	((!${#titles[@]})) || join
	[[ $kernel != uml ]] || $how "verdict on $kernel" selftests/verdict.sh "$kernel"
	# two emulated machines take all there is: on one kernel
	[[ $kernel != debian-6.1 ]] || suite part hosts "$kernel"
done
for title in unit libcoll static doc; do
	await "$title"
done

# again, at the end: a log may be cut in its middle
[[ ! -e $work/failures ]] || cat "$work/failures"
printf '\n'
for b in "${broken[@]+"${broken[@]}"}"; do
	echo "FAILED $b"
done
for l in "${left_out[@]+"${left_out[@]}"}"; do
	echo "LEFT OUT for want of time: $l"
done
echo "sampled by COLL_CHECK_SEED=$seed, $SECONDS s"
echo "$passed passed, $failed failed"
((failed == 0))
