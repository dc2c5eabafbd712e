/* SPDX-License-Identifier: GPL-2.0 */
/* Bounds of the module, each with its reason. A bound that only one file needs is in that file. */
#ifndef COLL_CORE_LIMITS_H
#define COLL_CORE_LIMITS_H

#include <linux/gfp.h>
#include <linux/sizes.h>

/*
 * Memory of a user that the module can do without: it tries again, or fails an op. The OOM killer
 * would end a process because of what its peers send, or while other ops are about to free memory.
 * kvmalloc() does not start the OOM killer either with these flags; with __GFP_NORETRY it does.
 */
#define COLL_GFP_MAYFAIL	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * Groups and conns of one user, unless module parameters say otherwise. MPI libraries allow
 * thousands of communicators, whose memory is charged. If 128 nodes of one kernel are linked all
 * with all, they have 16256 conns.
 */
#define COLL_USER_GROUPS	16384U
#define COLL_USER_CONNS		32768U
/*
 * Kernel memory of one user for frames and messages that came before their command. One group gets
 * half of what others have left.
 */
#define COLL_USER_EARLY		SZ_256M
/* The part for frames, which can wait in the socket. A message without memory fails its group. */
#define COLL_USER_EARLY_FRAMES	(COLL_USER_EARLY - COLL_USER_EARLY / 8)
/*
 * Work items of one user that run at a time on a machine with fewer CPUs than this. An item that
 * its user blocks needs a slot, too. The scheduler gives a worker at nice 19 the weight 15, and an
 * ordinary task 1024. So eight workers take 120 of 1144 parts, 10 percent, if all run on one CPU.
 */
#define COLL_USER_WORKERS	8
/*
 * Workers of a user run at nice 19 after they have taken COLL_USER_SHARE percent of a CPU, over
 * COLL_USER_BURST jiffies. The debt of a user is at most the allowance of COLL_USER_DEBT jiffies.
 * Each CPU counts by itself: a share of all CPUs together could be spent on one of them, which
 * on two CPUs would cost another task there 20 percent. Control frames have a second, equal share.
 */
#define COLL_USER_SHARE		10U
#define COLL_USER_BURST		(HZ / 10)
#define COLL_USER_DEBT		(HZ / 2)
/* Jiffies that control work waits for a worker at nice 19. Then its old priority is restored. */
#define COLL_USER_HURRY		(HZ / 50)
/* Jiffies that another node may keep pages of an op whose result was known at its deadline. */
#define COLL_OP_GRACE		HZ
/*
 * Commands of one user in flight, unless the module parameter says otherwise; one more fails with
 * ENOMEM. Each takes 1 to 2 KiB, which is charged to the control group of the caller, so most jobs
 * reach the limit of that group first. The first COLL_INFLIGHT_FREE of each rank do not count.
 */
#define COLL_USER_COMMANDS	SZ_2M
#define COLL_INFLIGHT_FREE	64U
/*
 * Names of one communicator, which take about 1.5 KiB each for as long as it lives; and names of
 * one user, unless the module parameter says otherwise.
 */
#define COLL_TENSOR_NAMES	65536U
#define COLL_USER_NAMES		SZ_1M
/* Hash buckets for names, a power of two. A rehash would take long under a spinlock. */
#define COLL_TENSOR_BUCKETS	4096U
/* Tensors that are put in order of priority at a time, under the lock of their communicator. */
#define COLL_TENSOR_SORT	2048U
/* Lists of groups, a power of two */
#define COLL_TENSOR_GROUPS	512U
/*
 * Fusions. THRESHOLD: bytes, unless user space sets them. BYTES: most bytes that it may set. MOST:
 * tensors. AHEAD: tensors that may be passed over to find one that fits. BLOCK: with links, bytes
 * of scratch up to which a tensor is never cut into blocks, so that it may be fused: COLL_SCRATCH
 * divided by the 16 sets of 65536 nodes.
 */
