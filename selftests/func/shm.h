/* SPDX-License-Identifier: GPL-2.0 */
/* Three ranks of a node, or RANKS of NODES nodes, that have mapped their shared memory. */
#ifndef SHM_H
#define SHM_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "raw.h"

#ifndef RANKS
#define RANKS	3
#define NODES	1
#endif

/**
 * struct view - the memory as one rank has it
 * @fd: its file
 * @s: what COLL_IOC_SHM said
 * @all: everything, read-only
 * @own: the own area
 */
struct view {
	int fd;
	struct coll_shm s;
	const uint8_t *all;
	uint8_t *own;
};

/* COLL_IOC_SHM. Return: 0 or -errno. */
static inline int shm_ioctl(int fd, struct coll_shm *s)
{
	memset(s, 0, sizeof(*s));
	return ioctl(fd, COLL_IOC_SHM, s) ? -errno : 0;
}

/* Return: the address of the mapping, or -errno. */
static inline long try_map(int fd, size_t size, uint64_t offset, int prot, int flags)
{
	void *p = mmap(NULL, size, prot, flags, fd, offset);

	return p == MAP_FAILED ? -errno : (long)p;
}

/* COLL_IOC_SHM_WAIT. Return: 0 or -errno. */
static inline int shm_wait(int fd, uint64_t pos, uint64_t timeout_ns)
{
	struct coll_shm_wait w = { .pos = pos, .timeout_ns = timeout_ns };

	return ioctl(fd, COLL_IOC_SHM_WAIT, &w) ? -errno : 0;
}

/* COLL_IOC_SHM_WAKE. Return: 0 or -errno. */
static inline int shm_wake(int fd)
{
	return ioctl(fd, COLL_IOC_SHM_WAKE) ? -errno : 0;
}

static inline const struct coll_shm_header *header(const struct view *v)
{
	return (const void *)v->all;
}

/* What the kernel writes for the rank of this number on the node. */
static inline const struct coll_shm_rank *rank_of(const struct view *v, uint32_t local)
{
	return (const void *)(v->all + header(v)->rank_offset + local * header(v)->rank_size);
}

/* Map everything, and the own area once more. Return: 0 or -errno. */
static inline int map_rank(struct view *v)
{
	long p = try_map(v->fd, v->s.size, 0, PROT_READ, MAP_SHARED);

	if (p < 0)
		return p;
	v->all = (const uint8_t *)p;
	p = try_map(v->fd, v->s.own_size, v->s.own_offset, PROT_READ | PROT_WRITE, MAP_SHARED);
	if (p < 0)
		return p;
	v->own = (uint8_t *)p;
	return 0;
}

/* The rank leaves at once, although its memory is still mapped. */
static inline void close_rank(struct raw_comm *c, uint32_t r)
{
	close(c->fd[r]);
	c->fd[r] = -1;
}

FIXTURE(shm)
{
	struct raw_comm c;
	struct view v[RANKS];
};

FIXTURE_SETUP(shm)
{
	uint32_t r;

	ASSERT_EQ(0, raw_start(&self->c, RANKS, NODES));
	for (r = 0; r < RANKS; r++) {
		self->v[r].fd = self->c.fd[r];
		ASSERT_EQ(0, shm_ioctl(self->c.fd[r], &self->v[r].s));
	}
	for (r = 0; r < RANKS; r++)
		ASSERT_EQ(0, map_rank(&self->v[r]));
}

FIXTURE_TEARDOWN(shm)
{
	uint32_t r;

	raw_stop(&self->c);
	for (r = 0; r < RANKS; r++) {
		munmap((void *)self->v[r].all, self->v[r].s.size);
		munmap(self->v[r].own, self->v[r].s.own_size);
	}
}

#endif /* SHM_H */
