# SPDX-License-Identifier: GPL-2.0
#
# gnuplot -e "dir='DIRECTORY'": from its k-means.txt and logistic-regression.txt, "step
# criterion" each, a chart of both as text on stdout, and convergence.png in the same place.

set xlabel "iteration"
set xrange [0.5:*]
unset key
kmeans = dir."/k-means.txt"
logistic = dir."/logistic-regression.txt"

set terminal dumb size 79, 20
set title "k-means: farthest way of a centroid"
plot kmeans using 1:2 with linespoints pointtype "*"
set title "logistic regression: loss"
plot logistic using 1:2 with linespoints pointtype "*"

set terminal pngcairo size 900, 400
set output dir."/convergence.png"
set multiplot layout 1, 2
set title "k-means: farthest way of a centroid"
plot kmeans using 1:2 with linespoints pointtype 7 linewidth 2
set title "logistic regression: loss"
plot logistic using 1:2 with linespoints pointtype 7 linewidth 2
unset multiplot
