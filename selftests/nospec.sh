#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: nospec.sh [ROOT]: is every number that a user or a peer gives held in bounds for
# speculation, too, before it is an index?
#
# - What is indexed with a member of a struct that came from outside is in a function that
#   puts this member through array_index_nospec().
# - Members that are indices far from where they came in have been put through it there.
#
# One line for each offence; status 1 if there is any.

root=${1:-$(dirname "$0")/..}
cd "$root" || exit 2
bad=0

offence() {
	echo "$*" >&2
	bad=1
}

# Members of structs from outside, that are used as indices
members='collective|op|dtype|recv_dtype|root|rank|node|source|dest|peer|parent_peer|stripe|send_buf|recv_buf|id'
# Fields of objects that were put in bounds when the object was made
kept='op->cmd\.collective|(s|msg|lead)->note\.(source|dest)|n->node|n->source|p->root|m->rank'

# shellcheck disable=SC2016 # the $ are awk's
found=$(find kmod/front kmod/core kmod/xport -name '*.c' | sort | xargs awk \
	-v members="$members" -v kept="$kept" '
function judge(    i, rest, expr, field)
{
	for (i = 1; i <= n; i++) {
		rest = line[i]
		while (match(rest, "\\[[^][]*(->|\\.)(" members ")\\]")) {
			expr = substr(rest, RSTART + 1, RLENGTH - 2)
			rest = substr(rest, RSTART + RLENGTH)
			field = expr
			sub(/.*(->|\.)/, "", field)
			if (expr ~ "^(" kept ")$")
				continue
			if (body !~ "array_index_nospec\\([^,]*" field ",")
				print FILENAME ":" at[i] ": [" expr "] without array_index_nospec()"
		}
	}
	n = 0
	body = ""
}
FNR == 1 { n = 0; body = "" }
{ line[++n] = $0; at[n] = FNR; body = body $0 "\n" }
/^}/ { judge() }' 2>&1)
[ -z "$found" ] || offence "$found"

# inbounds FILE MEMBER: FILE takes it from outside
inbounds() {
	grep -qE "array_index_nospec\\(([a-z>.-]*(->|\\.)|\\*?)$2," "$1" ||
		offence "$1: $2 is not put through array_index_nospec()"
}

inbounds kmod/front/decode.c collective
inbounds kmod/front/decode.c op
inbounds kmod/front/decode.c dtype
inbounds kmod/front/decode.c root
inbounds kmod/front/message.c rank
inbounds kmod/front/message.c dtype
inbounds kmod/front/message.c recv_dtype
inbounds kmod/core/group/member.c id
inbounds kmod/core/group/link.c peer
inbounds kmod/core/group/link.c stripe
inbounds kmod/core/group/link.c parent_peer
inbounds kmod/core/plan/select.c collective

exit $bad