#define COLL_FUSE_THRESHOLD	SZ_4M
#define COLL_FUSE_BYTES		SZ_64M
#define COLL_FUSE_MOST		256
/* Ranks of a communicator whose allgathers are fused: a rank needs a piece for each block. */
#define COLL_FUSE_RANKS		64
#define COLL_FUSE_AHEAD		256U
#define COLL_FUSE_BLOCK		SZ_512K
/*
 * With links: no tensor starts while so many bytes (WINDOW) or ops (WINDOW_OPS) have started and
 * not ended. This is twice the amount that runs at a time: a node that learns of an end later than
 * others has further ops to do.
 */
#define COLL_FUSE_WINDOW	SZ_8M
#define COLL_FUSE_WINDOW_OPS	32
/*
 * On one node: an op of up to OP bytes takes no longer than a slice. It may run beside a larger op
 * of lower priority. OPS: ops in flight then.
 */
#define COLL_URGENT_OP		SZ_64K
#define COLL_URGENT_OPS		8
/* Ops in flight of a rank that has joined. No root starts so many ahead of the other ranks. */
#define COLL_TENSORS_ABSENT	128U
/* Most named collectives that a member has not collected. */
#define COLL_TENSORS_KEPT	65536U
/*
 * SEC: seconds after which a tensor that some ranks have not posted is reported, unless the module
 * parameter says otherwise; as in Horovod. BATCH: tensors that one run of the timer reports. RANKS
 * and LOGGED: ranks of a tensor in an event and in the log. TEXT: bytes of the text in the log.
 * SHOWN: tensors of a communicator in a dump, the oldest ones, which are counted under its lock.
 * EVENTS: tensors of one user that are reported to netlink in DEFAULT_RATELIMIT_INTERVAL.
 */
#define COLL_STALL_SEC		60U
#define COLL_STALL_BATCH	16U
#define COLL_STALL_RANKS	16U
#define COLL_STALL_LOGGED	4U
#define COLL_STALL_TEXT		256U
#define COLL_STALL_SHOWN	256U
#define COLL_STALL_EVENTS	1024
/*
 * SMALL: a vector up to this size, at most a page, is copied and not pinned. KEPT: bytes of unused
 * slots of each size that a member keeps for such copies.
 */
#define COLL_SMALL		SZ_4K
#define COLL_SLOTS_KEPT		SZ_512K
/*
 * Ops of a communicator that run side by side over its links; and, if there is more than one op,
 * the sum of the bytes of their vectors, which is about what a link may have on its way
 * (COLL_WIRE_WINDOW). These are bounds for memory. Whether others are faster is not measured.
 */
#define COLL_RUNNING_MAX	16
#define COLL_RUNNING_BYTES	SZ_4M
/* Kernel memory of ops that have started beside others: some need much memory for few bytes. */
#define COLL_RUNNING_MEMORY	SZ_8M
/*
 * Most bytes of one rank in an op in shared memory: the same sum for all ranks of a node, within
 * these bounds. Each rank has COLL_SHM_SLOTS such parts. Their pages are allocated when they are
 * used.
 */
#define COLL_SHM_DATA_ALL	SZ_128K
#define COLL_SHM_DATA_LEAST	SZ_16K
#define COLL_SHM_DATA_MOST	SZ_64K
/* Registered buffers of one member. */
#define COLL_MAX_BUFFERS	1024
/*
 * Plain buffers that stay pinned for a member: their bytes, unless the parameter says otherwise,
 * and their number. A training step has hundreds of tensors, each with an input and an output:
 * with a limit of 64 the 161 tensors of ResNet-50 took 11 ms longer.
 */
#define COLL_PINS_BYTES		SZ_256M
#define COLL_PINS_MAX		1024
/*
 * Seconds that a plain buffer stays pinned after its last op, unless the parameter says otherwise,
 * and the most that the parameter may say. Pinning a buffer again takes milliseconds at most.
 */
#define COLL_PINS_IDLE		30U
#define COLL_PINS_IDLE_MOST	86400U
/* Bytes of one pinned buffer. This bounds its array of pages to 512 MiB of vmalloc. */
#define COLL_MAX_BUFFER		(SZ_1G * 256ULL)

