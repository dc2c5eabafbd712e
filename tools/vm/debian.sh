# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared by the parts
# Stock Debian kernels, in QEMU.  The packages are unpacked in the cache, never
# installed: the machine's own boot menu and modules stay as they are.

DEBIAN_RECIPE=2			# as COLLVM_RECIPE, of these alone
DEBIAN_SUITES=(bookworm bookworm-updates bookworm-security)

# Loaded by the initramfs, with what they depend on.  The generic kernel is
# taken, the cloud one has no 9p.
BOOT_MODULES=(virtio_pci 9pnet_virtio 9p overlay virtio_console)

debian_pattern()
{
	case $1 in
	debian-6.1)	echo '^linux-image-6\.1\.0-[0-9]+-amd64$' ;;
	debian-6.1-rt)	echo '^linux-image-6\.1\.0-[0-9]+-rt-amd64$' ;;
	debian-6.12)	echo '^linux-image-6\.12\.[0-9]+\+deb12-amd64$' ;;
	esac
}

# debian_common VERSION: of the package with the headers that all CPUs share
debian_common()
{
	case $1 in
	*-rt-amd64)	echo "${1%-rt-amd64}-common-rt" ;;
	*)		echo "${1%-amd64}-common" ;;
	esac
}

debian_make()
{
	local kernel=$1 work=$2 image version common kbuild

	progress "reading the package lists of ${DEBIAN_SUITES[*]}" step
	apt_private "$work/apt" "${DEBIAN_SUITES[@]}" || return
	image=$(apt_newest "$work/apt" "$(debian_pattern "$kernel")")
	[[ $image ]] || { say "no package for $kernel in ${DEBIAN_SUITES[*]}"; return 1; }
	version=${image#linux-image-}
	common=$(debian_common "$version")
	kbuild=linux-kbuild-6.1
	[[ $kernel == debian-6.1 || $kernel == debian-6.1-rt ]] || kbuild=linux-kbuild-${version%-amd64}
	progress "downloading $image (100 MB) and headers" step
	apt_unpack "$work/apt" "$work/root" \
		"$image" "linux-headers-$version" "linux-headers-$common" "$kbuild" || return
	rm -rf "$work/apt"
	progress "unpacked, trimming" step
	debian_headers "$work/root" "$version" "$(kernel_dir "$kernel")" &&
	debian_trim "$work/root" "$version" &&
	mv "$work/root/boot/vmlinuz-$version" "$work/vmlinuz" &&
	mv "$work/root/boot/config-$version" "$work/config" &&
	rm -rf "$work"/root/{boot,usr/share} &&
	debian_initramfs "$work" "$version" &&
	echo "$version" >"$work/version"
}

# debian_headers ROOT VERSION DIR: the headers name the place they would have
# been installed to; DIR/root is where they will be instead
debian_headers()
{
	sed -i "s|/usr/src/|$3/root/usr/src/|" "$1/usr/src/linux-headers-$2/Makefile"
}

# Drivers for hardware the guest does not have, and the list of what is left
debian_trim()
{
	local mod=$1/lib/modules/$2

	(
		cd "$mod/kernel" || exit
		rm -rf sound drivers/{gpu,media,staging,infiniband,scsi,usb,iio,hwmon,mfd,isdn} \
			drivers/{ata,platform,input,hid,leds,mtd,nvme,power,regulator,thermal} \
			drivers/{pinctrl,edac,watchdog,comedi,bluetooth,soundwire,video,cpufreq} \
			drivers/net/{wireless,usb,wwan,can,phy} net/{wireless,mac80211,bluetooth}
		# the card of several VMs, see net.sh
		find drivers/net/ethernet -name '*.ko*' ! -path '*/e1000/*' -delete
	) || return
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$1" "$2"
}

debian_modules()
{
	local dir

	dir=$(kernel_dir "$1")
	echo "$dir/root/lib/modules/$(cat "$dir/version")"
}

# initramfs_tree DIR: the first process and its tools; the caller adds to DIR/modules
initramfs_tree()
{
	mkdir -p "$1"/{bin,dev,lower,modules,root,top} || return
	cp "$(command -v busybox || echo /bin/busybox)" "$1/bin/busybox" || return
	ln -s busybox "$1/bin/sh"
	: >"$1/modules/order"
	install -m 755 "$vmlib/initramfs-init" "$1/init"
}

# initramfs_pack DIR FILE
initramfs_pack()
{
	(cd "$1" && find . | cpio -o -H newc --quiet -R 0:0) >"$2" || return
	rm -rf "$1"
}

debian_initramfs()
{
	local work=$1 version=$2 fs=$1/initramfs m file

	initramfs_tree "$fs" || return
	for m in "${BOOT_MODULES[@]}"; do
		PATH=$PATH:/sbin:/usr/sbin modprobe -d "$work/root" -S "$version" --show-depends "$m"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
	while read -r file; do
		m=$(basename "${file%.xz}")
		case $file in
		*.xz)	xz -dc "$file" >"$fs/modules/$m" ;;
		*)	cp "$file" "$fs/modules/$m" ;;
		esac || exit
		echo "$m" >>"$fs/modules/order"
	done || return
	initramfs_pack "$fs" "$work/initrd"
}

