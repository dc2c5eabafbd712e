# SPDX-License-Identifier: GPL-2.0
#
# awk -v out=rst|csv|chart -f table.awk -f stats.awk -f report.awk -f verdict.awk FACTS
# RESULTS: the page, the figures, or what the chart is drawn from.

BEGIN {
	split("openmpi mpich gloo", peers, " ")
	nr_shown = split("coll-registered coll-ioctl coll-uring openmpi mpich gloo", shown, " ")
	name["coll-registered"] = "coll"
	name["coll-ioctl"] = "unregistered"
	name["coll-uring"] = "io_uring"
	name["coll-thread"] = "coll, thread"
	name["openmpi"] = "Open MPI"
	name["mpich"] = "MPICH"
	name["gloo"] = "Gloo"
	name["uml"] = "uml"
	name["vm"] = "VM"
	name["native"] = "native"
	name["node"] = "one node"
	name["tcp"] = "TCP"
	name["shaped"] = "slow links"
	head["uml"] = "coll in user-mode Linux, peers on the machine itself"
	head["vm"] = "All in one virtual machine"
	head["native"] = "All on this machine"
}

function has(setting, place, n,	i)
{
	for (i = 1; i <= nr_sizes; i++)
		if (took(setting, place, n, "coll-registered", sizes[i]) >= 0)
			return 1
	return 0
}

function times(setting, place, n,	i, k, ours, best)
{
	print name[place] ", " n " ranks, us:"
	print ""
	cell("size")
	for (i = 1; i <= nr_shown; i++)
		cell(name[shown[i]])
	cell("limit")
	cell("best peer / coll")
	cell("limit / coll")
	cell("spread coll")
	cell("spread peers")
	row_end()
	for (k = 1; k <= nr_sizes; k++) {
		ours = took(setting, place, n, "coll-registered", sizes[k])
		best = best_peer(setting, place, n, sizes[k])
		if (ours < 0 && best < 0)
			continue
		cell(human(sizes[k]))
		for (i = 1; i <= nr_shown; i++)
			cell(us(took(setting, place, n, shown[i], sizes[k])))
		# below that, calls and wake-ups are what limits
		cell(sizes[k] < 65536 ? "" : us(limit(setting, place, n, sizes[k])))
		cell(ratio(best, ours))
		cell(sizes[k] < 65536 ? "" : ratio(limit(setting, place, n, sizes[k]), ours))
		cell(percent(spread(setting, place, n, "coll-registered", sizes[k])))
		cell(percent(widest(setting, place, n, sizes[k])))
		row_end()
	}
	table_end()
}

function widest(setting, place, n, bytes,	i, s, most)
{
	most = -1
	for (i = 1; i in peers; i++) {
		s = spread(setting, place, n, peers[i], bytes)
		most = s > most ? s : most
	}
	return most
}

# The places where something was measured, as "place ranks"
function places(setting, list,	i, nr, all, part, found)
{
	nr = split("node 2,node 4,node 8,tcp 2,tcp 4", all, ",")
	for (i = 1; i <= nr; i++) {
		split(all[i], part, " ")
		if (has(setting, part[1], part[2]))
			list[++found] = all[i]
	}
	return found
}

function tails(setting,	i, k, w, nr, list, part, s)
{
	print "Latencies, us: median, 90th and 99th percentile:"
	print ""
	left_columns = 2
	cell("where")
	cell("who")
	split("8 4096", s, " ")
	for (k = 1; k in s; k++) {
		cell(human(s[k]) ": p50")
		cell("p90")
		cell("p99")
	}
	row_end()
	nr = places(setting, list)
	for (i = 1; i <= nr; i++) {
		split(list[i], part, " ")
		for (w = 1; w <= nr_shown; w++) {
			if (took(setting, part[1], part[2], shown[w], 8) < 0)
				continue
			cell(name[part[1]] ", " part[2] " ranks")
			cell(name[shown[w]])
			for (k = 1; k in s; k++) {
				cell(us(median(setting, part[1], part[2], shown[w], "time", s[k], "p50")))
				cell(us(median(setting, part[1], part[2], shown[w], "time", s[k], "p90")))
				cell(us(median(setting, part[1], part[2], shown[w], "time", s[k], "p99")))
			}
			row_end()
		}
	}
	table_end()
	left_columns = 1
}

