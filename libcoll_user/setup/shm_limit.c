// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * An allreduce of the largest vector that a slot has room for is timed both ways: in shared memory
 * and in the kernel. Then vectors of a quarter of the size before are timed, until shared memory is
 * not slower. An allreduce gives all ranks the same times, so they find the same limit. For
 * collectives that only copy, an allgather is timed. Their limit is usually higher: in shared
 * memory each rank folds all elements that it needs, but the kernel divides this work among the
 * ranks.
 *
 * With more ranks than CPUs the time of an op depends on the order in which the scheduler lets the
 * ranks run: some ops take ten times as long as others. So there more ops are timed, the sum of all
 * times counts, and small vectors come first.
 *
 * Ranks with different limits would do no harm: they meet in the kernel, see shm_run.c. But each
 * such op would cost both ways.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/debug.h"
#include "base/env.h"
#include "base/relax.h"
#include "comm/comm.h"
#include "comm/shm.h"
#include "shm/shm_flight.h"
#include "shm_limit.h"

/* The least vector that is timed. */
#define LEAST		64
/* From one vector to the next. */
#define FACTOR		4
/* Ops for which the clock is read once: reading it may take as long as an op. */
#define OPS		4
#define OPS_CROWDED	16
/* Each way is timed at most this many times. */
#define ROUNDS		3
#define ROUNDS_CROWDED	5
/* A rank without a slot offers this: with several nodes no slot has more bytes. */
#define NODE_ROOM	4096
/* For each kind of collectives: no round begins later than this. */
#define BUDGET_NS	4000000
/* The same with more ranks than CPUs. */
#define BUDGET_CROWDED_NS	40000000

enum way { SHARED, KERNEL, NR_WAYS };

/**
 * struct trial - both ways for a vector
 * @kind: of the collective
 * @in: zeroes
 * @out: room for the result
 * @deadline: of each op
 * @crowded: as in struct shm_terms
 * @ops: of a batch
 * @rounds: at most
 * @end: when no further round begins, ns
 */
struct trial {
	coll_comm_t *comm;
	enum shm_kind kind;
	void *in, *out;
	struct deadline deadline;
	bool crowded;
	int ops, rounds;
	uint64_t end;
};

/* Read COLL_SHM_LIMIT. If it is not set: with @always, all that a slot has room for. */
static int limit_env(bool always, uint32_t *limit)
{
	const char *v = env_get("COLL_SHM_LIMIT");

	*limit = v || !always ? SHM_MEASURE : SHM_MEASURE - 1;
	if (!v || !strcmp(v, "auto"))
		return 0;
	return env_u32("COLL_SHM_LIMIT", 0, SHM_MEASURE - 1, limit);
}

/* Does COLL_SHM_LIMIT name a number? */
static bool is_set(void)
{
	const char *v = env_get("COLL_SHM_LIMIT");

	return v && strcmp(v, "auto");
}

/* With several nodes, a node with one rank takes part in the ops, but shares no memory. */
static bool needs_none(const coll_comm_t *comm)
{
	return comm->nr_nodes > 1 && !shm_is_needed(comm);
}

/*
 * Are the limits of @like good for @comm, too? Where both have more ranks than CPUs, programs that
 * make many communicators would spend much time on measuring.
 */
static bool inherits_from(const coll_comm_t *comm, const coll_comm_t *like)
{
	bool crowded = like && like->nr_nodes == 1 && like->shm && like->shm->crowd > 1 &&
		       shm_is_crowded(comm);

	if (!like || !like->shm)
		return false;
	return crowded || (like->size == comm->size && !is_set());
}

/* The limit that rank 0 wants for a kind. @given: by the environment */
static uint32_t wanted(const coll_comm_t *like, bool inherits, uint32_t k, uint32_t given)
{
	if (!inherits)
		return given;
	return is_set() && given < like->shm->limit[k] ? given : (uint32_t)like->shm->limit[k];
}

int shm_offer(coll_comm_t *comm, const coll_comm_t *like, uint8_t *blob)
{
	bool inherits = inherits_from(comm, like);
	uint32_t limit = 0, k;
	int ret = limit_env(shm_always(), &limit);

	blob[0] = !ret && (shm_open_own(comm) || needs_none(comm)) ? SHM_BLOB_PART : 0;
	if (!shm_always() && shm_is_crowded(comm))
		blob[0] |= SHM_BLOB_CROWDED;
	if (inherits)
		blob[0] |= SHM_BLOB_INHERITS;
	for (k = 0; k < SHM_KINDS; k++)
		put_le32(blob + 1 + 4 * k, wanted(like, inherits, k, limit));
	return ret;
}

void shm_hear(struct shm_terms *t, uint32_t rank, const uint8_t *blob)
{
	uint32_t k;

	if (!rank)
		*t = (struct shm_terms){
			.all = true, .budget_ns = BUDGET_NS, .inherits = blob[0] & SHM_BLOB_INHERITS,
		};
	for (k = 0; k < SHM_KINDS && !rank; k++)
		t->limit[k] = get_le32(blob + 1 + 4 * k);
	t->all = t->all && blob[0] & SHM_BLOB_PART;
	if (blob[0] & SHM_BLOB_CROWDED) {
		t->crowded = true;
		t->budget_ns = BUDGET_CROWDED_NS;
	}
}

