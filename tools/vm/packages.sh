# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared by the parts
# Host packages, by name.

packages_of()
{
	echo bash procps kmod iproute2 busybox-static make gcc libc6-dev util-linux rsync
	case $1 in
	uml*)
		echo xz-utils patch flex bison bc libelf-dev libssl-dev perl-base cpio ;;
	kcsan)
		echo xz-utils patch flex bison bc libelf-dev libssl-dev perl-base cpio gzip \
			qemu-system-x86 ;;
	debian-*)
		echo qemu-system-x86 cpio gzip xz-utils libelf-dev pahole ;;
	esac
}

# need_packages KERNEL: installs what is missing, or says how to
need_packages()
{
	local missing=() p
	local opts=(-y --no-install-recommends -o DPkg::Lock::Timeout=300)

	for p in $(packages_of "$1"); do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] ||
			missing+=("$p")
	done
	((${#missing[@]})) || return 0
	if ((EUID)); then
		say "please run: apt-get install --no-install-recommends ${missing[*]}"
		return 1
	fi
	say "installing ${missing[*]}"
	with_lock packages apt_install "${opts[@]}" "${missing[@]}"
}

apt_install()
{
	local log=$cache/log/packages.log

	export DEBIAN_FRONTEND=noninteractive
	apt-get install "$@" </dev/null >"$log" 2>&1 && return 0
	apt-get update </dev/null >>"$log" 2>&1
	apt-get install "$@" </dev/null >>"$log" 2>&1 && return 0
	tail -n 20 "$log" >&2
	say "apt-get install failed, see $log"
	return 1
}

# Prints "URI KEYRING" for the first of this machine's apt sources that offers
# component main of suite $1: the sources are read, not apt's lists, which may
# be empty.
apt_mirror()
{
	local f etc

	etc=$(apt-config shell d Dir::Etc/d) && eval "$etc"
	for f in "${d:=/etc/apt/}"sources.list "$d"sources.list.d/*.{list,sources}; do
		[[ -f $f ]] && { cat "$f"; echo; }
	done | awk -v suite="$1" '
	function flush() {
		if (uri != "" && index(" " suites " ", " " suite " ") && comps ~ /(^| )main( |$)/)
			found(uri, key)
		uri = suites = comps = key = ""
	}
	function found(u, k) { print u, k; done = 1; exit }
	/^#/ { next }
	/^[ \t]*$/ { flush(); next }
	/^deb[ \t]/ {
		k = ""
		if (match($0, /\[[^]]*\]/)) {
			opts = substr($0, RSTART, RLENGTH)
			if (match(opts, /signed-by=[^] ]*/))
				k = substr(opts, RSTART + 10, RLENGTH - 10)
			sub(/\[[^]]*\]/, "")
			$0 = $0
		}
		if ($3 == suite && $0 ~ / main( |$)/)
			found($2, k)
		next
	}
	{ name = tolower($1); val = $0; sub(/^[^ ]*[ \t]*/, "", val) }
	name == "uris:" { split(val, a, " "); uri = a[1] }
	name == "suites:" { suites = val }
	name == "components:" { comps = val }
	name == "signed-by:" { key = val }
	END { if (!done) flush() }'
}

# apt_private DIR SUITE...: sets up apt lists of our own in DIR, so that the
# machine's stay as they are.  A suite that this machine's sources do not name
# is looked for where they have their own release.  With $apt_kind=deb-src they
# are lists of source packages.
apt_private()
{
	local dir=$1 code uri key suite

	shift
	# shellcheck disable=SC1091  # not part of the tree
	code=$(. /etc/os-release && echo "$VERSION_CODENAME")
	mkdir -p "$dir"/{state/lists,cache/archives}/partial || return
	for suite in "$@"; do
		read -r uri key < <(apt_mirror "$suite")
		[[ ${uri-} || $suite != *-security ]] ||
			read -r uri key < <(apt_mirror "$code-security")
		[[ ${uri-} ]] || read -r uri key < <(apt_mirror "$code")
		[[ ${uri-} ]] || { say "no apt source offers $code main"; return 1; }
		echo "${apt_kind:-deb} ${key:+[signed-by=$key] }$uri $suite main"
	done >"$dir/sources.list"
	cat >"$dir/apt.conf" <<-END
	Dir::State "$dir/state";
	Dir::State::status "/var/lib/dpkg/status";
	Dir::Cache "$dir/cache";
	Dir::Etc::sourcelist "$dir/sources.list";
	Dir::Etc::sourceparts "-";
	Acquire::Languages "none";
	Acquire::Retries "3";
	APT::Sandbox::User "root";
	END
	# One suite may be out of reach, or gone, and another have the package.
	APT_CONFIG=$dir/apt.conf apt-get -q update >"$dir/log" 2>&1 || tail -n 5 "$dir/log" >&2
}

# apt_newest DIR REGEX: the package with the highest version in its name
apt_newest()
{
	APT_CONFIG=$1/apt.conf apt-cache search --names-only "$2" |
		cut -d ' ' -f 1 | sort -V | tail -n 1
}

# apt_unpack DIR TARGET PACKAGE...: downloads and unpacks, installs nothing
apt_unpack()
{
	local dir=$1 target=$2 deb

	shift 2
	mkdir -p "$dir/debs" "$target" || return
	if ! (cd "$dir/debs" &&
	      APT_CONFIG=$dir/apt.conf apt-get -q download "$@" >"$dir/log" 2>&1); then
		tail -n 5 "$dir/log" >&2
		return 1
	fi
	for deb in "$dir"/debs/*.deb; do
		dpkg-deb -x "$deb" "$target" && rm "$deb" || return
	done
}