function seconds(v)
{
	return v < 0 ? "n/a" : sprintf("%.2f", v)
}

function costs(setting,	i, w, nr, list, part)
{
	print "CPU seconds of all ranks and of the kernel's workers, for 10^9 bytes of the vector, at"
	print "16 MiB:"
	print ""
	cell("where")
	for (w = 1; w <= nr_shown; w++)
		cell(name[shown[w]])
	cell("coll / least of a peer")
	row_end()
	nr = places(setting, list)
	for (i = 1; i <= nr; i++) {
		split(list[i], part, " ")
		cell(name[part[1]] ", " part[2] " ranks")
		for (w = 1; w <= nr_shown; w++)
			cell(seconds(median(setting, part[1], part[2], shown[w], "cpu", 16777216, "s_per_GB")))
		cell(ratio(median(setting, part[1], part[2], "coll-registered", "cpu", 16777216,
				  "s_per_GB"), best_cpu(setting, part[1], part[2], 16777216)))
		row_end()
	}
	table_end()
}

# What one allreduce of 16 MiB takes of each CPU, us; -1 if that is not known
function us_of_each_cpu(setting, place,	v, cpus)
{
	v = median(setting, place, 2, "coll-uring", "cpu", 16777216, "s_per_GB")
	cpus = setting == "native" ? fact["cores"] : fact["guest_cpus"]
	return v < 0 || !cpus ? -1 : v * 16777216 / 1e9 / cpus * 1e6
}

# The most of it that can be hidden if all CPUs compute
function most_hidden(setting, place,	cpu, time)
{
	cpu = us_of_each_cpu(setting, place)
	time = median(setting, place, 2, "coll-uring", "overlap", 16777216, "us")
	return cpu < 0 || time <= 0 ? -1 : cpu > time ? 0 : 1 - cpu / time
}

function overlaps(setting,	i, k, w, p, kinds, who, text, any, v)
{
	split("node tcp shaped", p, " ")
	split("overlap overlap_test overlap_away", kinds, " ")
	split("coll-uring coll-thread openmpi mpich", who, " ")
	text["overlap"] = "on the CPU"
	text["overlap_test"] = "on the CPU, 16 looks"
	text["overlap_away"] = "elsewhere"
	print "Overlap: share of a nonblocking allreduce of 16 MiB by 2 ranks that is hidden behind"
	print "a computation of the same length, and the time of the allreduce alone, us. \"Looks\":"
	print "MPI_Test() or coll_test() after each sixteenth of the computation; \"elsewhere\": the rank"
	print "sleeps, as if another device computed. The CPU time of the allreduce (CPU seconds divided by"
	print "the number of CPUs) cannot be hidden behind a computation on all CPUs: \"at most\" is the"
	print "share that remains."
	print ""
	left_columns = 2
	cell("where")
	cell("computing")
	for (w = 1; w in who; w++)
		cell(w == 1 ? "coll, io_uring" : name[who[w]])
	for (w = 1; w in who; w++)
		cell("time " (w == 1 ? "coll, io_uring" : name[who[w]]))
	cell("of each CPU, coll, io_uring")
	cell("at most")
	row_end()
	for (i = 1; i in p; i++) {
		for (k = 1; k in kinds; k++) {
			any = 0
			for (w = 1; w in who; w++)
				any = any || median(setting, p[i], 2, who[w], kinds[k], 16777216, "share") >= 0
			if (!any)
				continue
			cell(name[p[i]])
			cell(text[kinds[k]])
			for (w = 1; w in who; w++)
				cell(seconds(median(setting, p[i], 2, who[w], kinds[k], 16777216, "share")))
			for (w = 1; w in who; w++) {
				v = median(setting, p[i], 2, who[w], kinds[k], 16777216, "us")
				cell(us(v))
			}
			cell(kinds[k] == "overlap" ? us(us_of_each_cpu(setting, p[i])) : "")
			cell(kinds[k] == "overlap" ? seconds(most_hidden(setting, p[i])) : "")
			row_end()
		}
	}
	table_end()
	left_columns = 1
}