/* Submit a command to the kernel, not to shared memory. */
static int submit(const struct trial *t, struct coll_cmd *cmd)
{
	struct shm *s = t->comm->shm;
	int left = deadline_left(t->deadline), ret;

	if (!left)
		return -ETIMEDOUT;
	cmd->timeout_ns = (uint64_t)left * 1000000;
	t->comm->shm = NULL;
	ret = coll_submit(t->comm, cmd);
	t->comm->shm = s;
	return ret;
}

/*
 * An op with @bytes of input. With several nodes the limit applies to the result, too: see
 * blocks_fit() in shm/shm_move.c.
 */
static void command(const struct trial *t, size_t bytes, struct coll_cmd *cmd)
{
	if (t->kind == SHM_FOLDS)
		coll_cmd_allreduce(t->comm, cmd, t->in, t->out, bytes / 4, COLL_F32, COLL_OP_SUM);
	else
		coll_cmd_allgather(t->comm, cmd, t->in, t->out,
				   t->comm->nr_nodes > 1 ? bytes / t->comm->size : bytes, COLL_BYTE);
}

/* *ns: what one op takes */
static int run_batch(const struct trial *t, enum way way, size_t bytes, uint64_t *ns)
{
	uint64_t begin = relax_now_ns();
	struct coll_cmd cmd;
	int i, ret = 0;

	command(t, bytes, &cmd);
	cmd.timeout_ns = (uint64_t)deadline_left(t->deadline) * 1000000 + 1;
	for (i = 0; i < t->ops && !ret; i++)
		ret = way == KERNEL ? submit(t, &cmd) : coll_submit(t->comm, &cmd);
	*ns = (relax_now_ns() - begin) / (uint64_t)t->ops;
	return ret;
}

/**
 * struct times - of the slowest rank
 * @best: the best time of an op in all rounds, by way
 * @sum: the sum over all rounds of the mean time of an op, by way
 * @late: time is up: there is no further round
 */
struct times {
	uint64_t best[NR_WAYS];
	uint64_t sum[NR_WAYS];
	uint64_t late;
};

static int run_round(const struct trial *t, size_t bytes, struct times *mine)
{
	uint64_t took;
	int way, ret = 0;

	for (way = 0; way < NR_WAYS && !ret; way++) {
		ret = run_batch(t, (enum way)way, bytes, &took);
		if (took < mine->best[way])
			mine->best[way] = took;
		mine->sum[way] += took;
	}
	mine->late = relax_now_ns() > t->end;
	return ret;
}

/* *all: the same on all ranks. */
static int run_rounds(const struct trial *t, size_t bytes, struct times *all)
{
	struct times mine = { .best = { ~0ULL, ~0ULL } };
	struct coll_cmd cmd;
	int i, ret = 0;

	all->late = false;
	for (i = 0; i < t->rounds && !all->late && !ret; i++) {
		ret = run_round(t, bytes, &mine);
		*all = mine;
		coll_cmd_allreduce(t->comm, &cmd, COLL_IN_PLACE, all, sizeof(*all) / 8, COLL_U64,
				   COLL_OP_MAX);
		if (!ret)
			ret = submit(t, &cmd);
	}
	/* All rounds have been run: it does not matter that time is up. */
	if (i == t->rounds)
		all->late = false;
	return ret;
}

/*
 * Is shared memory not slower? If time is up, the machine probably has other work: the times mean
 * nothing, and shared memory counts as not slower. A quarter more time is noise. With several nodes
 * it has to be faster before time is up, because the kernel does the op itself in any case. With
 * more ranks than CPUs it has to be faster by a quarter if time is up, because fewer rounds have
 * been run.
 */
static bool is_good(const struct trial *t, const struct times *all)
{
	uint64_t kernel = all->best[KERNEL];

	if (t->comm->nr_nodes > 1)
		return !all->late && (t->crowded ? all->sum[SHARED] < all->sum[KERNEL] :
				      all->best[SHARED] < kernel);
	if (t->crowded)
		return all->sum[SHARED] <= all->sum[KERNEL] - (all->late ? all->sum[KERNEL] / 4 : 0);
	return all->late || all->best[SHARED] <= kernel + kernel / 4;
}

/* Set *late if time was up before all rounds were done. Return: is_good(), or -errno. */
static int try_bytes(const struct trial *t, size_t bytes, bool *late)
{
	struct times all;
	int ret = run_rounds(t, bytes, &all);
	const uint64_t *ns = t->crowded ? all.sum : all.best;

	if (ret)
		return ret;
	coll_debug("%s of %zu bytes: shared memory %llu ns, kernel %llu ns%s%s",
		   t->kind == SHM_FOLDS ? "allreduce" : "allgather", bytes,
		   (unsigned long long)ns[SHARED], (unsigned long long)ns[KERNEL],
		   t->crowded ? ", sums of all rounds" : "", all.late ? ", and time is up" : "");
	*late = all.late;
	return is_good(t, &all);
}