/*
 * The longest time that a blocking call polls before it sleeps, whatever a parameter says; and the
 * number of wake-ups that are timed at load. Their median is used.
 */
#define COLL_SPIN_MOST_US	1000U
#define COLL_SPIN_RUNS		32
/* Jiffies after which the measurement gives up such a wake-up. */
#define COLL_SPIN_WAIT		(HZ / 10)
/*
 * Over links the call polls this many times longer: bytes have to travel, and each side may have to
 * be woken.
 */
#define COLL_SPIN_LINKS		4
/*
 * If a yield takes longer than this, the CPU has gone to a thread that is not a waiting rank. Then
 * ranks do not yield during the next ops, as many as PAUSE: each yield might cost a time slice.
 */
#define COLL_SPIN_YIELD_NS	(1000U * 1000)
#define COLL_SPIN_YIELD_PAUSE	1024U
/*
 * A rank that waits for named collectives yields once. If that takes longer than this, it does not
 * yield in the next calls, as many as PAUSE. Other ranks post in less time.
 */
#define COLL_WAIT_YIELD_NS	(2U * 1000 * 1000)
#define COLL_WAIT_YIELD_PAUSE	64U
/*
 * A caller attends to up to COLL_WATCH_LINKS links of its group itself. If its op has up to
 * COLL_WATCH_ALONE bytes, it does so without a worker.
 */
#define COLL_WATCH_LINKS	32U
#define COLL_WATCH_ALONE	SZ_64K
/*
 * Bytes of one slice of a local sweep. A worker looks at the state of the op between two slices, so
 * an abort may have to wait for one slice.
 */
#define COLL_SLICE		SZ_64K
/*
 * A slice is shorter if its bytes are of many vectors, or of many steps: it reads and writes about
 * COLL_SLICE_TOUCHED bytes, and is of about COLL_SLICE_STEPS steps.
 */
#define COLL_SLICE_TOUCHED	SZ_2M
#define COLL_SLICE_STEPS	4096U
/* Most parts of a sweep. Each CPU begins with another part, as far as there are enough. */
#define COLL_SLICE_PARTS	8U
/* Places of a sweep that are looked at to find out on which memory nodes its vectors are. */
#define COLL_NEAR_LOOKS		8
/* Slices that a helper looks at before it lets others have the CPU. */
#define COLL_NEAR_PAUSE		1024
/* A local sweep has one helper for each COLL_HELPER_SHARE bytes that it reads and writes. */
#define COLL_HELPER_SHARE	SZ_512K
/* Waits of io_uring of one rank that occupy no thread. Each result walks all of them under a lock. */
#define COLL_AWAITS_MAX		64
/*
 * Ranks help with a large named op. When none does any more, workers begin after COLL_STAFF_US; they
 * join ranks after COLL_STAFF_MS, which is longer than most ops take.
 */
#define COLL_STAFF_US		100U
#define COLL_STAFF_MS		20U
/* Payload of a DATA frame: a segment of the pipeline, unless the op sets it. */
#define COLL_SEGMENT		SZ_256K
/* A sender does not cut frames smaller than this while more is coming. */
#define COLL_SEGMENT_MIN	SZ_64K
/* A frame with less payload is copied into the socket, which is cheaper than to give pages. */
#define COLL_ZEROCOPY_MIN	SZ_16K
/*
 * A smaller op is copied, unless a parameter says otherwise: to wait until its pages are free
 * takes longer than to copy them (measured: 130 us, or 650 KiB, in user-mode Linux).
 */
#define COLL_ZEROCOPY_OP	SZ_1M
/*
 * Smallest part of a collective that goes over a link of its own, unless user space sets it. Each
 * part wakes one more worker on either side. If flows are limited to 1 or 4 Gbit/s, smaller parts
 * save time as well; if they are not limited, larger parts do not save time either.
 */
#define COLL_STRIPE_LEAST	SZ_128K
/*
 * A receiver is woken when this many more bytes of a frame have come, or the end of the frame. With
 * several nodes on a CPU each wake-up costs two context switches.
 */
