// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * All ranks of a communicator decide together, through the MPI underneath, whether coll can be
 * used. They do so at the first blocking collective that could go through coll. By then all ranks
 * are in that call.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/env.h"
#include "comms.h"
#include "drive.h"
#include "files.h"
#include "measure.h"
#include "outside.h"

/* Bytes that a rank sends in the exchange of coll_init(), with room to grow. */
#define EXCHANGE_MOST	1024

struct blob {
	int32_t ok;
	int32_t reserved;
	uint8_t data[EXCHANGE_MOST];
};

/**
 * struct meeting - the exchange of one coll_init()
 * @comm: communicator of MPI through which it goes
 * @size: ranks in all
 * @blobs: room for what each rank sends; owned
 * @over: it has taken place
 */
struct meeting {
	MPI_Comm comm;
	int size;
	struct blob *blobs;
	bool over;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int key = MPI_KEYVAL_INVALID;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mpi_comm *all;

static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
	struct mpi_comm *mc = value;

	(void)comm, (void)keyval, (void)extra;
	mc->freed = true;
	comms_put(mc);
	return MPI_SUCCESS;
}

static void make_key(void)
{
	if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL))
		key = MPI_KEYVAL_INVALID;
}

static struct mpi_comm *new_one(MPI_Comm comm)
{
	struct mpi_comm *mc = calloc(1, sizeof(*mc));
	int between = 0;

	if (!mc)
		return NULL;
	mc->refs = 1;
	PMPI_Comm_test_inter(comm, &between);
	PMPI_Comm_rank(comm, &mc->rank);
	PMPI_Comm_size(comm, &mc->size);
	if (between)
		mc->why = BETWEEN;
	else if (mc->size == 1)
		mc->why = ALONE;
	pthread_mutex_lock(&lock);
	mc->next = all;
	mc->prev = &all;
	if (all)
		all->prev = &mc->next;
	all = mc;
	pthread_mutex_unlock(&lock);
	return mc;
}

static void end_coll(struct mpi_comm *mc)
{
	lanes_end(&mc->lanes);
	if (mc->coll)
		files_count(-1);
	coll_finalize(mc->coll);
	mc->coll = NULL;
}

void comms_hold(struct mpi_comm *mc)
{
	pthread_mutex_lock(&lock);
	mc->refs++;
	pthread_mutex_unlock(&lock);
}

void comms_put(struct mpi_comm *mc)
{
	bool last;

	pthread_mutex_lock(&lock);
	last = !--mc->refs;
	if (last) {
		*mc->prev = mc->next;
		if (mc->next)
			mc->next->prev = mc->prev;
	}
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	end_coll(mc);
	free(mc);
}

/* MPI_Finalize() has ended coll. Delete functions of attributes may still do collectives. */
static bool ended;

void comms_end_all(void)
{
	struct mpi_comm *mc;

	ended = true;
	for (mc = all; mc; mc = mc->next) {
		end_coll(mc);
		mc->why = UNUSABLE;
	}
}

/* An allgather of blobs of one size: a rank with nothing to say can take part, too. */
static int exchange_blobs(struct meeting *m, const void *mine, void *all_of_them, size_t len)
{
	struct blob own = { .ok = mine && len <= EXCHANGE_MOST };
	int r;

	m->over = true;
	if (own.ok)
		memcpy(own.data, mine, len);
	if (PMPI_Allgather(&own, sizeof(own), MPI_BYTE, m->blobs, sizeof(own), MPI_BYTE, m->comm))
		return -EIO;
	for (r = 0; r < m->size; r++) {
		if (!m->blobs[r].ok)
			return -EIO;
		if (own.ok)
			memcpy((char *)all_of_them + (size_t)r * len, m->blobs[r].data, len);
	}
	return 0;
}

static int exchange(void *ctx, const void *mine, void *all_of_them, size_t len, uint32_t timeout_ms)
{
	(void)timeout_ms;
	return exchange_blobs(ctx, mine, all_of_them, len);
}

/* Do all ranks say yes? */
static bool all_say(MPI_Comm comm, bool yes)
{
	int mine = yes, least = 0;

	return !PMPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, comm) && least;
}

static bool is_wanted(void)
{
	const char *device = env_get("COLL_DEVICE");
	int initialized = 0;
	uint32_t off;

	if (ended || (!env_u32("COLL_MPI_OFF", 0, 1, &off) && off))
		return false;
	/* A program with sessions only has no MPI_COMM_SELF, and never calls MPI_Finalize(). */
	PMPI_Initialized(&initialized);
	if (!initialized)
		return false;
	return files_suffice() && !access(device ? device : "/dev/coll", R_OK | W_OK);
}

