# SPDX-License-Identifier: GPL-2.0
#
# gnuplot -e "data='FILE'": from report.awk's "setting place ranks who bytes GB/s" a panel
# for each setting, place and number of ranks.

panels = system("awk '!seen[$1,$2,$3]++ { printf \"%s:%s:%s \", $1, $2, $3 }' ".data)
nr = words(panels)
columns = nr < 5 ? nr : 5
rows = (nr + columns - 1) / columns
set terminal svg size 330 * columns, 300 * rows + 40 noenhanced font "sans,11" background "white"
set multiplot layout rows, columns title "Allreduce of f32, sum: GB/s of the vector, by its size" font ",14"
set logscale x 2
set logscale y 10
set format x ""
set xtics ("8" 8, "4K" 4096, "64K" 65536, "1M" 1048576, "16M" 16777216)
set format y "%g"
set grid
set key bottom right font ",8"
names = "coll-registered coll-ioctl openmpi mpich gloo limit"
titles = "coll unregistered Open_MPI MPICH Gloo limit"
do for [p in panels] {
	set title sprintf("%s", p)
	plot for [w = 1:words(names)] \
		sprintf("< awk -v p='%s' -v w='%s' '$1 \":\" $2 \":\" $3 == p && $4 == w' %s; echo nan nan nan nan nan nan", \
			p, word(names, w), data) \
		using 5:6 with linespoints pt 7 ps 0.4 lw (w == 1 ? 2 : 1) \
		title word(titles, w)
}
unset multiplot
