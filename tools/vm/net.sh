# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # variables are shared by the parts
# Several VMs of one run: a network of unix sockets between them, and nothing else
# on it. VM 0 has the hub.

# TCP copies what it is given unless the card gathers and makes checksums: over such
# a network virtio-net does not, vmxnet3 copies short packets itself, e1000 none.
NET_CARD=e1000
NET_PREFIX=10.86.0
NET_MTU=9000

# The address of a VM
net_address()
{
	echo "$NET_PREFIX.$(($1 + 1))"
}

net_prepare()
{
	# each guest leaves marks there that the others see
	mkdir "$run/shared"
}

# net_environment VM: lines for the script with the command
net_environment()
{
	local hosts=() i

	for ((i = 0; i < vms; i++)); do
		hosts+=("$(net_address "$i")")
	done
	printf 'export COLLVM_INDEX=%d COLLVM_VMS=%d COLLVM_HOSTS=%q\n' "$1" "$vms" "${hosts[*]}"
}

# net_conf VM: shell variables for guest-init
net_conf()
{
	printf 'vms=%d index=%d nic=%s mtu=%d address=%s/24 shared=%q\n' "$vms" "$1" \
		"$NET_CARD" "$NET_MTU" "$(net_address "$1")" "$run/shared"
}

# net_command VM: adds to vm_cmd. Paths are relative, for those of sockets are short.
# The side that listens (of QEMU 7.2) blocks as a whole while the other does not read,
# so the hub is never that one.
net_command()
{
	local vm=$1 i

	qemu_share shared "$run/shared" ''
	if ((vm)); then
		vm_cmd+=(-netdev "stream,id=net,server=on,addr.type=unix,addr.path=net.$vm")
	else
		for ((i = 1; i < vms; i++)); do
			vm_cmd+=(-netdev "stream,id=to$i,server=off,addr.type=unix,addr.path=net.$i"
				-netdev "hubport,id=port$i,hubid=0,netdev=to$i")
		done
		vm_cmd+=(-netdev "hubport,id=net,hubid=0")
	fi
	vm_cmd+=(-device "$NET_CARD,netdev=net,mac=$(printf '52:54:00:86:00:%02x' "$vm")")
}

# net_ready VM: can the hub connect?
net_ready()
{
	(($1 == 0)) || [[ -S $run/net.$1 ]]
}

# net_over VM: the others need not wait for it
net_over()
{
	: >"$run/shared/over.$1"
}
