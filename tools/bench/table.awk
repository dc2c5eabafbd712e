# SPDX-License-Identifier: GPL-2.0
#
# Tables and titles in reStructuredText: awk -f table.awk -f ... left_columns says how
# many of the first columns are text; unset: one.

# A table is gathered cell by cell, then printed with columns as wide as needed.
function cell(text)
{
	if (nr_rows == 0)
		nr_rows = 1
	grid[nr_rows, ++col] = text
	if (length(text) > width[col])
		width[col] = length(text)
	if (col > nr_cols)
		nr_cols = col
}

function row_end()
{
	nr_rows++
	col = 0
}

function pad(text, n, left)
{
	return sprintf(left ? "%-" n "s" : "%" n "s", text)
}

function bar(	c, s)
{
	for (c = 1; c <= nr_cols; c++)
		s = s (c > 1 ? "  " : "") sprintf("%" width[c] "s", "")
	gsub(/ /, "=", s)
	# put the gaps between columns back
	return gaps(s)
}

function gaps(s,	c, at, out)
{
	at = 1
	for (c = 1; c <= nr_cols; c++) {
		out = out (c > 1 ? "  " : "") substr(s, at, width[c])
		at += width[c] + 2
	}
	return out
}

function table_end(	r, c, line)
{
	print bar()
	for (r = 1; r < nr_rows; r++) {
		line = ""
		for (c = 1; c <= nr_cols; c++)
			line = line (c > 1 ? "  " : "") pad(grid[r, c], width[c], c <= (left_columns ? left_columns : 1))
		sub(/ +$/, "", line)
		print line
		if (r == 1)
			print bar()
	}
	print bar()
	print ""
	for (c = 1; c <= nr_cols; c++)
		width[c] = 0
	nr_rows = nr_cols = col = 0
}

function title(text, line)
{
	print text
	gsub(/./, line, text)
	print text
	print ""
}