function bursts(setting,	i, k, w, p, s, who, any)
{
	split("tcp shaped", p, " ")
	split("8 4096 65536", s, " ")
	split("coll-uring coll-thread openmpi mpich", who, " ")
	print "Sixteen nonblocking allreduces by 2 ranks, started together, and one alone, us:"
	print ""
	left_columns = 2
	cell("where")
	cell("size of each")
	for (w = 1; w in who; w++) {
		cell((w == 1 ? "coll, io_uring" : name[who[w]]) ": 1")
		cell("16")
	}
	row_end()
	for (i = 1; i in p; i++) {
		for (k = 1; k in s; k++) {
			any = 0
			for (w = 1; w in who; w++)
				any = any || median(setting, p[i], 2, who[w], "burst", s[k], "us") >= 0
			if (!any)
				continue
			cell(name[p[i]])
			cell(human(s[k]))
			for (w = 1; w in who; w++) {
				cell(us(median(setting, p[i], 2, who[w], "burst", s[k], "one_us")))
				cell(us(median(setting, p[i], 2, who[w], "burst", s[k], "us")))
			}
			row_end()
		}
	}
	table_end()
	left_columns = 1
}

function idles(setting,	w, who)
{
	split("coll-uring coll-thread openmpi mpich gloo", who, " ")
	print "Idle for 10 s, 2 ranks, each a node:"
	print ""
	cell("")
	for (w = 1; w in who; w++)
		cell(w == 1 ? "coll, io_uring" : name[who[w]])
	row_end()
	cell("switches to their tasks")
	for (w = 1; w in who; w++)
		cell(us(median(setting, "tcp", 2, who[w], "idle", 0, "switches")))
	row_end()
	cell("CPU time of these, ms")
	for (w = 1; w in who; w++)
		cell(us(median(setting, "tcp", 2, who[w], "idle", 0, "cpu_ms")))
	row_end()
	table_end()
}

function wheres(setting,	i, k, w, p, s, m, text)
{
	split("node tcp", p, " ")
	split("8 65536 16777216", s, " ")
	split("arrive begin run rest whole segments", m, " ")
	text["arrive"] = "until all have come"
	text["begin"] = "until it starts"
	text["run"] = "until it is complete"
	text["rest"] = "call and return"
	text["whole"] = "in all"
	text["segments"] = "pieces"
	print "Where the time goes, by tracepoints, 2 ranks, us; performance-where.rst explains it:"
	print ""
	left_columns = 2
	cell("where")
	cell("size")
	for (i = 1; i in m; i++)
		cell(text[m[i]])
	row_end()
	for (k = 1; k in p; k++) {
		for (i = 1; i in s; i++) {
			cell(name[p[k]])
			cell(human(s[i]))
			for (w = 1; w in m; w++)
				cell(us(median(setting, p[k], 2, "where", "where", s[i], m[w])))
			row_end()
		}
	}
	table_end()
	left_columns = 1
}

