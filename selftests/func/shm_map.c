// SPDX-License-Identifier: GPL-2.0
/*
 * Shared memory of the ranks of a node: a rank may map all of it to read, and its own area to
 * write. A mapping gets no further rights, and a child process gets no mapping.
 */
#include <signal.h>
#include <sys/wait.h>

#include "shm.h"

TEST_F(shm, only_the_own_area_is_writable)
{
	const struct view *v = &self->v[1];
	const int rw = PROT_READ | PROT_WRITE, page = getpagesize();
	const uint64_t own = v->s.own_offset, size = v->s.own_size;

	EXPECT_EQ(-EACCES, try_map(v->fd, v->s.size, 0, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, page, 0, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, size, self->v[0].s.own_offset, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, size, self->v[2].s.own_offset, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, size, own - page, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, size, own + page, rw, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(v->fd, size, own, PROT_READ | PROT_EXEC, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(v->fd, size, own, rw, MAP_PRIVATE));
	EXPECT_EQ(-EINVAL, try_map(v->fd, v->s.size + page, 0, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(v->fd, page, v->s.size, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(v->fd, page, 1ULL << 40, PROT_READ, MAP_SHARED));
}

TEST_F(shm, a_mapping_gets_no_further_rights)
{
	const struct view *v = &self->v[0];
	void *all = (void *)v->all;

	EXPECT_EQ(-1, mprotect(all, v->s.size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(all + v->s.own_offset, v->s.own_size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(-1, mprotect(all, v->s.size, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(v->own, v->s.own_size, PROT_READ | PROT_EXEC));
	EXPECT_TRUE(mremap(all, v->s.size, v->s.size + getpagesize(), MREMAP_MAYMOVE) ==
		    MAP_FAILED);
	EXPECT_EQ(-1, madvise(v->own, v->s.own_size, MADV_DOFORK));
	EXPECT_EQ(EINVAL, errno);
}

/* The status of a child that runs @fn. */
static int in_child(int (*fn)(struct view *v), struct view *v)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(fn(v));
	waitpid(pid, &status, 0);
	return status;
}

static int child_reads(struct view *v)
{
	signal(SIGSEGV, SIG_DFL);
	return *(volatile const uint8_t *)v->all;
}

static int child_asks(struct view *v)
{
	struct coll_shm s;

	return shm_ioctl(v->fd, &s) != -EPERM || shm_wait(v->fd, 1, 1) != -EPERM ||
	       shm_wake(v->fd) != -EPERM ||
	       try_map(v->fd, v->s.size, 0, PROT_READ, MAP_SHARED) != -EPERM;
}

TEST_F(shm, a_child_has_no_part_in_it)
{
	int status = in_child(child_reads, &self->v[0]);

	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	EXPECT_EQ(0, in_child(child_asks, &self->v[0]));
}

TEST_HARNESS_MAIN
