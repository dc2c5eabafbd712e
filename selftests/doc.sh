#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: doc.sh [--write] [ROOT]
#
# Does the documentation fit the tree? The README's program compiles, what the
# pages name is there, their numbers are those of the headers, the pages parse,
# and every license in use has its text. TAP. With --write, only the tables of
# reductions.rst and algorithms.rst are made anew.

write=
[ "${1-}" != --write ] || { write=1; shift; }
root=$(cd "${1:-$(dirname "$0")/..}" && pwd) && cd "$root" || exit 2
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
good=0
bad=0

# result NAME: good if $dir/bad is empty; it says what is wrong
result() {
	if [ -s "$dir/bad" ]; then
		bad=$((bad + 1))
		echo "not ok $((good + bad)) - doc: $1"
		sed 's/^/# /' "$dir/bad"
	else
		good=$((good + 1))
		echo "ok $((good + bad)) - doc: $1"
	fi
	: >"$dir/bad"
}

skip() {
	good=$((good + 1))
	echo "ok $((good + bad)) - doc: $1 # SKIP $2"
}

# generated NAME PAGE: the page with the table NAME ($dir/table) as it should be
generated() {
	awk -v table="$dir/table" -v name="$1" '
	$0 == ".. " name " begin" {
		print
		print ""
		while ((getline line <table) > 0)
			print line
		print ""
		inside = 1
	}
	$0 == ".. " name " end" { inside = 0 }
	!inside' "$2"
}

# Operators and types, from the one table of the code
optable() {
	${CC:-gcc} -std=gnu11 -Wall -Wextra -Werror -Iuapi -Ikmod/pure \
		-o "$dir/optable" tools/optable.c kmod/pure/optable.c || return
	"$dir/optable" >"$dir/table" || return
	generated optable Documentation/reductions.rst
}

# Algorithms, from the registry
algorithms() {
	make -s -C tools >&2 || return
	{
		echo "::"
		echo
		.build/tools/collplan list | sed 's/^\(.\)/	\1/; s/ *$//'
	} >"$dir/table" || return
	generated algorithms Documentation/algorithms.rst
}

if [ "$write" ]; then
	optable >"$dir/page" && cp "$dir/page" Documentation/reductions.rst
	algorithms >"$dir/page" && cp "$dir/page" Documentation/algorithms.rst
	exit
fi

# The files that git would take.
files() {
	git ls-files -co --exclude-standard -- "$@" | while IFS= read -r f; do
		[ ! -f "$f" ] || echo "$f"
	done
}

: >"$dir/bad"
pages=$(files README.md 'Documentation/*.rst')

# --- the README's program -----------------------------------------------------
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' README.md >"$dir/example.c"
diff "$dir/example.c" tools/examples/allreduce.c >"$dir/bad" 2>&1
result "the README's program is tools/examples/allreduce.c"

if make -s -C libcoll_user >"$dir/log" 2>&1; then
	${CC:-gcc} -std=gnu11 -Wall -Wextra -Werror -Ilibcoll_user/include -Iuapi \
		-o "$dir/example" "$dir/example.c" .build/lib/libcoll.a \
		-luring -lcrypto -pthread >"$dir/bad" 2>&1
else
	cp "$dir/log" "$dir/bad"
fi
[ -x "$dir/example" ] || echo "no program" >>"$dir/bad"
result "the README's program compiles"

lines=$(wc -l <"$dir/example.c")
[ "$lines" -le 30 ] || echo "$lines lines" >"$dir/bad"
result "it is a short one"

# --- what the pages name ------------------------------------------------------
# Names as written, up to the last letter; a trailing slash is a directory's.
tops='kmod|uapi|libcoll_user|tools|selftests|Documentation|LICENSES'
for page in $pages; do
	grep -oE "(^|[^A-Za-z0-9_./-])($tops)/[A-Za-z0-9_./-]*[A-Za-z0-9_/]" "$page" |
	sed -E 's/^[^A-Za-z]//' | sort -u | while read -r name; do
		# written by make bench
		[ "$name" != Documentation/performance.rst ] || continue
		# written by make bench-ops
		[ "${name%.*}" != Documentation/reductions-speed ] || continue
		# the kernel's
		[ "$name" != Documentation/fault-injection ] || continue
		[ -e "$name" ] || echo "$page: $name is not there"
	done