# kvm_works KERNEL: probes, once after each start of this machine, whether a stock kernel
# boots with KVM here: /dev/kvm may be there and yet not be up to it.
kvm_works()
{
	local dir result console

	[[ -w /dev/kvm ]] || return 1
	dir=$(kernel_dir "$1")
	result=$cache/kvm-$(cut -c1-8 /proc/sys/kernel/random/boot_id)
	if [[ ! -f $result ]]; then
		say "trying whether a stock kernel boots with KVM here"
		console=$(timeout -s KILL 20 qemu-system-x86_64 -enable-kvm -cpu host -m 256 \
			-display none -no-reboot -nodefaults -serial stdio -kernel "$dir/vmlinuz" \
			-append "console=ttyS0 panic=-1" </dev/null 2>/dev/null)
		# without a root file system it gets as far as saying so
		if [[ $console == *"Unable to mount root fs"* ]]; then
			echo yes
		else
			echo no
		fi >"$result.$$"
		mv "$result.$$" "$result"
	fi
	[[ $(cat "$result") == yes ]]
}

# is_emulated KERNEL: only the emulator counts instructions
is_emulated()
{
	[[ $count ]] || ! kvm_works "$1"
}

# qemu_share TAG DIRECTORY OPTIONS: sets vm_cmd's next words
qemu_share()
{
	vm_cmd+=(-virtfs "local,path=${2//,/,,},mount_tag=$1,security_model=none,multidevs=remap$3")
}

# qemu_numa CPUS MEGABYTES: $numa nodes, each with its share; sets vm_cmd's next words
qemu_numa()
{
	local n begin end

	for ((n = 0; n < numa; n++)); do
		((begin = $1 * n / numa, end = $1 * (n + 1) / numa - 1))
		vm_cmd+=(-object "memory-backend-ram,id=mem$n,size=$(($2 * (n + 1) / numa - $2 * n / numa))M"
			-numa "node,nodeid=$n,cpus=$begin-$end,memdev=mem$n")
	done
}

# qemu_count RUN: $count is a file for the plugin that counts; sets vm_cmd's next words
qemu_count()
{
	local so=$1/count.so

	"${CC:-cc}" -O2 -Wall -Wextra -fPIC -shared -fvisibility=hidden -o "$so" \
		"$vmlib/count.c" || die 2 "--count: the plugin cannot be built"
	vm_cmd+=(-plugin "file=$so,out=$count")
}

# qemu_command KERNEL RUN CPUS MEGABYTES: as uml_command; uses $numa and $count
qemu_command()
{
	local kernel=$1 run=$2 cpus=$3 mem=$4 dir args

	dir=$(kernel_dir "$kernel")
	args="console=ttyS0 loglevel=5 mitigations=off audit=0 selinux=0 apparmor=0"
	args+=" random.trust_cpu=on tsc=reliable no_timer_check panic=-1 oops=panic"
	args+=" nokaslr watchdog_thresh=60 rcupdate.rcu_expedited=1 collvm_run=$run"
	vm_env=(LC_ALL=C)
	vm_cmd=(qemu-system-x86_64)
	if ! is_emulated "$kernel"; then
		vm_cmd+=(-accel kvm -cpu host)
	else
		vm_cmd+=(-accel "tcg,thread=multi" -cpu max)
	fi
	vm_cmd+=(-smp "$cpus" -m "$mem" -nodefaults -no-user-config -display none -no-reboot
		-kernel "$dir/vmlinuz" -initrd "$dir/initrd" -append "$args"
		-serial stdio
		-device virtio-serial-pci -chardev "file,id=out,path=/dev/fd/4"
		-device "virtserialport,chardev=out,name=out")
	((numa == 1)) || qemu_numa "$cpus" "$mem"
	[[ ! $count ]] || qemu_count "$run"
	qemu_share root / ,readonly=on
	qemu_share run "$run" ''
	[[ -z ${COLLVM_OUT-} ]] || qemu_share out "$COLLVM_OUT" ''
}
