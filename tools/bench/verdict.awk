# SPDX-License-Identifier: GPL-2.0
#
# What is asked for, and whether the figures have it: with stats.awk. "Ours" are
# blocking calls with registered buffers.

function commas(list)
{
	gsub(/ /, ", ", list)
	return list
}

# Begin a row: what has been asked for
function ask(text, need, upper)
{
	asked_text = text
	asked_need = need
	asked_upper = upper
	asked_worst = asked_at = asked_possible = ""
}

# A figure for it, and what the limit would have, -1 if that is not known; the worst one
# counts
function answer(v, at, possible)
{
	if (v == "" || v < 0)
		return
	if (asked_worst == "" || (asked_upper ? v > asked_worst : v < asked_worst)) {
		asked_worst = v
		asked_at = at
		asked_possible = possible == "" ? -1 : possible
	}
}

function decide(	gap)
{
	cell(asked_text)
	cell((asked_upper ? "<= " : ">= ") asked_need)
	if (asked_worst == "") {
		cell("n/a")
		cell("")
		cell("")
		cell("not measured")
	} else {
		cell(sprintf("%.2f", asked_worst))
		cell(asked_at)
		cell(asked_possible < 0 ? "" : sprintf("%.2f", asked_possible))
		gap = asked_upper ? asked_worst - asked_need : asked_need - asked_worst
		if (gap <= 0)
			cell("met")
		else if (asked_need)
			cell(sprintf("missed by %.0f %%", 100 * gap / asked_need))
		else
			cell("missed")
	}
	row_end()
}

function quotient(a, b)
{
	return a < 0 || b <= 0 ? -1 : a / b
}

# Against the best peer: @ranks and @bytes are lists
function ask_peers(setting, place, ranks, bytes, need,	i, k, n, nr_r, nr_b, r, b)
{
	nr_r = split(ranks, r, " ")
	nr_b = split(bytes, b, " ")
	ask(name[setting] ", " name[place] ": the best peer's time / ours, " ranks " ranks, " \
	    human(b[1]) (nr_b > 1 ? " to " human(b[nr_b]) : ""), need)
	for (i = 1; i <= nr_r; i++)
		for (k = 1; k <= nr_b; k++)
			answer(quotient(best_peer(setting, place, r[i], b[k]),
					took(setting, place, r[i], "coll-registered", b[k])),
			       r[i] " ranks, " human(b[k]),
			       b[k] < 65536 ? -1 : quotient(best_peer(setting, place, r[i], b[k]),
							    limit(setting, place, r[i], b[k])))
	decide()
}

function ask_limit(setting, place, ranks, bytes, need,	i, k, nr_r, nr_b, r, b)
{
	nr_r = split(ranks, r, " ")
	nr_b = split(bytes, b, " ")
	ask(name[setting] ", " name[place] ": the limit / ours, " ranks " ranks, " \
	    human(b[1]) (nr_b > 1 ? " to " human(b[nr_b]) : ""), need)
	for (i = 1; i <= nr_r; i++)
		for (k = 1; k <= nr_b; k++)
			answer(quotient(limit(setting, place, r[i], b[k]),
					took(setting, place, r[i], "coll-registered", b[k])),
			       r[i] " ranks, " human(b[k]))
	decide()
}

function ask_cpu(setting, place, ranks,	i, nr, r)
{
	nr = split(ranks, r, " ")
	ask(name[setting] ", " name[place] ": our CPU time / the least CPU time of peers, " commas(ranks) \
	    " ranks, 16 MiB", 0.6, 1)
	for (i = 1; i <= nr; i++)
		answer(quotient(median(setting, place, r[i], "coll-registered", "cpu", 16777216,
				       "s_per_GB"), best_cpu(setting, place, r[i], 16777216)),
		       r[i] " ranks")
	decide()
}

function ask_overlap(setting, place, kind, text)
{
	ask(name[setting] ", " name[place] ": share hidden, " text, 0.9)
	answer(median(setting, place, 2, "coll-uring", kind, 16777216, "share"), "2 ranks, 16 MiB",
	       kind == "overlap" ? most_hidden(setting, place) : -1)
	decide()
}

function ask_idle(setting)
{
	ask(name[setting] ": switches to an idle communicator's tasks in 10 s", 0, 1)
	answer(median(setting, "tcp", 2, "coll-uring", "idle", 0, "switches"), name["tcp"])
	answer(median(setting, "tcp", 2, "coll-thread", "idle", 0, "switches"), "TCP, thread")
	decide()
}

function verdicts_local(setting)
{
	ask_peers(setting, "node", "2", "1048576 4194304", 1.4)
	ask_peers(setting, "node", "2", "16777216 67108864", 2.5)
	ask_peers(setting, "node", "4 8", "1048576 4194304 16777216 67108864", 4)
	ask_limit(setting, "node", "2 4 8", "1048576 4194304 67108864", 0.85)
	ask_limit(setting, "node", "2 4 8", "16777216", 0.9)
}

function verdicts_tcp(setting)
{
	ask_peers(setting, "tcp", "2 4", "1048576 4194304 16777216", 1.5)
	ask_limit(setting, "tcp", "2 4", "1048576 4194304 16777216", 0.8)
	ask_peers(setting, "tcp", "2 4", "8", 1)
}

function verdicts_rest(setting)
{
	ask_cpu(setting, "node", "2 4 8")
	ask_cpu(setting, "tcp", "2 4")
	ask_overlap(setting, "node", "overlap", "computing on the CPU")
	ask_overlap(setting, "node", "overlap_away", "computing elsewhere")
	ask_overlap(setting, "tcp", "overlap", "computing on the CPU")
	ask_overlap(setting, "tcp", "overlap_away", "computing elsewhere")
	ask_overlap(setting, "shaped", "overlap", "computing on the CPU")
	ask_idle(setting)
}

function verdicts(	i)
{
	print "\"Possible\" is the value that the limit would have instead of the worst figure, in the same run."
	print "For the share hidden it is the share that the CPU time leaves (see \"at most\" below)."
	print ""
	left_columns = 1
	cell("what")
	cell("asked")
	cell("worst")
	cell("where")
	cell("possible")
	cell("verdict")
	row_end()
	for (i = 1; i <= nr_settings; i++) {
		if (settings[i] != "vm")
			verdicts_local(settings[i])
		else {
			ask_peers("vm", "node", "2 4 8", "1048576 4194304 16777216", 2)
			ask_peers("vm", "node", "4 8", "8 4096", 1)
		}
		if (settings[i] != "uml")
			verdicts_tcp(settings[i])
		verdicts_rest(settings[i])
	}
	# needs a network between machines, and links that send without copying
	ask("two VMs, an emulated network: bytes sent without a copy / bytes sent, 16 MiB", 0.99)
	answer(median("vm", "hosts", 2, "coll-registered", "hosts", 16777216, "zerocopy"), "ubuf")
	decide()
	table_end()
}

# Everything has been read, and report.awk has said how things are called.
END {
	if (out == "rst")
		page()
	else if (out == "csv")
		csv()
	else
		chart()
}
