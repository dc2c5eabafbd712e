/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compatibility wrappers for Linux 6.1 and 6.12. The module is written for 7.2. Only this file
 * tests for a kernel version. Documentation/kernel-versions.rst has the reason for each wrapper.
 */
#ifndef COLL_COMPAT_H
#define COLL_COMPAT_H

#include <crypto/blake2s.h>
#include <linux/bvec.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <net/genetlink.h>
#include <net/sock.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#include <net/proto_memory.h>		/* sk_under_memory_pressure() */
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "coll needs Linux 6.1 or later"
#endif
#ifndef CONFIG_64BIT
#error "coll reads user pages through the direct map: 64-bit kernels only"
#endif

/* io_uring commands */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
#include <linux/io_uring/cmd.h>
#define COLL_URING_CAN_CANCEL	1
#else					/* 6.1: io_uring never asks to cancel */
#include <linux/io_uring.h>
#define COLL_URING_CAN_CANCEL	0
#define IO_URING_F_CANCEL	0
static inline void io_uring_cmd_mark_cancelable(struct io_uring_cmd *c,
						unsigned int issue_flags)
{
}
#endif

#ifdef io_uring_sqe_cmd			/* 7.2: typed macro, no res2 */
#define coll_sqe_cmd(c, type)	io_uring_sqe_cmd((c)->sqe, type)
#define coll_cmd_done(c, r, f)	io_uring_cmd_done(c, r, f)
#define COLL_TW_ARGS		struct io_tw_req tw_req, io_tw_token_t tw_token
#define coll_tw_cmd()		io_uring_cmd_from_tw(tw_req)
#define coll_tw_flags()		IO_URING_CMD_TASK_WORK_ISSUE_FLAGS
#else					/* 6.1, 6.12 */
#define coll_cmd_done(c, r, f)	io_uring_cmd_done(c, r, 0, f)
#define COLL_TW_ARGS		struct io_uring_cmd *tw_cmd, unsigned int tw_flags
#define coll_tw_cmd()		(tw_cmd)
#define coll_tw_flags()		(tw_flags)
#if COLL_URING_CAN_CANCEL
#define coll_sqe_cmd(c, type)	((const type *)io_uring_sqe_cmd((c)->sqe))
#else
#define coll_sqe_cmd(c, type)	((const type *)(c)->cmd)
#endif
#endif

/*
 * Does task work of a command hold the lock of its ring, as a cancel does? Before 6.10 it only tries
 * to take the lock, and runs without it while another thread cancels.
 */
#define COLL_URING_TASK_LOCKS	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0))

/*
 * Let @done complete a command in its task. In a ring with IORING_SETUP_DEFER_TASKRUN, a waiter
 * for several completions is woken when all of them are there (before 6.5: by each one).
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define coll_cmd_finish_in_task(c, done)	io_uring_cmd_do_in_task_lazy(c, done)
#else
#define coll_cmd_finish_in_task(c, done)	io_uring_cmd_complete_in_task(c, done)
#endif

/*
 * Threads of a process that run nothing but kernel code (vhost_task). Before 6.10 they went
 * on when their process was killed; 6.1 has none.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0) && IS_ENABLED(CONFIG_VHOST_TASK)
#include <linux/sched/vhost_task.h>
#define COLL_HAS_USER_THREADS	1
/* Made, and not yet started; NULL: there can be none now. */
static inline struct vhost_task *coll_user_thread(bool (*run)(void *), void (*killed)(void *),
						  void *data, const char *name)
{
	struct vhost_task *t = vhost_task_create(run, killed, data, name);

	return IS_ERR(t) ? NULL : t;	/* NULL until 6.14 */
}
#else
#define COLL_HAS_USER_THREADS	0
#endif

/* The range of the buffer that the SQE names; as io_uring's own, -EFAULT outside of it. */
static inline int coll_import_fixed(struct io_uring_cmd *cmd, u64 addr, u64 len, int dir,
				    struct iov_iter *iter, unsigned int issue_flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	return io_uring_cmd_import_fixed(addr, len, dir, iter, cmd, issue_flags);
#else
	return io_uring_cmd_import_fixed(addr, len, dir, iter, cmd);
#endif
}

/* one page of another address space, pinned for a moment */
static inline long coll_pin_remote(struct mm_struct *mm, unsigned long addr,
				   unsigned int gup_flags, struct page **page)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return pin_user_pages_remote(mm, addr, 1, gup_flags, page, NULL);
#else
	return pin_user_pages_remote(mm, addr, 1, gup_flags, page, NULL, NULL);
#endif
}

