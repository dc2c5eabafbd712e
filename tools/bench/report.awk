# SPDX-License-Identifier: GPL-2.0
#
# awk -f table.awk -f report.awk FACTS RESULTS: reStructuredText from what `run` has gathered:
# FACTS "name value", RESULTS "round contender ranks bytes microseconds", by tabs.

BEGIN {
	FS = "\t"
	LIMIT_MATTERS = 50	# us
	peers = "openmpi openmpi-tcp mpich gloo"
	split("coll-ioctl coll-uring coll-registered " peers, contenders, " ")
	split("plain1 plain2 nt2", loops, " ")
	split("2 4", ranks, " ")
	name["coll-ioctl"] = "coll ioctl"
	name["coll-uring"] = "coll io_uring"
	name["coll-registered"] = "coll registered"
	name["openmpi"] = "Open MPI"
	name["openmpi-tcp"] = "Open MPI TCP"
	name["mpich"] = "MPICH"
	name["gloo"] = "Gloo"
	name["plain1"] = "1 process"
	name["plain2"] = "2 processes"
	name["nt2"] = "2, past caches"
}

FILENAME == ARGV[1] {
	if ($1 == "load") {
		if (!loads++ || $2 + 0 < load_min) load_min = $2 + 0
		if ($2 + 0 > load_max) load_max = $2 + 0
	} else if ($1 == "failed" || $1 == "absent") {
		list[$1] = list[$1] (list[$1] ? "; " : "") $2
	} else {
		fact[$1] = $2
	}
	next
}

