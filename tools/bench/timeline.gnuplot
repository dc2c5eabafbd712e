# SPDX-License-Identifier: GPL-2.0
#
# gnuplot -e "dir='DIRECTORY'; svg='FILE'" DIRECTORY/lanes.gnuplot timeline.gnuplot: the tables of
# timeline_step.py as a picture.

set terminal svg size 900, 700 font "sans,10" background "white"
set output svg
set xlabel "microseconds from the first post of the step"
set title "One training step of tools/examples/mlp.c: 4 ranks, 2 nodes"
set ytics font "sans,8"
set yrange [-1:lanes]
set xrange [0:*]
set grid xtics
set key below
set style fill solid 0.9 noborder

half = 0.38
plot dir."/posted.txt" using (($2 + $3) / 2):1:2:3:($1 - half):($1 + half) \
	with boxxyerror linecolor rgb "#f0c060" title "posted here, not yet by all ranks", \
	dir."/moved.txt" using (($2 + $3) / 2):1:2:3:($1 - half):($1 + half) \
	with boxxyerror linecolor rgb "#4080c0" title "all ranks ready, until its result", \
	dir."/ticks.txt" using 2:1 with points pointtype 7 pointsize 0.4 linecolor rgb "black" \
	title "tick: this rank is ready"
