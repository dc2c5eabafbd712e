#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The examples that are sessions: each is equal to its reference, and prints the same digits
# on 1, 2, 4 and 7 ranks and on 1 and 2 nodes. And what sessions say of bad input.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

build=$top/.build/tools
data=$tools/examples/data
cancer=$data/breast_cancer.csv
rank=${COLL_TEST_BUILD:?}/iterate_rank
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT

# worlds: ranks:nodes
worlds='2:1 2:2 4:1 4:2 7:1 7:2'
((${COLL_TEST_SCALE:-100} >= 100)) || worlds='2:2 4:2 7:1'
((${COLL_TEST_SCALE:-100} >= 30)) || worlds=4:2
nr_worlds=$(wc -w <<<"$worlds")

# equal TOLERANCE ONE OTHER: compare word by word; numbers may differ by TOLERANCE, relative
# above 1
equal()
{
	awk -v tolerance="$1" '
	function abs(x) { return x < 0 ? -x : x }
	NR == FNR { line[FNR] = $0; lines = FNR; next }
	{
		n = split(line[FNR], want, " ")
		if (n != NF)
			bad = 1
		for (i = 1; i <= NF; i++) {
			if ($i == want[i])
				continue
			far = abs($i - want[i]) / (abs(want[i]) > 1 ? abs(want[i]) : 1)
			if ($i !~ /^[-+.0-9e]+$/ || !(far <= tolerance)) {
				print "line " FNR ": " $i " is not " want[i]
				bad = 1
			}
		}
	}
	END { exit bad || !lines || FNR != lines }' "$2" "$3" >>"$log"
}

# example NAME FILTER TOLERANCE REFERENCE-ARGUMENTS -- PROGRAM ARGUMENTS: FILTER says which
# lines both have; 1 + worlds results
example()
{
	local name=$1 filter=$2 tolerance=$3 want=() world

	shift 3
	while [[ $1 != -- ]]; do
		want+=("$1")
		shift
	done
	shift
	"$build/reference" "${want[@]}" >"$work/want" 2>"$log" &&
		"$tools/collrun" -t 200 -n 1 "$build/$1" "${@:2}" >"$work/one" 2>>"$log" </dev/null &&
		grep -E "$filter" "$work/one" >"$work/got" &&
		equal "$tolerance" <(grep -E "$filter" "$work/want") "$work/got"
	ok $? "$name: equal to its reference"
	for world in $worlds; do
		"$tools/collrun" -t 200 -n "${world%:*}" --nodes "${world#*:}" "$build/$1" "${@:2}" \
			>"$work/got" 2>"$log" </dev/null &&
			[[ -s $work/got ]] && cmp "$work/one" "$work/got" >>"$log" 2>&1
		ok $? "$name: the same digits on ${world%:*} ranks, ${world#*:} nodes"
	done
}

# The reference knows the optimum, not the way there: no iterations.
optimum='^(loss|w) '

examples()
{
	example kmeans . 1e-6 kmeans "$data/iris.csv" -- kmeans -k 3 "$data/iris.csv"
	example "logistic, L-BFGS" "$optimum" 1e-6 optimum logistic 0 0.01 "$cancer" \
		-- regress -o lbfgs "$cancer"
	example "logistic, Newton" "$optimum" 1e-6 optimum logistic 0 0.01 "$cancer" \
		-- regress -o newton "$cancer"
	example "logistic, OWL-QN" "$optimum" 1e-6 optimum logistic 0.01 0.01 "$cancer" \
		-- regress -o owlqn -1 0.01 "$cancer"
	example "logistic, gradient descent" . 1e-9 gd logistic 0.01 0.1 1 30 "$cancer" \
		-- regress -o gd -i 30 -t 0 "$cancer"
	example "logistic, SGD" . 1e-9 sgd logistic 0.01 0.1 0.25 30 "$cancer" \
		-- regress -o sgd -i 30 -t 0 "$cancer"
	example "linear, L-BFGS" "$optimum" 1e-6 optimum linear 0 0.01 "$cancer" \
		-- regress -m linear -o lbfgs "$cancer"
	example "linear, Newton" "$optimum" 1e-9 optimum linear 0 0.01 "$cancer" \
		-- regress -m linear -o newton "$cancer"
	example "linear, OWL-QN" "$optimum" 1e-6 optimum linear 0.01 0.01 "$cancer" \
		-- regress -m linear -o owlqn -1 0.01 "$cancer"
	example "linear, gradient descent" . 1e-9 gd linear 0.01 0.1 1 30 "$cancer" \
		-- regress -m linear -o gd -i 30 -t 0 "$cancer"
	example "linear, SGD" . 1e-9 sgd linear 0.01 0.1 0.25 30 "$cancer" \
		-- regress -m linear -o sgd -i 30 -t 0 "$cancer"
	example "boosted trees" . 1e-9 gbdt 5 3 "$cancer" -- gbdt -n 5 -d 3 "$cancer"
	"$data/make_text" >"$work/text.csv"
	example LDA . 1e-6 lda 4 10 "$work/text.csv" -- lda -k 4 -i 10 -t 0 "$work/text.csv"
}