/*
 * Set *@most to the smallest room that any rank has; 0: a rank has not mapped the memory. This op
 * goes to the kernel: shared memory may be used only after all ranks have mapped it.
 */
static int agree_on_room(const struct trial *t, uint32_t *most)
{
	struct coll_cmd cmd;

	coll_cmd_allreduce(t->comm, &cmd, COLL_IN_PLACE, most, 1, COLL_U32, COLL_OP_MIN);
	return submit(t, &cmd);
}

/* The first op in each slot touches pages that are not there yet. */
static int warm_up(const struct trial *t, size_t bytes)
{
	uint64_t ns;
	int i, ret = 0;

	for (i = 0; i < COLL_SHM_SLOTS && !ret; i += t->ops)
		ret = run_batch(t, SHARED, bytes, &ns);
	return ret;
}

static int find_limit_downwards(const struct trial *t, size_t most, size_t *limit)
{
	size_t bytes;
	bool late;
	int ret = 0;

	for (bytes = most; bytes >= LEAST && !ret; bytes /= FACTOR) {
		ret = try_bytes(t, bytes, &late);
		*limit = bytes;
	}
	if (!ret)
		*limit = 0;
	return ret < 0 ? ret : 0;
}

/* Try larger and larger vectors. Stop at the first one that is not good, or when time is up. */
static int find_limit_upwards(const struct trial *t, size_t most, size_t *limit)
{
	size_t divisor = 1;
	bool late = false;
	int ret = 1;

	while (most / divisor / FACTOR >= LEAST)
		divisor *= FACTOR;
	*limit = 0;
	for (; divisor && ret > 0 && !late; divisor /= FACTOR) {
		ret = try_bytes(t, most / divisor, &late);
		if (ret > 0)
			*limit = most / divisor;
	}
	return ret < 0 ? ret : 0;
}

/* All ranks have room for @most bytes. @limit: by kind. */
static int measure_up_to(struct trial *t, size_t most, uint64_t budget_ns, size_t *limit)
{
	int ret, k;

	t->out = (char *)t->in + most;
	t->kind = SHM_FOLDS;
	ret = warm_up(t, most);
	for (k = 0; k < SHM_KINDS && !ret; k++) {
		t->kind = (enum shm_kind)k;
		t->end = relax_now_ns() + budget_ns;
		ret = t->crowded ? find_limit_upwards(t, most, &limit[k]) :
				   find_limit_downwards(t, most, &limit[k]);
	}
	return ret;
}

static int measure(coll_comm_t *comm, const struct shm_terms *terms, struct deadline deadline)
{
	struct shm *s = comm->shm;
	uint32_t most = s ? s->h->data_size : needs_none(comm) ? NODE_ROOM : 0;
	uint32_t bound = terms->limit[SHM_COPIES] > terms->limit[SHM_FOLDS] ?
			 terms->limit[SHM_COPIES] : terms->limit[SHM_FOLDS];
	struct trial t = {
		.comm = comm, .deadline = deadline, .crowded = terms->crowded,
		.ops = terms->crowded ? OPS_CROWDED : OPS,
		.rounds = terms->crowded ? ROUNDS_CROWDED : ROUNDS,
	};
	uint32_t blocks = comm->nr_nodes > 1 ? 1 : comm->size;
	bool always = s && s->always;
	size_t limit[SHM_KINDS] = { 0 };
	int ret;

	most = most < bound ? most : bound;
	t.in = calloc(1 + blocks, most + 1);
	if (!t.in)
		most = 0;
	/* A rank that had to sleep shall go on trying. */
	if (s)
		s->always = true;
	comm->settles = true;
	ret = agree_on_room(&t, &most);
	if (!ret && most)
		ret = measure_up_to(&t, most, terms->budget_ns, limit);
	comm->settles = false;
	if (s)
		s->always = always;
	if (s && !ret && (most || s->nodes || t.crowded))
		memcpy(s->limit, limit, sizeof(limit));
	free(t.in);
	return ret;
}

int shm_settle(coll_comm_t *comm, const struct shm_terms *t, struct deadline deadline)
{
	struct shm *s = comm->shm;
	int ret = 0, k;

	/* Some rank has no memory; or each rank is alone on its node, and needs none. */
	if (!t->all || comm->size == comm->nr_nodes) {
		/* On one node the memory is not active then. */
		if (s && s->nodes)
			shm_set_limits(s, 0);
		return 0;
	}
	if (!t->inherits && (t->limit[0] == SHM_MEASURE ||
			     (t->crowded && (t->limit[SHM_COPIES] || t->limit[SHM_FOLDS]))))
		ret = measure(comm, t, deadline);
	for (k = 0; k < SHM_KINDS && s; k++)
		if (t->limit[k] < s->limit[k])
			s->limit[k] = t->limit[k];
	if (s && shm_most(s) && !s->nodes)
		shm_flight_allow(comm);
	if (s && !ret)
		coll_debug("shared memory for up to %zu bytes, %zu for reductions",
			   s->limit[SHM_COPIES], s->limit[SHM_FOLDS]);
	return ret;
}
