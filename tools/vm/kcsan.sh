# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154  # variables are shared by the parts
# A kernel with KCSAN (kernel concurrency sanitizer) for QEMU, built here from the source
# that user-mode Linux is built from.

KCSAN_OBJECTS=1300		# compiled, about; for the progress display

kcsan_make()
{
	local kernel=$1 work=$2

	uml_source "$work" kcsan_unneeded &&
	kcsan_configure "$work" &&
	kcsan_compile "$work" &&
	kcsan_prune "$work" &&
	kcsan_initramfs "$work"
}

# Of drivers, a PC needs more than user-mode Linux.
kcsan_unneeded()
{
	uml_unneeded | grep -vE '^drivers/(ata|clk|input|mfd|phy|pinctrl|platform|regulator)/' |
		grep -vE '^drivers/(rtc|soc|spi|thermal|usb|video|hid|hwmon)/'
}

kcsan_configure()
{
	local kdir=$1/kdir log=$cache/log/$kernel-build.log

	progress "configuring" step
	make -s -C "$kdir" KCONFIG_ALLCONFIG="$vmlib/kcsan.config" alldefconfig \
		>"$log" 2>&1 || { tail "$log" >&2; return 1; }
	config_lost "$vmlib/kcsan.config" "$kdir/.config"
}

# The kernel itself is not instrumented: a variable of the command line wins over those of
# its makefiles. A module that is built later is.
kcsan_compile()
{
	compile_source "$1" "$KCSAN_OBJECTS" KCSAN_SANITIZE=n
}

# What stays: the kernel, and what modules are built with
kcsan_prune()
{
	local kdir=$1/kdir

	mv "$kdir/arch/x86/boot/bzImage" "$1/vmlinuz" || return
	make -s -C "$kdir" kernelrelease >"$1/version" || return
	(
		cd "$kdir" || exit
		find . -path ./scripts -prune -o -path ./tools/objtool -prune -o -type f \
			\( -name '*.[oaS]' -o -name '*.c' -o -name '*.cmd' \) \
			! -name module-common.c ! -name module-common.o -exec rm -f {} + &&
		rm -rf vmlinux vmlinux.unstripped Documentation samples sound
	)
}

kcsan_initramfs()
{
	local fs=$1/initramfs

	initramfs_tree "$fs" && initramfs_pack "$fs" "$1/initrd"
}
