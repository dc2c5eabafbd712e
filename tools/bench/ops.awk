# SPDX-License-Identifier: GPL-2.0
#
# awk -v out=rst|csv|heat|verdict -f table.awk -f ops.awk FACTS RESULTS: what `ops` has
# printed, as a page, as a file for programs, for gnuplot, or as the last word.

BEGIN {
	FS = "\t"
	BOUND = 50	# us that one FPU section may last
	nr_names = split("l1 l2 memory", levels, " ")
	title_of["l1"] = "First cache"
	title_of["l2"] = "Second cache"
	title_of["memory"] = "Memory"
	# may be slow: the x87, and what has to be taken apart
	slow = " ldouble cldouble ldouble_i32 f8e4m3 f8e5m2 "
}

FILENAME == ARGV[1] { fact[$1] = $2; next }

$1 == "SIZES"	{ for (i = 1; i <= 3; i++) bytes[levels[i]] = $(i + 1) }
$1 == "SET"	{ add(sets, $2); best = sets[1] }
$1 == "REF"	{ ref[$2, $3] = $4; add(refs, $3) }
$1 == "ROW"	{
	add(ops, $4); add(types, $5)
	by[$2, $4, $5] = $3
	gbs[$2, $4, $5, $6] = $7
	rel[$2, $4, $5, $6] = $8
}
$1 == "SECTION"	{ median[$2, $3, $4] = $5; p99[$2, $3, $4] = $6; section[$2, $3, $4] = $7 }
$1 == "EXACT"	{ add(exact, $2 SUBSEP $3); add(inputs, $4); cost[$2, $3, $4, $5] = $6 }

# Lists keep the order of their first mention.
function add(list, name)
{
	if (!(("is", name) in list)) {
		list["is", name] = 1
		list[++list["n"]] = name
	}
}

function defined(op, type)
{
	return (best SUBSEP op SUBSEP type) in by
}

# check(OPS, TYPES, LEAST): adds to failed what is below at memory size
function check(names, kinds, least,	o, t, i, j, n, m, r)
{
	n = split(names, o, " ")
	m = split(kinds, t, " ")
	for (i = 1; i <= n; i++) {
		for (j = 1; j <= m; j++) {
			if (!defined(o[i], t[j]))
				continue
			if ((o[i], t[j]) in checked)
				continue
			checked[o[i], t[j]] = 1
			r = rel[best, o[i], t[j], "memory"]
			if (r < least)
				failed = failed sprintf("%s%s %s %.3f < %.2f", failed ? ", " : "",
					t[j], o[i], r, least)
		}
	}
}

function verdict(	i, j)
{
	failed = ""
	split("", checked)
	check("sum min max", "f32 f64 i32 i64", 0.90)
	check("sum", "f16 bf16", 0.80)
	for (i = 1; i <= ops["n"]; i++)
		for (j = 1; j <= types["n"]; j++)
			if (ops[i] != "sum_exact" && !index(slow, " " types[j] " "))
				check(ops[i], types[j], 0.10)
	return failed ? "not met: " failed : "met"
}

# The longest section where @set is chosen, with what it leaves to the reference
function longest(set, table,	k, part, most, name)
{
	most = -1
	for (k in table) {
		split(k, part, SUBSEP)
		if (part[1] != set && (part[1] != "scalar" || (set, part[2], part[3]) in by))
			continue
		if (table[k] + 0 > most) {
			most = table[k] + 0
			name = part[3] " " part[2]
		}
	}
	return sprintf("%.1f us (%s)", most, name)
}

function human(n)
{
	return n >= 1048576 ? n / 1048576 " MiB" : n / 1024 " KiB"
}

function ratio_text(set, op, type, level)
{
	if (!defined(op, type))
		return ".."
	return sprintf("%.2f", rel[set, op, type, level]) (by[set, op, type] == set ? "" : "*")
}

function matrix(set, level,	i, j)
{
	cell("")
	for (i = 1; i <= ops["n"]; i++)
		cell(ops[i])
	row_end()
	for (j = 1; j <= types["n"]; j++) {
		cell(types[j])
		for (i = 1; i <= ops["n"]; i++)
			cell(ratio_text(set, ops[i], types[j], level))
		row_end()
	}
	table_end()
}

