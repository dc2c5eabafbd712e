/* SPDX-License-Identifier: GPL-2.0 */
/* Every bound of the module, with its reason. */
#ifndef COLL_CORE_LIMITS_H
#define COLL_CORE_LIMITS_H

#include <linux/sizes.h>

/*
 * Limits of one user, unless module parameters say otherwise. Groups: MPI libraries allow
 * thousands of communicators, and their memory is charged. Conns: 128 nodes of one
 * kernel that are linked all with all have 16256.
 */
#define COLL_USER_GROUPS	16384U
#define COLL_USER_CONNS		32768U
/* Kernel memory of one user for frames and messages that came before their command. */
#define COLL_USER_EARLY		SZ_256M
/*
 * Work items of one user that run at a time, if the machine has fewer CPUs: one that is
 * blocked by its user needs a slot, too. Each of them at nice 19 takes 15 parts of 1024
 * from an ordinary task on its CPU, so eight take 12 percent if all run on one CPU.
 */
#define COLL_USER_WORKERS	8
/*
 * Percent of the time of each CPU that workers may take for a user before they run at
 * nice 19; over so many jiffies; and the allowance of so many jiffies is the most that a
 * user has to make up for. A share of all CPUs together could be spent on one of them: on
 * two CPUs 20 percent of what another task there computes.
 */
#define COLL_USER_SHARE		10U
#define COLL_USER_BURST		(HZ / 10)
#define COLL_USER_DEBT		(HZ / 2)
/* Jiffies that control work waits for a worker at nice 19 before that gets its priority back. */
#define COLL_USER_HURRY		(HZ / 50)
/*
 * Commands of one user in flight, if the module parameter says nothing else; one more is
 * ENOMEM. Each takes 1 to 2 KiB, which is charged to the control group of the caller: most
 * jobs come to its limit first. The first ones of each rank do not count.
 */
#define COLL_USER_COMMANDS	SZ_2M
#define COLL_INFLIGHT_FREE	64U
/*
 * Names of one communicator: about 1.5 KiB each, for as long as it lives. And of one user,
 * if the module parameter says nothing else.
 */
#define COLL_TENSOR_NAMES	65536U
#define COLL_USER_NAMES		SZ_1M
/* Hash buckets for them, a power of two: a rehash would be long under a spinlock. */
#define COLL_TENSOR_BUCKETS	4096U
/* Lists of groups, a power of two */
#define COLL_TENSOR_GROUPS	512U
/*
 * Fusions: bytes, unless user space says, and at most; tensors; and tensors that are passed
 * over for one. With links, bytes of scratch of a tensor that is never cut into blocks, so
 * that it may be fused: COLL_SCRATCH for the 16 sets of 65536 nodes.
 */
#define COLL_FUSE_THRESHOLD	SZ_4M
#define COLL_FUSE_BYTES		SZ_64M
#define COLL_FUSE_MOST		256
#define COLL_FUSE_AHEAD		256U
#define COLL_FUSE_BLOCK		SZ_512K
/*
 * With links: ops that have started and not ended, bytes and number, from which on no tensor
 * starts. Twice of what runs at a time: nodes that hear of it later have the next ones.
 */
#define COLL_FUSE_WINDOW	SZ_8M
#define COLL_FUSE_WINDOW_OPS	32
/* Ops in flight of a rank that has joined: more than any root starts ahead of the others. */
#define COLL_TENSORS_ABSENT	128U
/* Named collectives of a member that it has not collected. */
#define COLL_TENSORS_KEPT	65536U
/*
 * Seconds after which a tensor that some ranks have not posted is reported, if the module
 * parameter says nothing else: as Horovod does. Tensors that one run of the timer reports;
 * ranks of a tensor in events and in the log; bytes of text about them. And tensors of a
 * communicator that a dump shows, the oldest ones: they are counted under its lock.
 */
