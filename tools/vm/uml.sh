# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared by the parts
# User-mode Linux: built here from the distribution's newest kernel source.

UML_SUITES=(forky sid)
UML_SOURCE=linux-source-7.2		# or, where that is gone, a later one
UML_OBJECTS=1500			# compiled for uml, about; for the progress display

# The parts of uml_make use its $kernel, too
uml_make()
{
	local kernel=$1 work=$2 fragments=("$vmlib/uml.config")

	[[ $kernel == uml-debug ]] && fragments+=("$vmlib/uml-debug.config")
	uml_source "$work" uml_unneeded &&
	uml_configure "$work" "${fragments[@]}" &&
	uml_compile "$work" &&
	uml_prune "$work"
}

# uml_unneeded: patterns of what is not unpacked, two thirds of all files: uml_prune
# would delete it unread. Code goes, but not Kconfig and Makefiles, which are read
# even for what is switched off.
uml_unneeded()
{
	printf '%s\n' 'Documentation/*/*' 'rust/*.rs' 'samples/*.[ch]' 'sound/*.[ch]' \
		tools/{bpf,net,perf,power,tracing}'/*' \
		arch/{alpha,arc,arm,arm64,csky,hexagon,loongarch,m68k,microblaze}/{'*.[chS]','boot/*'} \
		arch/{mips,nios2,openrisc,parisc,powerpc,riscv,s390,sh,sparc,xtensa}/{'*.[chS]','boot/*'} \
		drivers/{accel,ata,clk,comedi,crypto,gpu,hid,hwmon,iio,infiniband,input}'/*.[ch]' \
		drivers/{media,mfd,mmc,mtd,phy,pinctrl,platform,regulator,rtc,scsi}'/*.[ch]' \
		drivers/{soc,spi,staging,thermal,usb,video}'/*.[ch]' \
		drivers/net/{can,dsa,ethernet,phy,wireless}'/*.[ch]' \
		fs/{afs,btrfs,ceph,ext4,f2fs,gfs2,jffs2,jfs,nfs,nfsd,nilfs2,ntfs,ntfs3}'/*.[ch]' \
		fs/{ocfs2,smb,ubifs,xfs}'/*.[ch]' \
		net/{batman-adv,bluetooth,mac80211,rxrpc,sctp,sunrpc,tipc,wireless}'/*.c' \
		tools/testing/selftests/{arm64,bpf,drivers,ftrace,kvm,mm,powerpc}'/*' \
		tools/testing/selftests/{rcutorture,tc-testing}'/*'
}

# uml_source WORK UNNEEDED: leaves the source in WORK/kdir, without what UNNEEDED prints
uml_source()
{
	local work=$1 unneeded=$2 pkg tar

	progress "reading the package lists of ${UML_SUITES[*]}" step
	apt_private "$work/apt" "${UML_SUITES[@]}" || return
	pkg=$(apt_newest "$work/apt" "^$UML_SOURCE\$")
	[[ $pkg ]] || pkg=$(apt_newest "$work/apt" '^linux-source-[0-9]+\.[0-9]+$')
	[[ $pkg ]] || { say "no linux-source in ${UML_SUITES[*]}"; return 1; }
	[[ $(printf '%s\n' "$UML_SOURCE" "$pkg" | sort -V | head -n 1) == "$UML_SOURCE" ]] ||
		{ say "$pkg is too old, need $UML_SOURCE"; return 1; }
	progress "downloading $pkg (160 MB)" step
	apt_unpack "$work/apt" "$work/deb" "$pkg" || return
	progress "unpacking $pkg" step
	tar=$work/deb/usr/src/$pkg.tar.xz
	tar -C "$work" -xf "$tar" --anchored --wildcards --wildcards-match-slash \
		--exclude-from=<("$unneeded" | sed "s|^|$pkg/|") || return
	mv "$work/$pkg" "$work/kdir" || return
	rm -rf "$work/apt" "$work/deb"
}

# uml_configure WORK FRAGMENT...
uml_configure()
{
	local work=$1 kdir=$1/kdir log=$cache/log/$kernel-build.log

	shift
	progress "configuring" step
	# The hidden symbols nothing in user-mode Linux selects, though they work.
	sed -i 's/^\tselect MMU_GATHER_RCU_TABLE_FREE$/&\n\tselect MMU_NOTIFIER\n\tselect VHOST_TASK/' \
		"$kdir/arch/um/Kconfig" || return
	# kmemleak passes over what is younger than 5 s: too long for short tests.
	sed -i 's/^#define MSECS_MIN_AGE.*/#define MSECS_MIN_AGE 250/' \
		"$kdir/mm/kmemleak.c" || return
	patch -s -d "$kdir" -p1 -N -r - <"$vmlib/uml.patch" >"$log" 2>&1 ||
		say "uml.patch does not fit this source, going on without it: see $log"
	cat "$@" >"$work/fragment"
	make -s -C "$kdir" ARCH=um KCONFIG_ALLCONFIG="$work/fragment" \
		alldefconfig >>"$log" 2>&1 || { tail "$log" >&2; return 1; }
	config_lost "$work/fragment" "$kdir/.config" || return
	rm "$work/fragment"
}

