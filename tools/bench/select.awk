# SPDX-License-Identifier: GPL-2.0
#
# usage: awk -v kind=text|csv -v limit=RATIO -f select.awk facts.tsv rows.tsv
#
# One line per point: the best algorithm, the chosen one, their times in microseconds,
# the ratio of the medians, and that of the lower quartiles, which other work on the
# machine disturbs less. At last the worst ratio, and whether it is within the limit.

BEGIN { FS = "\t" }

FNR == NR { fact[$1] = $2; next }

$1 == "INIT" { init[$2 "\t" $3] = $4; next }

$1 == "ROW" {
	key = $2 "\t" $3 "\t" $4 "\t" $5
	if (!(key in best)) {
		order[++points] = key
		best[key] = low[key] = 0
	}
	if (!best[key] || $7 < best[key]) {
		best[key] = $7
		name[key] = $6
	}
	if (!low[key] || $8 < low[key])
		low[key] = $8
	if ($10) {
		chosen[key] = $7
		chosen_low[key] = $8
		chosen_name[key] = $6
	}
	if (kind == "csv") {
		if (!header++)
			print "shape,nodes,collective,bytes,algorithm,median_us,quartile_us,runs,chosen"
		print $2 "," $3 "," $4 "," $5 "," $6 "," $7 "," $8 "," $9 "," $10
	}
}

END {
	if (kind == "csv")
		exit
	printf "%s, load %s before and %s after, COLL_SELECT=%s\n", fact["cpu"], fact["load_before"], fact["load_after"], fact["way"]
	for (i = 1; i <= points; i++) {
		split(order[i], f, "\t")
		k = order[i]
		if (f[1] "\t" f[2] != last) {
			last = f[1] "\t" f[2]
			printf "\n%s, %s nodes, coll_init %s ms\n", f[1], f[2], init[last]
			printf "%-10s %10s  %-20s %12s  %-20s %12s %7s %9s\n", "", "bytes", "best", "us", "chosen", "us", "ratio", "quartile"
		}
		ratio = best[k] ? chosen[k] / best[k] : 0
		quartile = low[k] ? chosen_low[k] / low[k] : 0
		printf "%-10s %10s  %-20s %12.1f  %-20s %12.1f %7.2f %9.2f\n", f[3], f[4], name[k], best[k], chosen_name[k], chosen[k], ratio, quartile
		within += ratio <= limit
		low_within += quartile <= limit
		if (ratio > worst) {
			worst = ratio
			where = f[1] ", " f[2] " nodes, " f[3] ", " f[4] " bytes"
		}
	}
	printf "\nwithin %.2f of the best: %d of %d points, by lower quartiles %d\n", limit, within, points, low_within
	printf "worst ratio %.2f (%s), wanted at most %.2f: %s\n", worst, where, limit, points && worst <= limit ? "met" : "missed"
}