#define COLL_STALL_SEC		60U
#define COLL_STALL_BATCH	16U
#define COLL_STALL_RANKS	16U
#define COLL_STALL_LOGGED	4U
#define COLL_STALL_TEXT		256U
#define COLL_STALL_SHOWN	256U
/*
 * A vector this small is copied, not pinned: at most a page. And bytes of slots for that, of
 * each size, which a member keeps when they are not in use.
 */
#define COLL_SMALL		SZ_4K
#define COLL_SLOTS_KEPT		SZ_512K
/*
 * Ops of a communicator that run side by side over its links, and bytes of their vectors
 * together, if there is more than one: about what a link has on its way at most
 * (COLL_WIRE_WINDOW). Bounds for memory; that they are best has not been measured.
 */
#define COLL_RUNNING_MAX	16
#define COLL_RUNNING_BYTES	SZ_4M
/* And kernel memory of those beside the first one: some need much for few bytes. */
#define COLL_RUNNING_MEMORY	SZ_8M
/*
 * Bytes of one rank's part in an op in shared memory at most. Two of these for each rank are
 * 36 KiB with what tells them.
 */
#define COLL_SHM_DATA		SZ_16K
/* Registered buffers of one member. */
#define COLL_MAX_BUFFERS	1024
/*
 * Plain buffers that stay pinned for a member: bytes, unless the parameter says; how many. A
 * training step has hundreds of tensors, each with an input and an output: the 161 of
 * ResNet-50 took 11 ms more for a limit of 64.
 */
#define COLL_PINS_BYTES		SZ_256M
#define COLL_PINS_MAX		1024
/* Bytes of one pinned buffer: bounds the page array to 512 MiB of vmalloc. */
#define COLL_MAX_BUFFER		(SZ_1G * 256ULL)

/*
 * How long a blocking call looks for its end before it sleeps at most, whatever is asked
 * for; and wake-ups that are timed at load, of which the median counts.
 */
#define COLL_SPIN_MOST_US	1000U
#define COLL_SPIN_RUNS		32
/* And jiffies until one is given up. */
#define COLL_SPIN_WAIT		(HZ / 10)
/*
 * Over links that is so many times longer: bytes take their time, and each side may have
 * to be woken.
 */
#define COLL_SPIN_LINKS		4
/*
 * If a yield takes longer than this, the CPU has gone to a thread that is not a waiting rank.
 * Then ranks do not yield during the next so many ops: each yield might cost a time slice.
 */
#define COLL_SPIN_YIELD_NS	(1000U * 1000)
#define COLL_SPIN_YIELD_PAUSE	1024U
/*
 * A caller attends to its group's links itself, if they are no more than this; and to all
 * of them without a worker, if its op is no longer than so many bytes.
 */
#define COLL_WATCH_LINKS	32U
#define COLL_WATCH_ALONE	SZ_64K
/*
 * One slice of a local sweep: what a worker does between two looks at the
 * op's state, so also how long an abort may have to wait for it.
 */
#define COLL_SLICE		SZ_64K
/* Parts of a sweep, each of which one CPU begins with: CPUs that begin apart, at most. */
#define COLL_SLICE_PARTS	8U
/* Places of a sweep that are looked at to see on which memory nodes it is. */
#define COLL_NEAR_LOOKS		8
/* And slices that a helper looks at before others get the CPU. */
#define COLL_NEAR_PAUSE		1024
/* A helper more for a local sweep pays for so many bytes read and written. */
#define COLL_HELPER_SHARE	SZ_512K
/* Payload of a DATA frame: a segment of the pipeline, unless the op says. */
#define COLL_SEGMENT		SZ_256K
/* A sender does not cut frames smaller than this while more is coming. */
#define COLL_SEGMENT_MIN	SZ_64K
/* A frame with less payload is copied into the socket: cheaper than a page each. */
#define COLL_LEND_MIN		SZ_16K
/*
 * A smaller op is copied, unless a parameter says otherwise: to wait until its pages are free
 * takes longer than to copy them (measured: 130 us, or 650 KiB, in user-mode Linux).
 */
