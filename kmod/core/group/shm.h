/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that the ranks of a node share, for collectives without a system call; see
 * "Shared memory of the ranks of a node" in <linux/coll.h>.
 *
 * The kernel shows each rank how many ops the others have given to the kernel, whether they have
 * left, and whether the communicator has failed. It reads @pos and @sleeps of areas, and only
 * compares them: ranks may write any values there.
 *
 * The header is charged to the first rank that calls coll_shm_open(). Pages that no process has
 * mapped are freed with the group. shm_memory.h describes the pages.
 */
#ifndef COLL_CORE_SHM_H
#define COLL_CORE_SHM_H

#include <linux/types.h>

struct coll_group;
struct coll_group_part;
struct coll_member;
struct coll_shm;
struct coll_shm_wait;
struct vm_area_struct;

extern const struct coll_group_part coll_shm_part;

/**
 * coll_shm_open() - give a rank its area
 * @m: member with a group; its ->setup is held
 * @spin_us: for the header
 * @s: result; @s->flags and ->reserved are left alone
 *
 * May be called again. Return: 0 or as COLL_IOC_SHM.
 */
int coll_shm_open(struct coll_member *m, u32 spin_us, struct coll_shm *s);

/**
 * coll_shm_map() - mmap() of the file
 * @m: member, whose process the caller is
 * @vma: to be filled in
 *
 * Under mmap_lock. Return: 0 or as COLL_IOC_SHM says of mmap().
 */
int coll_shm_map(struct coll_member *m, struct vm_area_struct *vma);

/**
 * coll_shm_wait() - sleep until an op can go on
 * @m: member, whose process the caller is
 * @w: the op, and the deadline
 *
 * Return: 0 or as COLL_IOC_SHM_WAIT; -EINTR a signal is pending; -ETIMEDOUT the communicator has
 * failed, because the time is over; -ETIME: also if another rank has posted the op for this one.
 * That op has a deadline of its own, see coll_op_expire().
 */
int coll_shm_wait(struct coll_member *m, const struct coll_shm_wait *w);

/*
 * Wake the threads in coll_shm_wait() whose op can go on. If @m has withdrawn its slot before, no
 * other rank posts the op for it after this. Return: 0, -ENOTCONN.
 */
int coll_shm_wake(struct coll_member *m);

/* A rank has given a collective to the kernel, or one has ended. Under group->lock. */
void coll_shm_note(struct coll_member *m);

/* struct coll_status.shm_ops. Under group->lock. */
u64 coll_shm_ops(const struct coll_member *m);

/*
 * Count the local ranks that others wait for in coll_shm_wait(). Under group->lock. Return: their
 * number; *@first: the lowest of them, if there is any.
 */
u32 coll_shm_late(const struct coll_group *g, u32 *first);

#endif /* COLL_CORE_SHM_H */