function ref_table(	i, j)
{
	cell("register")
	for (j = 1; j <= nr_names; j++)
		cell(title_of[levels[j]] ", " human(bytes[levels[j]]))
	row_end()
	for (i = 1; i <= refs["n"]; i++) {
		cell(refs[i])
		for (j = 1; j <= nr_names; j++)
			cell(sprintf("%.1f", ref[levels[j], refs[i]]))
		row_end()
	}
	table_end()
}

function speed(set, op, type, level)
{
	if (!((set, op, type, level) in gbs))
		return ".."
	return sprintf("%.1f", gbs[set, op, type, level]) (by[set, op, type] == set ? "" : "*")
}

# GB/s of each set, for pairs that stand for many
function set_table(level,	pairs, part, i, k, n)
{
	n = split("sum:f32 min:f32 sum:f64 max:f64 sum:i32 min:i64 prod:i64 sum:i8 band:byte land:i32 " \
		  "avg:i32 sum:f16 sum:bf16 sum:f8e4m3 sum:f8e5m2 prod:c64 minloc:f64_i32 " \
		  "maxloc:i32_i32 sum:ldouble replace:f32", pairs, " ")
	cell("pair")
	for (k = sets["n"]; k >= 1; k--)
		cell(sets[k])
	row_end()
	for (i = 1; i <= n; i++) {
		split(pairs[i], part, ":")
		if (!defined(part[1], part[2]))
			continue
		cell(part[2] " " part[1])
		for (k = sets["n"]; k >= 1; k--)
			cell(speed(sets[k], part[1], part[2], level))
		row_end()
	}
	table_end()
}

function exact_table(	i, j, k, part)
{
	cell("type, values, where")
	for (k = 1; k <= inputs["n"]; k++)
		cell(inputs[k])
	row_end()
	for (i = 1; i <= exact["n"]; i++) {
		split(exact[i], part, SUBSEP)
		for (j = 2; j <= nr_names; j++) {
			cell(part[1] ", " part[2] ", " tolower(title_of[levels[j]]))
			for (k = 1; k <= inputs["n"]; k++)
				cell(sprintf("%.1f", cost[exact[i], inputs[k], levels[j]]))
			row_end()
		}
	}
	table_end()
}

function section_table(	i)
{
	left_columns = 3
	cell("chosen set")
	cell("longest median")
	cell("longest 99th percentile")
	row_end()
	for (i = sets["n"]; i >= 1; i--) {
		cell(sets[i])
		cell(longest(sets[i], median))
		cell(longest(sets[i], p99))
		row_end()
	}
	table_end()
	left_columns = 1
}

