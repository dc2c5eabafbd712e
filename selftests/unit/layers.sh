#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# layers.sh [root]: does the tree keep the house rules of the design?
#
# - which directory may include which, in kmod/ and among the rooms of kmod/core/;
# - kernel-version tests stand in kmod/compat.h only;
# - a header declares the functions of its own file, and files do not call each other in a
#   circle (files.py);
# - every file says its license (SPDX) in its first lines;
# - nothing stands at the top level that has no place there.
#
# One line for each offence; status 1 if there is any.

here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$here/../..}
cd "$root" || exit 2
bad=0

offence() {
	echo "$*" >&2
	bad=1
}

# --- includes -----------------------------------------------------------------
#
# "x.h" is looked for beside the file, then from kmod/, then from the top. A kernel
# header in <> is below all layers, except that pure and simd may not include it.
# shellcheck disable=SC2016 # the $ are awk's
includes=$(find kmod -name '*.[ch]' -type f 2>/dev/null | sort | xargs -r awk '
function exists(path,    line, r)
{
	r = (getline line < path)
	close(path)
	return r >= 0
}

# a/b/../c -> a/c
function normal(path,    part, n, i, out, top)
{
	n = split(path, part, "/")
	top = 0
	for (i = 1; i <= n; i++) {
		if (part[i] == "" || part[i] == ".")
			continue
		if (part[i] == ".." && top)
			top--
		else
			out[++top] = part[i]
	}
	path = ""
	for (i = 1; i <= top; i++)
		path = path (i > 1 ? "/" : "") out[i]
	return path
}

function resolve(from, name,    dir, p)
{
	dir = from
	sub(/[^\/]*$/, "", dir)
	p = normal(dir name)
	if (!exists(p) && exists("kmod/" name))
		return normal("kmod/" name)
	if (!exists(p) && exists(name))
		return normal(name)
	return p
}

# The layer of a file: its directory below kmod, core by rooms; or the file itself.
function layer(path)
{
	if (path ~ /^uapi\//)
		return "uapi"
	if (path == "kmod/compat.h" || path == "kmod/main.c")
		return substr(path, 6)
	if (path ~ /^kmod\/core\/[^\/]+\//) {
		sub(/^kmod\//, "", path)
		sub(/\/[^\/]*$/, "", path)
		return path
	}
	if (path ~ /^kmod\/[^\/]+\//) {
		sub(/^kmod\//, "", path)
		sub(/\/.*/, "", path)
		return path
	}
	return path
}

BEGIN {
	may["pure"] = " uapi pure "
	may["simd"] = " uapi pure simd "
	# rooms of core, from below: each may include those before it
	nr = split("core core/mem core/group core/exec core/plan core/p2p core/op core/tensor", room, " ")
	below = " uapi pure simd compat.h "
	for (i = 1; i <= nr; i++) {
		below = below room[i] " "
		may[room[i]] = below
	}
	may["xport"] = below "xport "
	sub(/ uapi pure simd /, " pure ", may["xport"])
	may["front"] = below "front "
	sub(/ pure simd /, " ", may["front"])
	may["main.c"] = below "xport front "
	sub(/ uapi pure simd /, " ", may["main.c"])
	may["compat.h"] = " "
}

/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
	from = layer(FILENAME)
	system_header = /include[ \t]*</
	name = $0
	sub(/^[^<"]*[<"]/, "", name)
	sub(/[>"].*/, "", name)
	where = FILENAME ":" FNR ": "

	if (!(from in may)) {
		print where "a file outside the layers"
		next
	}
	if (system_header && name ~ /^linux\/coll(_nl)?\.h$/) {
		to = "uapi"
	} else if (system_header) {
		if ((from == "pure" || from == "simd") && FILENAME != "kmod/pure/env.h")
			print where "<" name "> in " from ", which has pure/env.h only"
		next
	} else {
		path = resolve(FILENAME, name)
		to = layer(path)
		if (to == "simd" && from ~ /^core/ && path != "kmod/simd/simd.h") {
			print where "core knows simd by simd.h only, not " path
			next
		}
	}
	if (index(may[from], " " to " ") == 0)
		print where from " must not include " to " (" name ")"
}
')
[ -z "$includes" ] || offence "$includes"

# --- files --------------------------------------------------------------------
python3 "$here/files.py" || bad=1

# --- kernel versions ----------------------------------------------------------
versions=$(grep -rnE 'LINUX_VERSION_CODE|KERNEL_VERSION|linux/version\.h' \
	   --include='*.[chS]' --include='Kbuild*' kmod Kbuild 2>/dev/null |
	   grep -v '^kmod/compat\.h:')
[ -z "$versions" ] || offence "$versions: kernel versions are the business of kmod/compat.h"

# --- licenses -----------------------------------------------------------------
# Files that git would take; in a tree without git, all but build results.
files() {
	if [ -e .git ]; then
		git ls-files -co --exclude-standard
	else
		find . -type f ! -path './.build/*' ! -name '*.o' ! -name '*.ko' |
			sed 's|^\./||'
	fi
}

list=$(mktemp) || exit 2
trap 'rm -f "$list"' EXIT
files | grep -vE '^LICENSES/|\.(png|svg|jpg|csv)$' >"$list"
while IFS= read -r f; do
	[ -s "$f" ] || continue
	head -n 5 "$f" | grep -q 'SPDX-License-Identifier: ' ||
		offence "$f: no SPDX line among the first five"
done <"$list"

# --- top level ----------------------------------------------------------------
known="kmod uapi libcoll_user tools selftests Documentation Kbuild Makefile
README.md MAINTAINERS LICENSES .ci"

for f in $known; do
	[ -e "$f" ] || echo "warning: $f is not there yet" >&2
done
# shellcheck disable=SC2013 # names at the top level have no blanks
for f in $(sed 's|/.*||' "$list" | grep -v '^\.' | sort -u); do
	echo "$known" | tr ' ' '\n' | grep -qx "$f" ||
		offence "$f: no such thing at the top level"
done

[ $bad -eq 0 ] && echo "layers: ok"
exit $bad