static void try_init(struct mpi_comm *mc, struct meeting *m)
{
	const char *no_uring = env_get("COLL_NO_URING");
	struct coll_config cfg;
	int ret;

	coll_config_init(&cfg);
	cfg.rank = (uint32_t)mc->rank;
	cfg.size = (uint32_t)mc->size;
	cfg.node = env_get("COLL_NODE");
	cfg.device = env_get("COLL_DEVICE");
	cfg.exchange = exchange;
	cfg.exchange_ctx = m;
	env_u32("COLL_TIMEOUT_MS", 1, UINT32_MAX, &cfg.timeout_ms);
	if (no_uring && strcmp(no_uring, "0"))
		cfg.flags |= COLL_CONFIG_NO_URING;
	ret = coll_init(&cfg, &mc->coll);
	if (ret)
		mc->coll = NULL;
	else
		files_count(1);
	/* coll_init() has failed before the exchange, in which the others wait for this rank. */
	if (!m->over)
		exchange_blobs(m, NULL, NULL, 0);
	if (ret)
		coll_debug("mpi: no communicator: %s; %s", coll_strerror(ret), coll_last_error());
}

/* Rank 0's setting holds for all. Return: false on all ranks if @mc->coll has failed. */
static bool set_least(struct mpi_comm *mc, MPI_Comm comm)
{
	uint32_t set[2] = { 0, 0 };
	bool good = true;

	set[0] = !env_u32("COLL_MPI_MIN", 0, UINT32_MAX, &set[1]);
	PMPI_Bcast(set, 2, MPI_UINT32_T, 0, comm);
	mc->least = set[1];
	if (!set[0])
		good = measure_least(comm, mc->coll, &mc->least);
	if (!mc->rank)
		coll_debug("mpi: %d ranks: calls below %llu bytes stay with the MPI", mc->size,
			   (unsigned long long)mc->least);
	return good;
}

/*
 * A command in shared memory makes progress only while this rank calls coll. But this rank may stay
 * in a function of the MPI underneath while other ranks wait for it. A command with COLL_CMD_SLEEP
 * goes to the kernel at once. A module that does not know the flag has no shared memory.
 */
static void set_no_wait(struct mpi_comm *mc, const struct coll_version *version)
{
	mc->no_wait = version->features & COLL_FEAT_SPIN ? COLL_CMD_SLEEP : 0;
}

/*
 * Hosts may have different modules: the lowest limit of all of them counts. A request is for all
 * ranks, so one rank with other functions that wait is enough.
 */
static void set_fits(struct mpi_comm *mc, MPI_Comm comm, const struct coll_version *version)
{
	uint64_t mine[3] = { 0, 0, outside_waits() }, most[3] = { 1, 0, 0 };
	uint32_t r, node = coll_comm_node(mc->coll);

	for (r = 0; r < (uint32_t)mc->size; r++)
		mine[0] += coll_comm_node_of(mc->coll, r) == node;
	if (version->max_steps)
		mine[1] = ~(uint64_t)version->max_steps;
	PMPI_Allreduce(mine, most, 3, MPI_UINT64_T, MPI_MAX, comm);
	mc->fits = (struct fits){
		.size = (uint64_t)mc->size, .most_local = most[0], .max_steps = ~most[1],
		.nodes = coll_comm_nodes(mc->coll),
	};
	mc->outside = most[2];
}

static void look_at_module(struct mpi_comm *mc, MPI_Comm comm)
{
	struct coll_version version = { 0 };

	if (ioctl(coll_comm_fd(mc->coll), COLL_IOC_VERSION, &version))
		version = (struct coll_version){ 0 };
	set_no_wait(mc, &version);
	set_fits(mc, comm, &version);
}

static void make(struct mpi_comm *mc, MPI_Comm comm)
{
	struct meeting m = { .comm = comm, .size = mc->size };

	mc->why = UNUSABLE;
	m.blobs = calloc((size_t)mc->size, sizeof(*m.blobs));
	/* The exchange needs all ranks: a rank without memory says so before it. */
	if (!all_say(comm, m.blobs && is_wanted())) {
		free(m.blobs);
		return;
	}
	try_init(mc, &m);
	free(m.blobs);
	if (all_say(comm, mc->coll)) {
		coll_comm_set_idle(mc->coll, drive_idle, NULL);
		look_at_module(mc, comm);
		if (set_least(mc, comm)) {
			mc->why = TAKEN;
			return;
		}
	}
	end_coll(mc);
}

/* This rank has no memory: tell the others. */
static struct mpi_comm *refuse(MPI_Comm comm)
{
	static struct mpi_comm none = { .why = UNUSABLE, .refs = 1 << 30, .prev = &none.next };
	int between = 0, size = 1;

	PMPI_Comm_test_inter(comm, &between);
	PMPI_Comm_size(comm, &size);
	if (!between && size > 1)
		all_say(comm, false);
	return &none;
}

struct mpi_comm *comms_get(MPI_Comm comm, bool want)
{
	struct mpi_comm *mc = NULL;
	int found = 0;

	pthread_once(&once, make_key);
	PMPI_Comm_get_attr(comm, key, &mc, &found);
	if (found)
		return mc;
	if (!want)
		return NULL;
	mc = new_one(comm);
	if (!mc)
		mc = refuse(comm);
	else if (mc->why == TAKEN)
		make(mc, comm);
	PMPI_Comm_set_attr(comm, key, mc);
	return mc;
}