function favours(setting,	where)
{
	if (setting == "uml") {
		print "This setting favours the peers. A system call takes " us(median("uml", "node", 2, "guest", "syscall", 0, "us")) \
		      " us in user-mode Linux and " us(median("uml", "node", 2, "host", "syscall", 0, "us"))
		print "us on the machine itself. To wake another process (a pipe, half a round trip) takes " \
		      us(median("uml", "node", 2, "guest", "wakeup", 0, "us"))
		print "and " us(median("uml", "node", 2, "host", "wakeup", 0, "us")) " us. So the peers, which run on the machine itself, gain at small sizes"
		print "and over TCP, which needs many wake-ups and interrupts. Memory has the same speed for all."
		print "coll: " fact[setting "_guest_kernel"] " with tools/vm/uml.patch, " fact["guest_cpus"] " CPUs, each bound to one CPU of"
		print "the machine, reductions by " fact[setting "_guest_simd"] ". Each program has a guest of its own,"
		print "because a program that ran second in a guest got worse placed pages."
	} else {
		where = setting == "vm" ? "guest" : "host"
		print "This setting favours no library. " (setting == "vm" ? "All run under emulation: computing is slow compared" : "")
		if (setting == "vm")
			print "with waiting, and vectors of 512 bits are not available."
		print "A system call takes " us(median(setting, "node", 2, where, "syscall", 0, "us")) " us, to wake another process takes " \
		      us(median(setting, "node", 2, where, "wakeup", 0, "us")) " us."
	}
	print ""
}

function setting_page(s,	i, nr, list, part)
{
	title(head[s], "-")
	favours(s)
	nr = places(s, list)
	for (i = 1; i <= nr; i++) {
		split(list[i], part, " ")
		times(s, part[1], part[2])
	}
	tails(s)
	costs(s)
	overlaps(s)
	bursts(s)
	idles(s)
	wheres(s)
	streams(s)
}

function streams(setting,	i, k, hows, w, v)
{
	split("copy_one splice_one copy_both splice_both", hows, " ")
	split("1048576 16777216", w, " ")
	print "Raw TCP streams in the kernel, received bytes added in the socket buffer: GB/s of each"
	print "direction, one way and both ways, by the size of the memory used:"
	print ""
	cell("memory")
	for (i = 1; i in hows; i++) {
		v = hows[i]
		sub(/_one/, ", one way", v)
		sub(/_both/, ", both ways", v)
		cell(v)
	}
	row_end()
	for (k = 1; k in w; k++) {
		cell(human(w[k]))
		for (i = 1; i in hows; i++)
			cell(seconds(median(setting, "tcp", 2, "limit", "limit_tcp", w[k], hows[i])))
		row_end()
	}
	table_end()
}

function machine()
{
	title("What was measured, where", "-")
	print "- Machine: " fact["cpu"] ", " fact["cores"] " cores, L2 " fact["l2"] ", L3 " fact["l3"] ", memory " fact["memory"] ";"
	print "  " (fact["hypervisor"] ? "itself a virtual machine (" fact["hypervisor"] ")" : "no hypervisor") "; " fact["host_os"] ", kernel " fact["host_kernel"] "."
	print "- Load of the machine at the beginning of each part: " load_min " to " load_max " (including other programs); " fact["steal"] " % of the"
	print "  CPU time stolen by the hypervisor."
	print "- coll: ``coll_allreduce``, blocking calls with registered buffers; \"unregistered\": the same"
	print "  with buffers that are not registered; \"io_uring\": nonblocking calls and a wait, registered"
	print "  buffers."
	print "- Open MPI " fact["version_openmpi"] ": one node by ``vader``, TCP by ``pml ob1, btl tcp``; bound to cores, or, with"
	print "  more ranks than cores, unbound, ``mpi_yield_when_idle``."
	print "- MPICH " fact["version_mpich"] " (ch4:ucx): one node by shared memory, TCP by ``UCX_TLS=tcp``, ``MPIR_CVAR_NOLOCAL``;"
	print "  bound to cores, or, with more ranks than cores, unbound, ``MPIR_CVAR_POLLS_BEFORE_YIELD=1``."
	print "- Gloo " fact["version_gloo"] ": TCP, over loopback on one node; it has no shared memory."
	print "- TCP: for all libraries each rank is in its own network namespace, joined by veth pairs and a"
	print "  bridge. Slow links: netem with 1 Gbit/s and 0.5 ms each way. coll copies payload into the"
	print "  socket (``send_mode=copy``), as the peers do: otherwise nodes of one kernel would read it in"
	print "  memory."
	print "- limit: on one node, the fastest of nine loops in the same kernel (coll_limit.ko: SSE2, AVX2,"
	print "  AVX-512; normal stores, stores past the caches, the latter with prefetching). A loop reads"
	print "  one vector for each rank and writes one for each rank, in single pages, by a worker on each"
	print "  CPU. TCP: raw streams, see the end of each setting; n ranks send 2 (n - 1) vectors."
	if (list["absent"])
		print "- Left out, because this machine could not install or build it: " list["absent"] "."
	if (list["failed"])
		print "- Ended with an error, and is missing: " list["failed"] "."
	print ""
	print "Allreduce of f32, sum, out of place. All programs measure in the same way"
	print "(``tools/bench/peer.h``): buffers are mapped and touched before, and a barrier comes before"
	print "each iteration. The time of an iteration is the time of the slowest rank. The median of the"
	print "iterations is one figure. Each round gives one figure per program, in an order that changes"
	print "from round to round. The tables show medians over the rounds. \"Spread\": half of the distance"
	print "of the quartiles, divided by the median; for the peers, the largest. performance.csv has"
	print "quartiles and extremes of all figures."
	print ""
	print ".. image:: performance.svg"
	print "   :alt: bandwidth by size, for each setting, place and number of ranks"
	print ""
}

