# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The sources of kmod/pure, below it and without suffix: for Kbuild, the library, tools and
# tests. Reductions are compiled with flags of their own: see kmod/simd/flags.mk.

# schedules: the algorithms and what they are made of
pure-schedules := schedule collective algorithms/table algorithms/exchange \
	$(addprefix topology/,hypercube knomial tree) \
	$(addprefix algorithms/allgather/,bruck linear recursive_doubling ring) \
	$(addprefix algorithms/allreduce/,chain double_tree knomial mesh mesh_full \
		rabenseifner recursive_doubling ring ring_naive root tree) \
	$(addprefix algorithms/alltoall/,bruck linear pairwise) \
	$(addprefix algorithms/barrier/,dissemination tree) \
	$(addprefix algorithms/broadcast/,binomial chain double_tree knomial linear \
		scatter_allgather) \
	$(addprefix algorithms/exscan/,linear recursive_doubling) \
	$(addprefix algorithms/gather/,binomial linear) \
	$(addprefix algorithms/reduce/,binomial chain linear rabenseifner tree) \
	$(addprefix algorithms/reduce_scatter/,linear pairwise recursive_halving ring) \
	$(addprefix algorithms/scan/,linear recursive_doubling) \
	$(addprefix algorithms/scatter/,binomial linear)

# the coordinator of named collectives
pure-coord := $(addprefix coord/,coord coord_group coord_order coord_params coord_pending coord_table \
	coord_talk coord_wire)

# types, operators and names
pure-types := names optable $(addprefix reduction/,exact factor identity wide wide_int)

# all that the kernel has
pure-kernel := $(pure-schedules) $(pure-coord) $(pure-types) wire

# proves schedules; in user space only
pure-check := $(addprefix check/,check order races steps values)