#define COLL_RX_LOWAT		SZ_128K
/* Most jiffies between two checks of a group whose links linger. The interval doubles each time. */
#define COLL_REAP_DELAY_MOST	(HZ / 4)
/* Bytes a link's work moves before it lets others have the CPU. */
#define COLL_WORK_BUDGET	SZ_2M
/* Longest time, in milliseconds, that a link's work takes before it lets others have the CPU. */
#define COLL_WORK_MS		4
/* Channels of a link that are looked at, for control frames, at normal priority. */
#define COLL_CTRL_CHANNELS	256U
/* Milliseconds after which the oldest op of a group is announced to the peers. */
#define COLL_STALL_MS		20
/*
 * Bytes that one FPU section reads and writes. It holds off softirqs, for 50 us at most.
 * `make bench-ops` measures that time.
 */
#define COLL_FPU_BYTES		SZ_32K
/* The same for sums that are folded once more, by scalar code, where they are infinite or NaN. */
#define COLL_FPU_BYTES_EXT	SZ_8K
/* The same for the x87 and for the scalar reference, which are slower by this factor. */
#define COLL_FPU_BYTES_SLOW	SZ_4K
/*
 * Instruction sets are timed at load on COLL_ISA_VECTORS vectors, half of them inputs, of
 * COLL_ISA_BYTES together, which is more than a first-level cache has. The best of COLL_ISA_RUNS
 * passes counts.
 */
#define COLL_ISA_VECTORS	8
#define COLL_ISA_BYTES		SZ_256K
#define COLL_ISA_RUNS		16
/* Bytes of one call while timing: payload comes in pages, which mostly have this size. */
#define COLL_ISA_PIECE		SZ_4K
/* A shorter copy does not use vectors, which need an FPU section. */
#define COLL_COPY_WIDE		SZ_1K
/* Bytes of the widest vector. Stores past the caches need addresses that are multiples of it. */
#define COLL_NT_ALIGN		64
/*
 * Stores past the caches are timed at load as well, from MOST bytes down to LEAST. Less fits into
 * the second-level cache of any CPU. The best of RUNS runs of PASSES passes counts.
 */
#define COLL_NT_MOST		SZ_32M
#define COLL_NT_LEAST		SZ_4M
#define COLL_NT_RUNS		2
#define COLL_NT_PASSES		4
/* Vectors that are shorter, on average, are not stored past the caches. */
#define COLL_NT_VECTOR		SZ_16K
/* The bits of 1.0f. With any bits in the fraction it is a number from 1 to 2. */
#define COLL_NT_ONE		0x3f800000U
/*
 * Plans that a group keeps for later ops of the same kind, and their largest size in steps and in
 * bytes of scratch. For a larger op planning is a small part of the time.
 */
#define COLL_PLANS_MAX		COLL_RUNNING_MAX
#define COLL_PLAN_STEPS		1024
#define COLL_PLAN_SCRATCH	SZ_256K
/*
 * Steps of an op, of all its local participants. This bounds their table to about 200 MiB. With
 * all ranks on one node, schedules of n^2 steps reach it at about 700 ranks; alltoall by bruck,
 * which has a step for each chunk of each message, at about 270.
 */
#define COLL_MAX_STEPS		SZ_1M
/*
 * Kernel memory of a participant for partial results that have no place in the outputs. A vector
 * that needs more is worked on block by block. Two blocks are in use at a time, so it may be twice
 * as much. If there are many ranks, each gets less.
 */
#define COLL_SCRATCH		SZ_8M
#define COLL_SCRATCH_MIN	SZ_256K
/*
 * Blocks are not made smaller than COLL_BLOCK_MIN bytes of each chunk, as long as the ranks of a
 * node take less than COLL_SCRATCH_NODE together: more memory costs less than more blocks.
 */
#define COLL_BLOCK_MIN		SZ_1K
#define COLL_SCRATCH_NODE	SZ_64M
/* Most scratch of a participant if no block is small enough: the search has to end. */
#define COLL_SCRATCH_MAX	SZ_256M

#endif /* COLL_CORE_LIMITS_H */