done >"$dir/bad"
result "files that the pages name are there"

sed -n 's/^\([a-z][a-z -]*\):.*/\1/p' Makefile tools/install/install.mk | tr ' ' '\n' | sort -u >"$dir/targets"
for page in $pages; do
	grep -oE '(^|[`	])make( (KERNEL|KERNELS|N|V)=[^ ]*)* [a-z][a-z-]*' "$page" |
	sed 's/.* //' | sort -u | while read -r target; do
		grep -qx -e "$target" "$dir/targets" || echo "$page: make $target"
	done
done >"$dir/bad"
[ -s "$dir/targets" ] || echo "no targets found in the makefiles" >>"$dir/bad"
result "make targets that the pages name exist"

# [text](target) and `text <target>`_, but for the web
for page in $pages; do
	{
		grep -oE '\]\([^)]*\)' "$page" | sed 's/^](//; s/)$//'
		grep -oE '<[^ <>]*>`_' "$page" | sed 's/^<//; s/>`_$//'
	} | grep -v -e '^[a-z]*://' -e '^#' | sort -u | while read -r name; do
		[ "${name##*/}" != performance.rst ] || continue
		[ "${name##*/}" != reductions-speed.rst ] || continue
		[ -e "$(dirname "$page")/$name" ] || echo "$page: link to $name"
	done
done >"$dir/bad"
result "links between pages lead somewhere"

for tool in collrun collperf collctl collplan collvm; do
	tools/$tool --help 2>&1 | grep -oE -- '(^|[ ,])--[a-z_-]+' | tr -d ' ,' |
	sort -u | while read -r option; do
		grep -q -e "$option" Documentation/tools.rst ||
			echo "tools.rst lacks $tool $option"
	done
done >"$dir/bad"
result "tools.rst has every option of --help"

# --- numbers ------------------------------------------------------------------
# In abi.rst and wire.rst: "struct NAME, N bytes" and lines "OFFSET SIZE FIELD"
# below it; elsewhere "NUMBER NAME", the name of a constant.
awk '
BEGIN {
	print "#include <stddef.h>"
	print "#include <linux/coll.h>"
	print "#include \"pure/wire.h\""
}
/^[^ \t]/ { s = "" }
/^\tstruct coll_[a-z_]+, [0-9]+ bytes$/ {
	s = substr($2, 1, length($2) - 1)
	printf "_Static_assert(sizeof(struct %s) == %s, \"%s:%d\");\n", s, $3, FILENAME, FNR
	next
}
s != "" && NF == 3 && $1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ {
	printf "_Static_assert(offsetof(struct %s, %s) == %s &&", s, $3, $1
	printf " sizeof(((struct %s *)0)->%s) == %s, \"%s:%d\");\n", s, $3, $2, FILENAME, FNR
	next
}
/^\t/ && $1 ~ /^(0x)?[0-9a-f]+$/ && $2 ~ /^COLL_/ {
	printf "_Static_assert(%s == %s, \"%s:%d\");\n", $2, $1, FILENAME, FNR
}' Documentation/abi.rst Documentation/wire.rst >"$dir/numbers.c"
${CC:-gcc} -std=gnu11 -fsyntax-only -Iuapi -Ikmod "$dir/numbers.c" >"$dir/bad" 2>&1
nr=$(grep -c _Static_assert "$dir/numbers.c")
[ "$nr" -gt 150 ] || echo "only $nr numbers found" >>"$dir/bad"
result "$nr numbers of abi.rst and wire.rst are those of the headers"

optable >"$dir/page" 2>"$dir/bad" && diff Documentation/reductions.rst "$dir/page" >"$dir/bad"
result "the table of reductions.rst is that of kmod/pure/optable.c"