# Optimal to 1e-6 in the loss: said by itself, since it is what the whole is about.
test_loss()
{
	"$build/reference" optimum logistic 0 0.01 "$cancer" >"$work/want" 2>"$log"
	"$tools/collrun" -t 200 -n 4 --nodes 2 "$build/regress" "$cancer" \
		>"$work/got" 2>>"$log" </dev/null
	awk '/^loss/ { loss[FILENAME] = $2 } END {
		far = loss[ARGV[1]] - loss[ARGV[2]]
		print "# loss", loss[ARGV[2]], "less the optimum of liblbfgs:", -far
		exit !(loss[ARGV[1]] > 0 && far < 1e-6 && far > -1e-6)
	}' "$work/want" "$work/got"
	ok $? "logistic regression reaches the optimum of liblbfgs to 1e-6"
}

# refused NAME TEXT PROGRAM ARGUMENTS: it ends with an error, and says TEXT
refused()
{
	local name=$1 text=$2 status

	# -k: a rank that hears of the error may end before the rank that has found it has said so
	"$tools/collrun" -k -t 200 -n 4 --nodes 2 "$build/$3" "${@:4}" >"$log" 2>&1 </dev/null
	status=$?
	echo "status $status" >>"$log"
	((status != 0 && status != 124)) && grep -q -F -e "$text" "$log"
	ok $? "$name: $text"
}

# Each example says how it is used, if an option's number is not one in full.
bad_numbers()
{
	local one words bad=0

	: >"$log"
	for one in 'kmeans -k 3x' 'kmeans -k -1' 'kmeans -i 99999999999' 'kmeans -t nan' \
		'gbdt -d 2.5' 'lda -s 1-' 'regress -2 1e999' 'mlp -i -1'; do
		read -ra words <<<"$one"
		"$build/${words[0]}" "${words[@]:1}" "$data/iris.csv" >>"$log" 2>&1
		(($? == 2)) || { echo "$one" >>"$log"; bad=1; }
	done
	ok $bad "numbers that are not: eight options"
}

bad_input()
{
	local one

	awk 'NR == 78 { sub(/,[^,]*$/, "") } { print }' "$data/iris.csv" >"$work/ragged"
	refused "a ragged line" "line 78, column 4: the line ends, but there should be 5 columns" \
		kmeans "$work/ragged"
	awk 'NR == 150 { sub(/^[^,]*/, "abc") } { print }' "$data/iris.csv" >"$work/word"
	refused "a word" "line 150, column 1: 'abc' is no number" kmeans "$work/word"
	head -n 1 "$cancer" >"$work/empty"
	refused "zero rows" "no rows" regress "$work/empty"
	refused "max_iter 0" "max_iter is 0" regress -i 0 "$cancer"
	head -n 4 "$data/iris.csv" >"$work/three"
	"$tools/collrun" -t 200 -n 1 "$build/kmeans" -k 2 "$work/three" >"$work/one" 2>"$log" </dev/null &&
		"$tools/collrun" -t 200 -n 7 --nodes 2 "$build/kmeans" -k 2 "$work/three" \
			>"$work/got" 2>>"$log" </dev/null &&
		[[ -s $work/got ]] && cmp "$work/one" "$work/got" >>"$log" 2>&1
	ok $? "3 rows on 7 ranks: the same digits"
	for one in error nan missing length twice threads; do
		"$tools/collrun" -t 200 -n 4 --nodes 2 "$rank" "$one" >"$log" 2>&1 </dev/null
		ok $? "sessions: $one"
	done
}

# A rank dies in the middle of a session: the others say so, in time. collrun must not end
# them first (-k).
test_death()
{
	local start=$SECONDS

	"$tools/collrun" -k -t 200 -n 4 --nodes 2 "$rank" death >"$log" 2>&1 </dev/null
	echo "after $((SECONDS - start)) s" >>"$log"
	((SECONDS - start < 100)) && (($(grep -c "^\(\[[0-9]\] \)\?told: .*rank 2 " "$log") == 3))
	ok $? "a rank dies in a session: the others say which"
}

# On a terminal or where it is asked for there is a line for each iteration, and else none.
test_progress()
{
	COLL_PROGRESS=1 "$tools/collrun" -t 200 -n 2 "$build/kmeans" "$data/iris.csv" \
		>"$log" 2>&1 </dev/null
	(($(grep -c 'coll: session [0-9]*, step [1-5]: criterion .*, time .* s, allreduce .* s$' \
		"$log") == 5))
	ok $? "a line of progress for each iteration"
	"$tools/collrun" -t 200 -n 2 "$build/kmeans" "$data/iris.csv" >"$log" 2>&1 </dev/null &&
		! grep -q step "$log"
	ok $? "none without a terminal"
}

plan $((13 * (1 + nr_worlds) + 1 + 1 + 11 + 1 + 2))
examples
test_loss
bad_numbers
bad_input
test_death
test_progress
finish