function page(	i)
{
	nr_settings = split(fact["settings"], settings, " ")
	print ".. SPDX-License-Identifier: GPL-2.0"
	print ".. Written by make bench (tools/bench); do not edit."
	print ""
	title("Performance", "=")
	print "This page compares the data path with other libraries and with the limit of the kernel,"
	print "on one machine and in one run. This page is written by ``make bench``, on " fact["date"] ","
	print "at commit " fact["commit"] "; in " fact["took"] " seconds; rounds:" rounds_done() "."
	print "performance-where.rst explains where the time goes."
	print ""
	title("What was asked for", "-")
	verdicts()
	machine()
	for (i = 1; i <= nr_settings; i++)
		setting_page(settings[i])
	print ".. include:: performance-where.rst"
	print ""
	print ".. include:: performance-each.rst"
}

function rounds_done(	i, text)
{
	for (i = 1; i <= nr_settings; i++)
		text = text (i > 1 ? "," : "") " " settings[i] " " fact["rounds_" settings[i]]
	return text
}

function csv(	i, part)
{
	print "# SPDX-License-Identifier: GPL-2.0"
	print "# Written by make bench; do not edit."
	print "setting,place,ranks,who,kind,bytes,metric,least,quartile,median,quartile,most,rounds"
	for (i = 1; i <= nr_keys; i++) {
		split(keys[i], part, SUBSEP)
		printf "%s,%s,%s,%s,%s,%s,%s,%.6g,%.6g,%.6g,%.6g,%.6g,%d\n", part[1], part[2],
		       part[3], part[4], part[5], part[6], part[7], quantile(keys[i], 0),
		       quantile(keys[i], 0.25), quantile(keys[i], 0.5),
		       quantile(keys[i], 0.75), quantile(keys[i], 1), count[keys[i]]
	}
}

# One block for each line of each panel: "setting place ranks who", then "bytes GB/s"
function chart(	s, i, w, k, nr, list, part, t, nr_s, all)
{
	nr_s = split("uml vm native", all, " ")
	nr_shown = split("coll-registered coll-ioctl openmpi mpich gloo limit", shown, " ")
	for (s = 1; s <= nr_s; s++) {
		split("", list)
		nr = places(all[s], list)
		for (i = 1; i <= nr; i++) {
			split(list[i], part, " ")
			for (w = 1; w <= nr_shown; w++) {
				for (k = 1; k <= nr_sizes; k++) {
					if (shown[w] != "limit")
						t = took(all[s], part[1], part[2], shown[w], sizes[k])
					else
						t = limit(all[s], part[1], part[2], sizes[k])
					if (t > 0 && (shown[w] != "limit" || sizes[k] >= 65536))
						print all[s], part[1], part[2], shown[w], sizes[k], sizes[k] / t / 1e3
				}
			}
		}
	}
}