#define COLL_LEND_OP		SZ_1M
/*
 * Smallest part of a collective that goes over a link of its own, unless user space sets it. Each
 * part wakes one more worker on either side. If flows are limited to 1 or 4 Gbit/s, smaller parts
 * pay as well; if they are not limited, larger parts do not pay either.
 */
#define COLL_STRIPE_LEAST	SZ_128K
/*
 * A receiver is woken for a frame when so many more bytes of it have come, or its end: with
 * several nodes on a CPU each wake-up costs two switches.
 */
#define COLL_RX_LOWAT		SZ_128K
/* Most jiffies between two looks at a group whose links linger; they double each time. */
#define COLL_REAP_DELAY_MOST	(HZ / 4)
/* Bytes a link's work moves before it lets others have the CPU. */
#define COLL_WORK_BUDGET	SZ_2M
/* Milliseconds after which it does so at the latest. */
#define COLL_WORK_MS		4
/* An op that is the oldest one for longer than this is announced to the peers. */
#define COLL_STALL_MS		20
/*
 * Bytes that one FPU section reads and writes. It holds off softirqs, for 50 us at most.
 * `make bench-ops` measures what that is.
 */
#define COLL_FPU_BYTES		SZ_32K
/* The same for the x87 and for the scalar reference, which are that much slower. */
#define COLL_FPU_BYTES_SLOW	SZ_4K
/*
 * Instruction sets are timed at load: so many vectors, half of them inputs, of so many
 * bytes together, which is more than a first cache has; the best of so many passes.
 */
#define COLL_ISA_VECTORS	8
#define COLL_ISA_BYTES		SZ_256K
#define COLL_ISA_RUNS		16
/* As payload comes on most machines; pages may be larger than all of the above. */
#define COLL_ISA_PIECE		SZ_4K
/* A copy of less is no matter for vectors, which want the FPU. */
#define COLL_COPY_WIDE		SZ_1K
/* The widest vector: stores past the caches want addresses that are multiples. */
#define COLL_STREAM_ALIGN	64
/*
 * Stores past the caches are timed at load as well, from this many bytes down to so
 * many: less lies in the second cache of any CPU; the best of so many runs of so many passes.
 */
#define COLL_STREAM_MOST	SZ_32M
#define COLL_STREAM_LEAST	SZ_4M
#define COLL_STREAM_RUNS	2
#define COLL_STREAM_PASSES	4
/* The bits of 1.0f: with any others in the fraction it is a number of one to two. */
#define COLL_STREAM_ONE		0x3f800000U
/*
 * Plans that a group keeps for the next ops like those they were made for, and how large
 * they may be: what takes long itself does not mind planning.
 */
#define COLL_PLANS_MAX		COLL_RUNNING_MAX
#define COLL_PLAN_STEPS		1024
#define COLL_PLAN_SCRATCH	SZ_256K
/*
 * Steps of an op, of all its local participants: bounds their table to 200 MiB or so.
 * Schedules of n^2 steps, with all ranks on one node, end at about 700 ranks; alltoall
 * by bruck, whose steps are one for each chunk that goes a way, at about 270.
 */
#define COLL_MAX_STEPS		SZ_1M
/*
 * Kernel memory of a participant for what is in the making and has no place with the
 * outputs: a vector that needs more is worked on block by block. Two blocks are in
 * use at a time, so it may be twice as much; and ranks, if there are many of them,
 * get the less.
 */
#define COLL_SCRATCH		SZ_8M
#define COLL_SCRATCH_MIN	SZ_256K
/*
 * A block with less than this of a chunk, that is of what goes from rank to rank at a time,
 * costs more than memory does, as long as the ranks of a node take less than that.
 */
#define COLL_BLOCK_MIN		SZ_1K
#define COLL_SCRATCH_NODE	SZ_64M
/* Steps of a participant where no block is small enough: the search has to end. */
#define COLL_SCRATCH_MAX	SZ_256M

#endif /* COLL_CORE_LIMITS_H */
