# SPDX-License-Identifier: GPL-2.0
#
# What `run` has gathered: FACTS "name value" and RESULTS "setting round place ranks who
# kind bytes metric value", by tabs. Of each figure there is one per round.

BEGIN {
	FS = "\t"
}

FILENAME == ARGV[1] {
	if ($1 == "load") {
		if (!loads++ || $2 + 0 < load_min)
			load_min = $2 + 0
		if ($2 + 0 > load_max)
			load_max = $2 + 0
	} else if ($1 == "failed" || $1 == "absent") {
		if (!told[$1, $2]++)
			list[$1] = list[$1] (list[$1] ? "; " : "") $2
	} else if ($1 == "took") {
		fact[$1] += $2
	} else {
		fact[$1] = $2
	}
	next
}

{
	place = $3
	sub(/^(overlap|idle|where)-/, "", place)
	key = $1 SUBSEP place SUBSEP $4 SUBSEP $5 SUBSEP $6 SUBSEP ($7 + 0) SUBSEP $8
	if (!count[key])
		keys[++nr_keys] = key
	value[key, ++count[key]] = $9 + 0
	if ($5 == "limit" && $6 == "limit")
		loop_seen[$8] = 1
	if ($6 == "time" && !(($7 + 0) in size_seen)) {
		size_seen[$7 + 0] = 1
		for (i = ++nr_sizes; i > 1 && sizes[i - 1] > $7 + 0; i--)
			sizes[i] = sizes[i - 1]
		sizes[i] = $7 + 0
	}
}

function sort_values(key,	i, k, v)
{
	if (key in sorted)
		return
	sorted[key] = 1
	for (i = 2; i <= count[key]; i++) {
		v = value[key, i]
		for (k = i; k > 1 && value[key, k - 1] > v; k--)
			value[key, k] = value[key, k - 1]
		value[key, k] = v
	}
}

# The value below which @part of the rounds lie; -1 if there is none
function quantile(key, part,	at, low)
{
	if (!count[key])
		return -1
	sort_values(key)
	at = 1 + part * (count[key] - 1)
	low = int(at)
	if (low == count[key])
		return value[key, low]
	return value[key, low] + (at - low) * (value[key, low + 1] - value[key, low])
}

function median(setting, place, n, who, kind, bytes, metric)
{
	return quantile(setting SUBSEP place SUBSEP n SUBSEP who SUBSEP kind SUBSEP bytes SUBSEP metric, 0.5)
}

# Time of an allreduce, us
function took(setting, place, n, who, bytes)
{
	return median(setting, place, n, who, "time", bytes, "p50")
}

# Half of what lies between the quartiles, as part of the median
function spread(setting, place, n, who, bytes,	key, m)
{
	key = setting SUBSEP place SUBSEP n SUBSEP who SUBSEP "time" SUBSEP bytes SUBSEP "p50"
	m = quantile(key, 0.5)
	return m > 0 ? (quantile(key, 0.75) - quantile(key, 0.25)) / 2 / m : -1
}

# The smaller one of those there are
function lesser(a, b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b
}

function best_peer(setting, place, n, bytes,	i, best)
{
	best = -1
	for (i = 1; i in peers; i++)
		best = lesser(best, took(setting, place, n, peers[i], bytes))
	return best
}

function best_cpu(setting, place, n, bytes,	i, best)
{
	best = -1
	for (i = 1; i in peers; i++)
		best = lesser(best, median(setting, place, n, peers[i], "cpu", bytes, "s_per_GB"))
	return best
}

# GB/s of each direction of two raw streams that go both ways, by the better way to send
function raw_stream(setting, n, bytes,	window, a, b)
{
	window = bytes <= 4194304 ? 1048576 : 16777216
	a = median(setting, "tcp", 2, "limit", "limit_tcp", window, "copy_both")
	b = median(setting, "tcp", 2, "limit", "limit_tcp", window, "splice_both")
	return a > b ? a : b
}

# Least time there could be, us: of the fastest loop, or of raw streams on this machine,
# which all nodes share: they have to send 2 (n - 1) vectors in all, two of which go
# at a time.
function limit(setting, place, n, bytes,	l, best, rate)
{
	best = -1
	if (place == "node") {
		for (l in loop_seen)
			best = lesser(best, median(setting, place, n, "limit", "limit", bytes, l))
		return best
	}
	rate = raw_stream(setting, n, bytes)
	return rate > 0 ? (n - 1) * bytes / rate / 1e3 : -1
}

function us(v)
{
	if (v < 0)
		return "n/a"
	return sprintf(v >= 100 ? "%.0f" : v >= 10 ? "%.1f" : "%.2f", v)
}

function ratio(a, b)
{
	if (a < 0 || b <= 0)
		return "n/a"
	a /= b
	return sprintf(a >= 100 ? "%.0f" : a >= 10 ? "%.1f" : "%.2f", a)
}

function percent(v)
{
	return v < 0 ? "n/a" : sprintf("%.0f %%", 100 * v)
}

function human(bytes)
{
	if (bytes >= 1048576)
		return bytes / 1048576 " MiB"
	if (bytes >= 1024)
		return bytes / 1024 " KiB"
	return bytes " B"
}