# config_lost FRAGMENT CONFIG: fails, naming them, where wishes were not granted
config_lost()
{
	local lost

	lost=$(awk '
	function name(s) { sub(/^# /, "", s); sub(/[ =].*/, "", s); return s }
	/^CONFIG_[A-Za-z0-9_]+=n$/ { $0 = "# " name($0) " is not set" }
	!/^CONFIG_[A-Za-z0-9_]+=/ && !/^# CONFIG_[A-Za-z0-9_]+ is not set$/ { next }
	NR == FNR { want[name($0)] = $0; next }
	{ have[name($0)] = $0 }
	END {
		for (k in want)
			if (k in have ? have[k] != want[k] : want[k] !~ /^#/)
				print want[k]
	}' "$1" "$2")
	[[ $lost ]] || return 0
	say "these settings did not survive configuration:"
	printf '%s\n' "$lost" >&2
	return 1
}

uml_compile()
{
	compile_source "$1" "$UML_OBJECTS" ARCH=um
}

# compile_source WORK OBJECTS ARGS...: runs make with ARGS in WORK/kdir
compile_source()
{
	local work=$1 objects=$2 log=$cache/log/$kernel-build.log n=0 jobs what line

	shift 2
	jobs=$(nproc)
	((jobs <= 2)) || jobs=$((jobs - 1))
	while read -r what line; do
		case $what in
		CC|AS|LD|AR|HOSTCC)
			((++n % 5)) || progress "compiling, $n objects of about $objects" ;;
		esac
	done < <(nice make -C "$work/kdir" -j"$jobs" "$@" 2>&1 | tee "$log"
		 echo "${PIPESTATUS[0]}" >"$work/status")
	[[ $(cat "$work/status") == 0 ]] || { progress_end; tail -n 30 "$log" >&2; return 1; }
	rm "$work/status"
	progress "compiled $n objects" step
}

# Remove all but the kernel, the files for building modules, and those for kselftests
uml_prune()
{
	local kdir=$1/kdir

	mv "$kdir/linux" "$1/linux" || return
	make -s -C "$kdir" ARCH=um kernelrelease >"$1/version" || return
	(
		cd "$kdir" || exit
		find tools -mindepth 1 -maxdepth 1 ! -name testing ! -name include ! -name build \
			! -name arch -exec rm -rf {} + &&
		find tools/testing -mindepth 1 -maxdepth 1 ! -name selftests -exec rm -rf {} + &&
		find tools/testing/selftests -mindepth 1 -maxdepth 1 -type d \
			! -name kselftest ! -name lib ! -name kselftest_harness ! -name net \
			-exec rm -rf {} + &&
		find arch tools/arch -mindepth 1 -maxdepth 1 ! -name um ! -name x86 -exec rm -rf {} + &&
		find . -path ./scripts -prune -o -path ./tools -prune -o -type f \
			! -name '*.h' ! -name 'Makefile*' ! -name 'Kbuild*' ! -name 'Kconfig*' \
			! -path './include/*' ! -name .config ! -name Module.symvers \
			! -path ./arch/um/kernel/asm-offsets.s \
			! -name '*.lds' ! -name module-common.o -exec rm -f {} + &&
		rm -rf Documentation drivers samples sound fs security crypto block rust/*.o .pc &&
		find . -type d -empty ! -path '*/generated/*' -delete
	)
}

# uml_memory_dir MEGABYTES: where the guest's memory can be a file: it is mapped
# executable, and is best kept off the disk
uml_memory_dir()
{
	local d free

	for d in /dev/shm "${TMPDIR:-/tmp}" "$cache/run"; do
		[[ -d $d && -w $d ]] || continue
		[[ ,$(findmnt -n -o OPTIONS -T "$d"), == *,noexec,* ]] && continue
		free=$(df -Pm "$d" | awk 'NR == 2 { print $4 }')
		((free > $1)) && { echo "$d"; return 0; }
	done
	return 1
}

# uml_command KERNEL RUN CPUS MEGABYTES: sets vm_cmd and vm_env; what CMD prints
# comes out on descriptor 4
uml_command()
{
	local kernel=$1 run=$2 cpus=$3 mem=$4 dir

	dir=$(uml_memory_dir "$mem") || die 98 "no place for $mem MB of guest memory"
	vm_env=(TMPDIR="$dir")
	vm_cmd=("$(kernel_dir "$kernel")/linux" mem="${mem}M" seccomp=on
		rootfstype=hostfs rootflags=/ ro init="$run/guest-init"
		con=null "con0=null,fd:1" ssl=null "ssl0=null,fd:4"
		uml_dir="$run/" collvm_stage=1 collvm_run="$run" panic=-1 oops=panic
		stack_depot_disable=off)
	((cpus == 1)) || vm_cmd+=(ncpus="$cpus")
	[[ ! $bind ]] || vm_cmd+=(bindcpus)
}
