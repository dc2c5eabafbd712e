# SPDX-License-Identifier: GPL-2.0
#
# usage: awk -v kind=text|csv -v limit=RATIO -f select.awk facts.tsv rows.tsv
#
# One line per point: the one that came out best of the field, the chosen one, their times
# in microseconds, their ratio, in how many pairs of runs or how else it was found, and
# by how much algorithms with one and the same schedule came out differently in the field. At
# last the worst ratio, and whether it is within the limit. csv: the field.

BEGIN { FS = "\t" }

FNR == NR { fact[$1] = $2; next }

$1 == "INIT" { init[$2 "\t" $3] = $4; next }

{ key = $2 "\t" $3 "\t" $4 "\t" $5 }

$1 == "ROW" && kind == "csv" {
	if (!header++)
		print "shape,nodes,collective,bytes,algorithm,median_us,quartile_us,runs,chosen"
	print $2 "," $3 "," $4 "," $5 "," $6 "," $7 "," $8 "," $9 "," $10
}

$1 == "ROW" { tried[key]++ }

$1 == "NOISE" {
	noise[key] = $6
	noises[++nr_noises] = $6 + 0
}

$1 == "DUEL" {
	order[++points] = key
	best[key] = $6
	best_us[key] = $7
	chosen[key] = $8
	chosen_us[key] = $9
	pairs[key] = $10
	how[key] = $11
}

END {
	if (kind == "csv")
		exit
	printf "%s, load %s before and %s after, COLL_SELECT=%s\n", fact["cpu"], fact["load_before"], fact["load_after"], fact["way"]
	for (i = 1; i <= points; i++) {
		k = order[i]
		split(k, f, "\t")
		if (f[1] "\t" f[2] != last) {
			last = f[1] "\t" f[2]
			printf "\n%s, %s nodes, coll_init %s ms\n", f[1], f[2], init[last]
			printf "%-10s %9s %6s  %-20s %11s  %-20s %11s %6s %8s %6s\n", "", "bytes", "timed", "best of the field", "us", "chosen", "us", "ratio", "pairs", "noise"
		}
		ratio = best_us[k] > 0 ? chosen_us[k] / best_us[k] : 0
		printf "%-10s %9s %6d  %-20s %11.1f  %-20s %11.1f %6.2f %8s %6s\n", f[3], f[4], tried[k], best[k], best_us[k], chosen[k], chosen_us[k], ratio, how[k] == "duel" ? pairs[k] : how[k], k in noise ? sprintf("%.2f", noise[k]) : ""
		within += ratio <= limit
		duels += how[k] == "duel"
		if (ratio > worst) {
			worst = ratio
			where = f[1] ", " f[2] " nodes, " f[3] ", " f[4] " bytes"
		}
	}
	for (i = 2; i <= nr_noises; i++)
		for (j = i; j > 1 && noises[j - 1] > noises[j]; j--) {
			swap = noises[j]
			noises[j] = noises[j - 1]
			noises[j - 1] = swap
		}
	if (nr_noises)
		printf "\none schedule with several names, in the field: median ratio %.2f, largest %.2f (%d points)\n", noises[int((nr_noises + 1) / 2)], noises[nr_noises], nr_noises
	printf "\nwithin %.2f of the best: %d of %d points, %d of them decided by a duel\n", limit, within, points, duels
	printf "worst ratio %.2f (%s), wanted at most %.2f: %s\n", worst, where, limit, points && worst <= limit ? "met" : "missed"
}