/* Flags of a mapping that is being made. */
static inline void coll_vma_flags(struct vm_area_struct *vma, unsigned long set,
				  unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/*
 * Before 6.2 a page of a private mapping that is only read may be the zero page
 * or one of the page cache, which a later write of the process leaves behind:
 * there the pin has to break the sharing itself. 6.2 does that for FOLL_LONGTERM.
 */
#define COLL_PIN_UNSHARES	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0))

/*
 * Does execve() of a process wait for io_uring commands? Only asked where io_uring does not
 * tell: 6.1 lets execve() wait for our commands and does not report it. Two places wait:
 * - The task itself, for its own commands, in io_uring_task_cancel(). A thread that exits may
 *   wait there, too, but does not exec.
 * - de_thread(), for the other threads to end. With IORING_SETUP_SQPOLL one of them is the
 *   kernel's, and that waits for its commands. ->group_exec_task is set meanwhile.
 * An exec that fails and returns comes to neither.
 */
#if !COLL_URING_CAN_CANCEL
#include <linux/io_uring_types.h>
static inline bool coll_task_waits_for_uring(struct task_struct *t)
{
	const struct io_uring_task *u = READ_ONCE(t->io_uring);
	atomic_t waits;

	if (!u || !t->in_execve)
		return false;
	/*
	 * The task frees *u when it has waited. Then this reads anything, and either answer is
	 * right: no exec that has come so far returns to the old program.
	 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	if (copy_from_kernel_nofault(&waits, &u->in_cancel, sizeof(waits)))
#else
	if (copy_from_kernel_nofault(&waits, &u->in_idle, sizeof(waits)))
#endif
		return true;
	return atomic_read(&waits);
}

static inline bool coll_exec_waits(struct task_struct *p)
{
	struct task_struct *t;
	bool waits;

	rcu_read_lock();
	waits = READ_ONCE(p->signal->group_exec_task);
	for_each_thread(p, t) {
		if (waits)
			break;
		waits = coll_task_waits_for_uring(t);
	}
	rcu_read_unlock();
	return waits;
}
#endif

/* Threads of a process that run no code of the user's. */
#ifdef PF_USER_WORKER			/* 6.4 */
#define COLL_PF_KERNEL_MADE	(PF_USER_WORKER | PF_IO_WORKER)
#else
#define COLL_PF_KERNEL_MADE	PF_IO_WORKER
#endif

/*
 * Floats and vectors. The x86-64 kernel sets up SSE and wider by itself, but the
 * x87 only when asked; user-mode Linux is a process and always has both.
 */
#ifdef CONFIG_X86_64
#include <asm/fpu/api.h>
#ifdef CONFIG_UML
/* The host saves the registers. User-mode Linux knows the CPU by name, not by OSXSAVE. */
static inline bool coll_cpu_saves_vectors(bool zmm)
{
	return true;
}
#else
#include <asm/cpufeature.h>
#include <asm/fpu/types.h>
/* Are registers of 32 bytes, with @zmm of 64, switched on? A hypervisor may report instructions only. */
static inline bool coll_cpu_saves_vectors(bool zmm)
{
	u64 want = XFEATURE_MASK_SSE | XFEATURE_MASK_YMM | (zmm ? XFEATURE_MASK_AVX512 : 0);

	return boot_cpu_has(X86_FEATURE_OSXSAVE) && cpu_has_xfeatures(want, NULL);
}
#endif
static inline void coll_fpu_begin(bool x87)
{
#ifdef CONFIG_UML
	kernel_fpu_begin();
#else
	kernel_fpu_begin_mask(KFPU_MXCSR | (x87 ? KFPU_387 : 0));
#endif
}
#else
#include <linux/fpu.h>			/* 6.10 */
static inline void coll_fpu_begin(bool x87)
{
	kernel_fpu_begin();
}
#endif
#define coll_fpu_end()	kernel_fpu_end()

/*
 * Send pages: a copy of their bytes or, with @splice, the pages themselves, which may
 * then not change until the peer has the bytes. A piece may have several pages, each with
 * a count of its own. 6.1 knows MSG_SPLICE_PAGES, but copies all the same.
 * Return: bytes, or negative.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
static inline int coll_send_pages(struct sock *sk, const struct bio_vec *bv, unsigned int nr,
				  size_t bytes, int flags)
{
	int ret = 0, sum = 0;
	unsigned int i;
	u32 done;

	lock_sock(sk);
	for (i = 0; i < nr; i++) {
		for (done = 0; done < bv[i].bv_len; done += ret) {
			u32 at = bv[i].bv_offset + done;
			u32 len = min_t(u32, bv[i].bv_len - done,
					PAGE_SIZE - offset_in_page(at));
			int more = sum + len < bytes ? MSG_MORE | MSG_SENDPAGE_NOTLAST : 0;

			ret = kernel_sendpage_locked(sk, bv[i].bv_page + (at >> PAGE_SHIFT),
						     offset_in_page(at), len, flags | more);
			if (ret <= 0)
				goto unlock;
			sum += ret;
		}
	}
unlock:
	release_sock(sk);
	return sum ?: ret;
}
#endif

static inline int coll_send_bvec(struct socket *sock, struct bio_vec *bv, unsigned int nr,
				 size_t bytes, bool splice, int flags)
{
	struct msghdr msg = { .msg_flags = flags };

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	if (splice)
		return coll_send_pages(sock->sk, bv, nr, bytes, flags);
#else
	if (splice)
		msg.msg_flags |= MSG_SPLICE_PAGES;
#endif
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nr, bytes);
	return sock_sendmsg(sock, &msg);
}

/* told when the stack is through with pages that it sends without a copy */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define coll_ubuf_set(u, fn)						\
do {									\
	static const struct ubuf_info_ops coll_ops = { .complete = fn };	\
	(u)->ops = &coll_ops;						\
} while (0)
#else
#define coll_ubuf_set(u, fn)	((u)->callback = (fn))
#endif

/* the order of the arguments of blake2s() */
static inline void coll_blake2s(const u8 *key, size_t key_len, const u8 *in, size_t in_len,
				u8 *out, size_t out_len)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	blake2s(key, key_len, in, in_len, out, out_len);
#else
	blake2s(out, in, key, out_len, in_len, key_len);
#endif
}

/*
 * Only CAP_NET_ADMIN may join a multicast group of generic netlink. The flags were those of
 * operations before 6.8. Stable kernels have the change, too, so the version does not tell.
 */
#ifdef GENL_MCAST_CAP_NET_ADMIN
#define COLL_MCGRP_ADMIN	GENL_MCAST_CAP_NET_ADMIN
#else
#define COLL_MCGRP_ADMIN	GENL_UNS_ADMIN_PERM
#endif

#endif /* COLL_COMPAT_H */