{
	key = $2 SUBSEP $3 SUBSEP $4
	value[key, ++count[key]] = $5 + 0
	if ($4 > 0 && !(($4 + 0) in seen)) {
		seen[$4 + 0] = 1
		for (i = ++nr_sizes; i > 1 && sizes[i - 1] > $4 + 0; i--)
			sizes[i] = sizes[i - 1]
		sizes[i] = $4 + 0
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
function quantile(who, n, bytes, part,	key, at, low)
{
	key = who SUBSEP n SUBSEP bytes
	if (!count[key])
		return -1
	sort_values(key)
	at = 1 + part * (count[key] - 1)
	low = int(at)
	if (low == count[key])
		return value[key, low]
	return value[key, low] + (at - low) * (value[key, low + 1] - value[key, low])
}

function median(who, n, bytes)
{
	return quantile(who, n, bytes, 0.5)
}

# The fastest loop, of those of the VM or of the host
function limit(where, n, bytes,		i, v, best)
{
	best = -1
	for (i = 1; i in loops; i++) {
		v = median(where "-" loops[i], n, bytes)
		if (v >= 0 && (best < 0 || v < best))
			best = v
	}
	return best
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

# Where memory takes no time, it is not what limits.
function above_limit(v, n, bytes,	least)
{
	least = limit("vm", n, bytes)
	return least < LIMIT_MATTERS ? "n/a" : ratio(v, least)
}

function human(bytes)
{
	if (bytes >= 1048576)
		return bytes / 1048576 " MiB"
	if (bytes >= 1024)
		return bytes / 1024 " KiB"
	return bytes " B"
}

function has(who,	i, k)
{
	for (i = 1; i in ranks; i++)
		for (k = 1; k <= nr_sizes; k++)
			if (count[who, ranks[i], sizes[k]])
				return 1
	return 0
}

function times_table(n,		i, k)
{
	cell("size")
	for (i = 1; i in contenders; i++)
		if (has(contenders[i]))
			cell(name[contenders[i]])
	cell("limit")
	row_end()
	for (k = 1; k <= nr_sizes; k++) {
		cell(human(sizes[k]))
		for (i = 1; i in contenders; i++)
			if (has(contenders[i]))
				cell(us(median(contenders[i], n, sizes[k])))
		cell(us(limit("vm", n, sizes[k])))
		row_end()
	}
	table_end()
}

function ratio_table(n,		i, k, base)
{
	cell("size")
	for (i = 4; i in contenders; i++)
		if (has(contenders[i]))
			cell(name[contenders[i]] " / coll")
	cell("coll / limit")
	cell("registered / limit")
	row_end()
	for (k = 1; k <= nr_sizes; k++) {
		base = median("coll-ioctl", n, sizes[k])
		cell(human(sizes[k]))
		for (i = 4; i in contenders; i++)
			if (has(contenders[i]))
				cell(ratio(median(contenders[i], n, sizes[k]), base))
		cell(above_limit(base, n, sizes[k]))
		cell(above_limit(median("coll-registered", n, sizes[k]), n, sizes[k]))
		row_end()
	}
	table_end()
}

# Both ways, in GB/s: each loop reads and writes one buffer per rank
function loop_table(	w, where, n, i, j, k, v)
{
	split("vm host", where, " ")
	cell("size, ranks")
	for (w = 1; w <= 2; w++)
		for (j = 1; j in loops; j++)
			cell((w == 1 ? "VM: " : "host: ") name[loops[j]])
	row_end()
	for (i = 1; i in ranks; i++) {
		for (k = 1; k <= nr_sizes; k++) {
			n = ranks[i]
			cell(human(sizes[k]) ", " n)
			for (w = 1; w <= 2; w++) {
				for (j = 1; j in loops; j++) {
					v = median(where[w] "-" loops[j], n, sizes[k])
					cell(v > 0 ? sprintf("%.1f", 2 * n * sizes[k] / v / 1e3) : "n/a")
				}
			}
			row_end()
		}
	}
	table_end()
}

function spread_table(	i, k, n, c, r, who)
{
	cell("ranks, size, who")
	cell("least")
	cell("quartile")
	cell("median")
	cell("quartile")
	cell("most")
	cell("rounds")
	row_end()
	for (r = 1; r in ranks; r++) {
		for (k = 1; k <= nr_sizes; k++) {
			for (c = 1; c in contenders; c++) {
				who = contenders[c]
				n = ranks[r]
				if (!count[who, n, sizes[k]])
					continue
				cell(n ", " human(sizes[k]) ", " name[who])
				for (i = 0; i <= 4; i++)
					cell(us(quantile(who, n, sizes[k], i / 4)))
				cell(count[who, n, sizes[k]])
				row_end()
			}
		}
	}
	table_end()
}

function peer_line(who, text)
{
	if (has(who))
		print "- " text
}

END {
	print ".. SPDX-License-Identifier: GPL-2.0"
	print ".. Written by make bench (tools/bench); do not edit."
	print ""
	title("Performance", "=")
	print "First figures: where the data path stands, beside others, on one machine and"
	print "in one run. All of this page is written by ``make bench``, on " fact["date"] ","
	print "at commit " fact["commit"] "; " fact["rounds"] " rounds in " fact["took"] " seconds."
	print ""
	title("What was measured, where", "-")
	print "- Machine: " fact["cpu"] ", " fact["cores"] " cores, L2 " fact["l2"] ", L3 " fact["l3"] ", memory " fact["memory"] ";"
	print "  " (fact["hypervisor"] ? "itself a virtual machine (" fact["hypervisor"] ")" : "no hypervisor") "; " fact["host_os"] ", kernel " fact["host_kernel"] "."
	print "- Load of the machine at the begin of each turn: " load_min " to " load_max " (ours and others'); " fact["steal"] " % of the"
	print "  CPU time stolen by the machine below; weight of what is measured: " fact["weight"] "."
	print "- coll: coll.ko in user-mode Linux, " fact["guest_kernel"] ", " fact["guest_cpus"] " CPUs, " fact["guest_memory"] ","
	print "  reductions by " fact["simd"] "; ``collrun -n RANKS collperf allreduce``: blocking by ioctl,"
	print "  by io_uring, and by ioctl with registered buffers."
	peer_line("openmpi", "Open MPI " fact["version_openmpi"] ", on the host itself: its default, shared memory; and TCP over loopback.")
	peer_line("mpich", "MPICH " fact["version_mpich"] ", on the host itself: its default, shared memory.")
	peer_line("gloo", "Gloo " fact["version_gloo"] ", on the host itself: TCP over loopback, it has no shared memory.")
	if (list["absent"])
		print "- Left out, because this machine could not install or build it: " list["absent"] "."
	if (list["failed"])
		print "- Ended with an error, and is missing from those rounds: " list["failed"] "."
	print "- limit: what the memory allows. A loop in the same VM that reads as many buffers as"
	print "  there are ranks and writes as many: the fastest of the three of the table below."
	print ""
	print "Allreduce of f32, sum, out of place, ranks on one node. All programs measure alike:"
	print "buffers mapped and touched before; before each iteration a barrier; of each iteration"
	print "the time of the slowest rank, of the iterations the median. That is one figure; per"
	print "round each contender gives one per size, in turns that move from round to round."
	print "The tables show medians over the rounds, in microseconds."
	print "Bytes, timed iterations and iterations before them: " fact["plan"]
	print ""
	for (i = 1; i in ranks; i++) {
		title(ranks[i] " ranks: time in us", "-")
		times_table(ranks[i])
		print "As ratios; \"coll\" is the blocking ioctl. Above 1, the other needs longer than coll."
		print "Where memory would need less than " LIMIT_MATTERS " us, calls and wake-ups are the limit instead:"
		print ""
		ratio_table(ranks[i])
	}
	title("What the setting favours", "-")
	print "- A system call takes " us(median("vm-syscall", 2, 0)) " us in this VM and " us(median("host-syscall", 2, 0)) " us on the host; waking another"
	print "  process up (a pipe, half a round trip) " us(median("vm-wakeup", 2, 0)) " us and " us(median("host-wakeup", 2, 0)) " us. coll is made of both, and"
	print "  in user-mode Linux reading the clock is a system call, too: small sizes favour"
	print "  those who run on the host."
	print "- Memory runs at the host's speed in the VM, in small pages."
	if (fact["cores"] < ranks[2]) {
		print "- " ranks[2] " ranks on " fact["cores"] " cores: who polls takes the CPU from who works. Open MPI knows that"
		print "  it is oversubscribed and yields (mpirun --oversubscribe); MPICH runs as it comes;"
		print "  coll and Gloo sleep."
	}
	print "- When others use the machine, polling loses its place to them for a whole time slice."
	print ""
	title("The memory limit: GB/s read and written", "-")
	print "\"1 process\" and \"2 processes\" run the reduction of coll.ko (kmod/simd), \"past caches\" a"
	print "loop with non-temporal stores. What lies in the caches is faster than memory."
	print ""
	loop_table()
	title("Spread over the rounds, us", "-")
	spread_table()
}
