// SPDX-License-Identifier: LGPL-2.1 OR MIT
#define _GNU_SOURCE	/* sched_getaffinity() */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/env.h"
#include "base/relax.h"
#include "comm.h"
#include "shm.h"

void shm_read_header(struct shm *s)
{
	s->told = s->all + s->h->rank_offset;
	s->told_size = s->h->rank_size;
	s->areas = s->all + s->h->area_offset;
	s->area_size = s->h->area_size;
	s->slot_offset = s->h->slot_offset;
	s->slot_size = s->h->slot_size;
}

/*
 * How many ranks share a CPU, rounded up? A process that may run on a single CPU most likely has
 * that CPU for itself.
 */
static uint32_t ranks_per_cpu(uint32_t ranks)
{
	uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), mine;
	cpu_set_t set;

	if (!cpus)
		return 1;
	/* If the call fails, there are more CPUs than a set has room for, and so enough of them. */
	if (!sched_getaffinity(0, sizeof(set), &set)) {
		mine = (uint32_t)CPU_COUNT(&set);
		if (mine > 1 && mine < cpus)
			cpus = mine;
	}
	return (ranks + cpus - 1) / cpus;
}

static bool env_says(const char *value)
{
	const char *v = env_get("COLL_SHM");

	return v && !strcmp(v, value);
}

bool shm_always(void)
{
	return env_says("1");
}

/* Ranks of the node of @comm that are less than @end. */
static uint32_t local_below(const coll_comm_t *comm, uint32_t end)
{
	uint32_t r, nr = 0;

	for (r = 0; r < end; r++)
		nr += comm->nr_nodes < 2 || comm->node_of[r] == comm->node;
	return nr;
}

bool shm_is_needed(const coll_comm_t *comm)
{
	return local_below(comm, comm->size) > 1;
}

bool shm_is_crowded(const coll_comm_t *comm)
{
	return ranks_per_cpu(local_below(comm, comm->size)) > 1;
}

/*
 * COLL_SHM is 0: never; 1: whenever possible; measure: where shared memory is faster, also with
 * more ranks than CPUs; otherwise: if each rank has a CPU.
 */
static bool is_wanted(const coll_comm_t *comm)
{
	uint64_t feature = comm->nr_nodes > 1 ? COLL_FEAT_SHM_NODES : COLL_FEAT_SHM;
	uint32_t most = env_says("measure") ? SHM_CROWD_MOST : 1;

	if (!(comm->version.features & feature) || !shm_is_needed(comm) || comm->named ||
	    env_says("0"))
		return false;
	return shm_always() || ranks_per_cpu(local_below(comm, comm->size)) <= most;
}

bool shm_open_own(coll_comm_t *comm)
{
	struct coll_shm arg = { 0 };

	if (!is_wanted(comm))
		return false;
	if (!ioctl(comm->fd, COLL_IOC_SHM, &arg))
		return true;
	coll_debug("no shared memory: %s", strerror(errno));
	return false;
}

static void *map(coll_comm_t *comm, size_t size, uint64_t offset, int prot)
{
	void *p = mmap(NULL, size, prot, MAP_SHARED, comm->fd, (off_t)offset);

	return p == MAP_FAILED ? NULL : p;
}

/* A page that a child sees zeroed. */
static bool map_alive(struct shm *s)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	if (madvise(p, page, MADV_WIPEONFORK)) {
		munmap(p, page);
		return false;
	}
	s->alive = p;
	*s->alive = 1;
	return true;
}

static bool map_all(coll_comm_t *comm, struct shm *s)
{
	struct coll_shm arg = { 0 };

	/* The second call tells the same as the first. */
	if (ioctl(comm->fd, COLL_IOC_SHM, &arg))
		return false;
	s->size = arg.size;
	s->own_size = arg.own_size;
	s->all = map(comm, s->size, 0, PROT_READ);
	if (!s->all || !map_alive(s))
		return false;
	s->h = (const void *)s->all;
	if (s->h->magic != COLL_SHM_MAGIC || s->h->version != COLL_SHM_VERSION ||
	    s->h->nr_local != s->n || arg.local != s->me)
		return false;
	s->own = map(comm, s->own_size, arg.own_offset, PROT_READ | PROT_WRITE);
	return s->own;
}

static void unmap(struct shm *s)
{
	bool alive = s->alive && *s->alive;

	/* In a child other mappings may be at the addresses of the memory. */
	if (s->all && (alive || !s->alive))
		munmap((void *)s->all, s->size);
	if (s->own && alive)
		munmap(s->own, s->own_size);
	if (s->alive)
		munmap((void *)s->alive, (size_t)sysconf(_SC_PAGESIZE));
	free(s->plans);
	free(s->flights);
	free(s);
}

void shm_map(coll_comm_t *comm)
{
	struct shm *s;

	if (!is_wanted(comm))
		return;
	s = calloc(1, sizeof(*s));
	if (!s)
		return;
	s->n = local_below(comm, comm->size);
	s->me = local_below(comm, comm->rank);
	s->ranks = comm->size;
	s->rank = comm->rank;
	s->nodes = comm->nr_nodes > 1;
	s->gave = ~0ULL;
	if (!map_all(comm, s)) {
		unmap(s);
		coll_debug("no shared memory");
		return;
	}
	s->always = shm_always();
	shm_set_limits(s, s->h->data_size);
	s->looks_per_us = relax_per_us();
	s->spins = s->h->spin_us * s->looks_per_us;
	s->crowd = ranks_per_cpu(s->n);
	shm_read_header(s);
	comm->shm = s;
}

void shm_free(coll_comm_t *comm)
{
	if (comm->shm)
		unmap(comm->shm);
	comm->shm = NULL;
}
