# SPDX-License-Identifier: GPL-2.0
#
# performance-each.rst from facts.tsv and each.tsv, of make bench-each.

BEGIN {
	FS = "\t"
	nr_sizes = split("8 4096 65536 1048576 16777216", sizes, " ")
	split("8 B,4 KiB,64 KiB,1 MiB,16 MiB", names, ",")
	split("uml vm", places, " ")
	peers[1] = "openmpi"
	peers[2] = "mpich"
}

FILENAME ~ /facts/ { facts[$1] = $2; next }
$1 == "FAILED" { failed = failed sprintf("%s, round %s: %s, status %s\n", $2, $3, $4, $5); next }

{
	key = $1 SUBSEP $5 SUBSEP $4 SUBSEP $6 SUBSEP $7 SUBSEP $3
	sub(/-(calls|marks)/, "", key)
	value[key, ++count[key]] = $8
	if (!(($1, $5) in seen)) {
		seen[$1, $5] = 1
		worlds[$1, ++nr_worlds[$1]] = $5
	}
	if (!($4 in known)) {
		known[$4] = 1
		collectives[++nr_collectives] = $4
	}
	most = $2 > most ? $2 : most
}

# Of a few numbers.
function median(key,	n, v, i, k, t)
{
	n = count[key]
	if (!n)
		return -1
	for (i = 1; i <= n; i++)
		v[i] = value[key, i] + 0
	for (i = 2; i <= n; i++)
		for (k = i; k > 1 && v[k] < v[k - 1]; k--) {
			t = v[k]
			v[k] = v[k - 1]
			v[k - 1] = t
		}
	low = v[1]
	high = v[n]
	return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}

function key_of(place, ranks, what, bytes, metric, who)
{
	return place SUBSEP ranks SUBSEP what SUBSEP bytes SUBSEP metric SUBSEP who
}

function best_peer(place, ranks, what, bytes,	i, t, least)
{
	least = -1
	for (i in peers) {
		t = median(key_of(place, ranks, what, bytes, "us", peers[i]))
		if (t >= 0 && (least < 0 || t < least))
			least = t
	}
	return least
}

function number(v)
{
	return v < 0 ? "-" : v >= 1000 ? sprintf("%d", v + 0.5) : sprintf("%.3g", v)
}

# Ours / best peer, and the ratio of these: above 1 coll is faster.
function times_of(place, ranks,	c, s, ours, theirs, what)
{
	cell("us: coll / best peer")
	for (s = 1; s <= nr_sizes; s++) {
		cell(names[s])
		cell("ratio")
	}
	cell("spread")
	row_end()
	for (c = 1; c <= nr_collectives; c++) {
		what = collectives[c]
		spread = 0
		cell(what)
		for (s = 1; s <= nr_sizes; s++) {
			ours = median(key_of(place, ranks, what, sizes[s], "us", "coll"))
			if (ours > 0 && (high - low) / ours > spread)
				spread = (high - low) / ours
			theirs = best_peer(place, ranks, what, sizes[s])
			cell(ours < 0 && theirs < 0 ? "" : number(ours) " / " number(theirs))
			cell(ours > 0 && theirs > 0 ? sprintf("%.2f", theirs / ours) : "")
		}
		cell(sprintf("%d %%", 100 * spread))
		row_end()
	}
	table_end()
}

function costs_of(place, ranks,	c, w, m, n, metrics, whose)
{
	n = split(place == "vm" ? "calls switches instructions" : "calls switches", metrics, " ")
	split("coll openmpi mpich", whose, " ")
	cell("8 B, of an op and a rank")
	for (m = 1; m <= n; m++)
		for (w = 1; w <= 3; w++)
			cell(metrics[m] ", " whose[w])
	row_end()
	for (c = 1; c <= nr_collectives; c++) {
		cell(collectives[c])
		for (m = 1; m <= n; m++)
			for (w = 1; w <= 3; w++)
				cell(number(median(key_of(place, ranks, collectives[c], 8,
							  metrics[m], whose[w]))))
		row_end()
	}
	table_end()
}

END {
	where["uml"] = "coll in user-mode Linux, the others on the machine itself"
	where["vm"] = "all in one virtual machine (QEMU, debian-6.1)"
	print ".. SPDX-License-Identifier: GPL-2.0"
	print ".. Written by make bench-each; do not edit."
	print ""
	title("Every collective", "-")
	print "Times on one node, with a barrier before each op. The time of an op is the time of the slowest"
	print "rank. A figure is the median over " most " rounds of the median over the ops. The best peer is the"
	print "faster one of Open MPI and MPICH. A ratio above 1 means that coll is faster. The spread is the"
	print "spread of coll between rounds, at the size where it is largest. Sizes are those of the vector,"
	print "or of the blocks of all ranks."
	print "ptrace() counts system calls, getrusage() counts context switches, in ops without a barrier."
	print "In the virtual machine the emulator counts instructions: those of all programs and of the kernel,"
	print "including ranks that wait for others."
	print ""
	print facts["cpu"] ", " facts["cores"] " cores; " facts["date"] ", " facts["commit"] "."
	print ""
	for (p = 1; p <= 2; p++) {
		for (r = 1; r <= nr_worlds[places[p]]; r++) {
			ranks = worlds[places[p], r]
			print "**" ranks " ranks, " where[places[p]] "**"
			print ""
			times_of(places[p], ranks)
			costs_of(places[p], ranks)
		}
	}
	if (failed != "") {
		print "Failed::"
		print ""
		gsub(/\n/, "\n\t", failed)
		print "\t" failed
	}
}
