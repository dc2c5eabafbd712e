# SPDX-License-Identifier: GPL-2.0
#
# gnuplot -e "data='FILE'; xnames='\"i8\" 1, ...'; ynames='...'; best='SET'": from
# ops.awk's "level x y ratio" three maps, one below the other.

set terminal svg size 1150,1560 noenhanced font "sans,11" background "white"
set multiplot layout 3,1 title "Speed of reductions by ".best.": ratio to a loop of the same traffic" font ",14"
set palette defined (0 "#b2182b", 0.1 "#ef8a62", 0.5 "#fddbc7", 0.8 "#d9f0d3", 1 "#1b7837")
set cbrange [0:1]
set style fill solid noborder
eval "set xtics rotate by 45 right (".xnames.")"
eval "set ytics (".ynames.")"
set xrange [0.5:28.5]
set yrange [17.5:0.5]
set tics scale 0
unset key
# Figures in the first map only: the page has them all.
do for [level in "memory l2 l1"] {
	set title (level eq "memory" ? "memory" : level eq "l2" ? "second cache" : "first cache")
	plot sprintf("< grep '^%s ' %s", level, data) \
		using 2:3:(0.47):(0.44):($4 > 1 ? 1 : $4) with boxxyerror linecolor palette, \
	     "" using (level eq "memory" ? $2 : NaN):3:(sprintf("%.2f", $4)) with labels font ",8"
}
unset multiplot