function page(	j)
{
	print ".. SPDX-License-Identifier: GPL-2.0"
	print ".. Written by make bench-ops (tools/bench); do not edit."
	print ""
	title("Speed of reductions", "=")
	print "The bytes that one CPU reduces in a second, for every operator on every type, by the objects"
	print "that coll.ko and the library ship. `reductions.rst <reductions.rst>`_ says what they"
	print "compute. All of this page is written by ``make bench-ops``, on " fact["date"] ", at"
	print "commit " fact["commit"] ", in " fact["took"] " seconds."
	print ""
	print "- Machine: " fact["cpu"] ", " fact["cores"] " cores,"
	print "  L2 " fact["l2"] ", L3 " fact["l3"] ", memory " fact["memory"] ";"
	print "  " (fact["hypervisor"] ? "itself a virtual machine (" fact["hypervisor"] ")" : "no hypervisor") "; " fact["host_os"] ", kernel " fact["host_kernel"] "."
	print "- Compiler: " fact["compiler"] "."
	print "- Load of the machine: " fact["load_before"] " before, " fact["load_after"] " after (ours and others')."
	print "- Best set of this CPU, and so the chosen one: " best "."
	print ""
	print "Required speed in memory, relative to the loops below: f32, f64, i32"
	print "and i64 sum, min and max 0.90; f16 and bf16 sum 0.80; any other pair 0.10, except long"
	print "double, fp8 and sum_exact. It is " (verdict() == "met" ? "met." : "not met by:")
	print ""
	if (failed) {
		gsub(/, /, "\n- ", failed)
		print "- " failed
		print ""
	}
	print "Longest FPU section: median " longest(best, median) ","
	print "99th percentile " longest(best, p99) "; bound: " BOUND " us."
	print ""
	title("What was measured", "-")
	print "Two inputs, one output, " human(bytes["l1"]) " each (in the first cache), " human(bytes["l2"]) " each (in the"
	print "second), and pieces of " human(bytes["memory"]) " each, every piece touched after all others (in"
	print "memory). GB/s count bytes read and bytes written, 10\\ :sup:`9` bytes. A figure is the"
	print "median of seven samples of 3 ms or more of CPU time. Values are small whole numbers."
	print ""
	print "Ratios: relative to a hand-written loop with the same traffic that computes an exclusive"
	print "or. The loop is the fastest one that is no wider than the registers of the set. It is measured"
	print "in turn with the reduction. The speed of these loops in GB/s:"
	print ""
	ref_table()
	print ".. image:: reductions-speed.svg"
	print "   :alt: ratios of the chosen set, operators by types, for three places of the data"
	print ""
	print "``reductions-speed.csv`` has every figure of every set."
	print ""
	for (j = nr_names; j >= 1; j--) {
		title(title_of[levels[j]] ": ratio, " best, "-")
		if (j == nr_names) {
			print "A star: computed by the scalar reference, because the set has no faster function;"
			print "sum_exact has its own code. Two dots: not defined. *replace* and *no_op* count both"
			print "inputs, but need only one."
			print ""
		}
		matrix(best, levels[j])
	}
	for (j = nr_names; j >= 1; j -= 2) {
		title(title_of[levels[j]] ": GB/s of each set", "-")
		set_table(levels[j])
	}
	title("sum_exact", "-")
	print "Time of an exact sum, divided by the time of the plain sum of the chosen set, by the number of"
	print "inputs. *alike*: small whole numbers; *spread*: exponents from the smallest to the largest."
	print ""
	exact_table()
	title("FPU sections", "-")
	print "The kernel uses the FPU in short sections, because softirqs cannot interrupt a section."
	print "A section has " human(section[best, "sum", "f32"]) " read and written (by the scalar set, and the x87: " human(section["scalar", "sum", "f32"]) "), kmod/core/limits.h. Here operands are"
	print "cold and far from the operands of the previous section. The table has the median and the"
	print "99th percentile of 200 sections, for the slowest pair, including pairs that use the reference."
	print ""
	section_table()
}

function csv(	i, j, k, l, key)
{
	print "# SPDX-License-Identifier: GPL-2.0"
	print "# Written by make bench-ops; " fact["date"] "; " fact["cpu"] "; " fact["compiler"] "; " fact["host_kernel"]
	printf "set,by,op,type"
	for (l = 1; l <= nr_names; l++)
		printf ",%s_bytes,%s_GBps,%s_ratio", levels[l], levels[l], levels[l]
	print ",section_bytes,section_median_us,section_p99_us"
	for (k = sets["n"]; k >= 1; k--) {
		for (j = 1; j <= types["n"]; j++) {
			for (i = 1; i <= ops["n"]; i++) {
				key = sets[k] SUBSEP ops[i] SUBSEP types[j]
				if (!(key in by))
					continue
				printf "%s,%s,%s,%s", sets[k], by[key], ops[i], types[j]
				for (l = 1; l <= nr_names; l++)
					printf ",%s,%s,%s", bytes[levels[l]], gbs[key, levels[l]], rel[key, levels[l]]
				if (key in median)
					print "," section[key] "," median[key] "," p99[key]
				else
					print ",,,"
			}
		}
	}
}

# "level x y ratio text"; then gnuplot's words for the axes
function heat(	i, j, l)
{
	for (l = 1; l <= nr_names; l++) {
		for (j = 1; j <= types["n"]; j++)
			for (i = 1; i <= ops["n"]; i++)
				if (defined(ops[i], types[j]))
					printf "%s %d %d %.3f\n", levels[l], j, i,
						rel[best, ops[i], types[j], levels[l]]
	}
	printf "#xtics"
	for (j = 1; j <= types["n"]; j++)
		printf("%s\"%s\" %d", (j > 1 ? ", " : " "), types[j], j)
	printf "\n#ytics"
	for (i = 1; i <= ops["n"]; i++)
		printf("%s\"%s\" %d", (i > 1 ? ", " : " "), ops[i], i)
	printf "\n#best %s\n", best
}

END {
	if (out == "rst")
		page()
	else if (out == "csv")
		csv()
	else if (out == "heat")
		heat()
	else {
		print "longest FPU section: median " longest(best, median) ", 99th percentile " \
			longest(best, p99) ", bound " BOUND " us"
		print "bench-ops by " best ": acceptance " verdict()
	}
}