algorithms >"$dir/page" 2>"$dir/bad" && diff Documentation/algorithms.rst "$dir/page" >"$dir/bad"
result "the list of algorithms.rst is that of collplan"

# Every name of the ABI is explained, every environment variable too.
grep -oE '^#define (COLL_IOC_|COLL_FEAT_|COLL_CMD_|COLL_REG_|COLL_JOIN_|COLL_URING_)[A-Z_]+' \
	uapi/linux/coll.h | sed 's/#define //' | grep -v _MAGIC | while read -r name; do
	grep -q "$name" Documentation/abi.rst || echo "abi.rst lacks $name"
done >"$dir/bad"
grep -rhoE --include='*.c' 'module_param(_cb)?\([a-z_]+' kmod | sed 's/.*(//' |
while read -r name; do
	grep -q "^\`\`$name\`\` " Documentation/abi.rst || echo "abi.rst lacks the parameter $name"
done >>"$dir/bad"
grep -rhoE --include='*.c' --include='*.cc' --exclude-dir=tests '"COLL_[A-Z_]+"' libcoll_user |
	tr -d '"' | sort -u | while read -r name; do
	grep -q "^$name " Documentation/library.rst Documentation/mpi.rst ||
		echo "no page has $name"
done >>"$dir/bad"
result "every name of the ABI and the environment is documented"

# --- pages parse --------------------------------------------------------------
if python3 -c 'import docutils' 2>/dev/null; then
	for page in $(files 'Documentation/*.rst'); do
		python3 - "$page" <<-'END'
		import sys
		import docutils.core
		docutils.core.publish_string(open(sys.argv[1], encoding="utf-8").read(),
		    source_path=sys.argv[1], writer_name="null",
		    settings_overrides={"report_level": 1, "halt_level": 5})
		END
	done >"$dir/bad" 2>&1
	result "pages parse"
else
	skip "pages parse" "python3-docutils is not installed"
fi

# --- licenses -----------------------------------------------------------------
files | grep -v '^LICENSES/' | while IFS= read -r f; do
	head -n 5 "$f" | sed -n 's/.*SPDX-License-Identifier:[ \t]*//p' |
	sed 's/\*\/.*//; s/-->.*//; s/[()]/ /g' | head -n 1 | tr -s '[:blank:]' '\n' |
	grep -vxE 'OR|AND|WITH|' | sed "s|\$| $f|"
done | sort -u >"$dir/ids"
cut -d ' ' -f 1 "$dir/ids" | sort -u >"$dir/used"
while read -r id; do
	for text in LICENSES/*/"$id"; do
		[ -s "$text" ] || echo "no text of $id: $(grep -m 1 "^$id " "$dir/ids")"
	done
done <"$dir/used" >"$dir/bad"
[ -s "$dir/used" ] || echo "no licenses found" >>"$dir/bad"
result "every license in use has its text"

for text in LICENSES/*/*; do
	grep -qx -e "${text##*/}" "$dir/used" || echo "$text: nobody uses it"
done >"$dir/bad"
result "every license text is used"

# --- MAINTAINERS --------------------------------------------------------------
files >"$dir/files"
sed -n 's/^F:[ \t]*//p' MAINTAINERS >"$dir/patterns"
while IFS= read -r f; do
	found=
	while IFS= read -r p; do
		case $p in
		*/)	p="$p*" ;;
		esac
		# shellcheck disable=SC2254 # it is a pattern
		case $f in
		$p)	found=1; break ;;
		esac
	done <"$dir/patterns"
	[ "$found" ] || echo "$f has no maintainer"
done <"$dir/files" >"$dir/bad"
while IFS= read -r p; do
	# shellcheck disable=SC2086 # it is a pattern
	ls -d $p >/dev/null 2>&1 || echo "MAINTAINERS: $p matches nothing"
done <"$dir/patterns" >>"$dir/bad"
[ -s "$dir/patterns" ] || echo "MAINTAINERS: no patterns" >>"$dir/bad"
result "every file has a maintainer"

echo "1..$((good + bad))"
echo "doc: $good passed, $bad failed"
[ $bad -eq 0 ]
