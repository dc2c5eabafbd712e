# SPDX-License-Identifier: GPL-2.0
#
# awk -f tensors.awk facts.tsv tensors.tsv: what `make bench-tensors` prints. Medians over
# rounds, with the least and the largest in brackets, in microseconds.

function median(v, n,	i, j, t)
{
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && v[j - 1] > v[j]; j--) {
			t = v[j]
			v[j] = v[j - 1]
			v[j - 1] = t
		}
	return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}

# Sets mid[], low[] and high[] for a cell.
function settle(key,	i, v, n)
{
	n = nr[key]
	for (i = 1; i <= n; i++)
		v[i] = value[key, i]
	mid[key] = median(v, n)
	low[key] = v[1]
	high[key] = v[n]
}

function cell(key)
{
	if (!(key in nr))
		return "-"
	return sprintf("%.4g [%.4g-%.4g]", mid[key], low[key], high[key])
}

# The better one of the ways of the peers.
function best_peer(world, kind,	i, key, best)
{
	for (i = 2; i <= nr_who; i++) {
		key = world SUBSEP kind SUBSEP who[i]
		if (key in nr && (!best || mid[key] < best))
			best = mid[key]
	}
	return best
}

function ours(world, kind)
{
	return mid[world, kind, "coll"]
}

# wanted: @value must not be above @most
function judge(world, text, value, most)
{
	if (!value)
		return
	printf "%-10s %-58s %8.3g  wanted <= %-6.3g %s\n", label[world], text, value, most,
	       value <= most ? "met" : "missed"
}

function verdict(world,	whole, set, peer)
{
	whole = ours(world, "whole")
	set = ours(world, "resnet50")
	if (ours(world, "plain8"))
		judge(world, "8 B named / numbered", ours(world, "seen8") / ours(world, "plain8"), 1.5)
	if (whole)
		judge(world, "resnet50 / one allreduce of as much", set / whole, 1.3)
	peer = best_peer(world, "resnet50")
	if (peer)
		judge(world, "resnet50 / best way of the peers", set / peer, 1)
	peer = best_peer(world, "small1000")
	if (peer)
		judge(world, "1000 of 256 B / best way of the peers",
		      ours(world, "small1000") / peer, 0.25)
	if (ours(world, "small1000"))
		judge(world, "2000 of 256 B / 1000 of them",
		      ours(world, "small2000") / ours(world, "small1000"), 2.2)
	if (set)
		judge(world, "urgent 8 B / the set before it", ours(world, "urgent") / set, 0.02)
}

BEGIN {
	FS = "\t"
	nr_who = split("coll openmpi openmpi-apart mpich mpich-apart", who, " ")
	nr_kinds = split("seen8 plain8 new8 small1000 small2000 resnet50 whole urgent", kinds, " ")
}

FILENAME != file {
	file = FILENAME
	nr_files++
}

nr_files == 1 {
	print $1 ": " $2
	next
}

$1 == "FAILED" {
	failed[++nr_failed] = $0
}

$1 == "ROW" {
	world = $2 SUBSEP $6
	if (!(world in label)) {
		label[world] = $2 ", " $6
		worlds[++nr_worlds] = world
	}
	key = world SUBSEP $5 SUBSEP $4
	value[key, ++nr[key]] = $7
}

END {
	for (key in nr)
		settle(key)
	printf "\numl: coll in user-mode Linux, peers on the host, which favours them.\n"
	printf "vm: all in one emulated machine, debian-6.1.\n\n"
	printf "%-8s %-10s", "ranks", "us"
	for (i = 1; i <= nr_who; i++)
		printf " %-26s", who[i]
	printf "\n"
	for (w = 1; w <= nr_worlds; w++)
		for (k = 1; k <= nr_kinds; k++) {
			printf "%-8s %-10s", label[worlds[w]], kinds[k]
			for (i = 1; i <= nr_who; i++)
				printf " %-26s", cell(worlds[w] SUBSEP kinds[k] SUBSEP who[i])
			printf "\n"
		}
	printf "\n"
	for (w = 1; w <= nr_worlds; w++)
		verdict(worlds[w])
	for (i = 1; i <= nr_failed; i++)
		print failed[i]
	exit nr_failed > 0
}
