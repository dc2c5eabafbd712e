// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... all_rank [BIG [COLLECTIVE]]: one rank of a test of every collective by every
 * algorithm, every element verified, and nothing else touched.
 *
 * Element i of the input of rank r, for rank d where it matters, is value(r, d, i), so each rank
 * can compute what every rank must get. Reducing collectives also run with operators that treat
 * inputs, partial results and results in other ways. Commands run in turn blocking, nonblocking,
 * and prepared and started twice.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#include "algorithms/table.h"
#include "collective.h"

#define UNTOUCHED	0x5a5a5a5aU
#define GAP		3

/* One call: what, how much, and the buffers it has. */
struct call {
	enum coll_collective what;
	uint32_t algorithm;
	uint32_t root;
	uint64_t base;		/* count, or what counts are made from */
	bool inplace;
	uint64_t *counts, *displs;
	uint32_t *in, *out, *want;
	uint64_t in_len, out_len;
};

static coll_comm_t *comm;
static uint32_t me, size;
static unsigned long checked, ways;
static int bad;

/* The operators, all on elements of 4 bytes. */
static const struct {
	enum coll_op_code op;
	enum coll_dtype dtype;
} reductions[] = {
	{ COLL_OP_SUM, COLL_U32 }, { COLL_OP_AVG, COLL_U32 },
	{ COLL_OP_PREMULSUM, COLL_U32 }, { COLL_OP_SUM_EXACT, COLL_F32 },
	{ COLL_OP_REPLACE, COLL_U32 },
};
#define NR_REDUCTIONS	(sizeof(reductions) / sizeof(reductions[0]))
static unsigned int reduction;

static uint32_t bits_of(float f)
{
	uint32_t b;

	memcpy(&b, &f, sizeof(b));
	return b;
}

static uint32_t number(uint32_t r, uint32_t d, uint64_t i)
{
	return (r + 1) * ((uint32_t)i + 7) + 1000003 * d;
}

/* An input. The large floats cancel each other, and swallow the small ones in a plain sum. */
static uint32_t value(uint32_t r, uint32_t d, uint64_t i)
{
	if (reductions[reduction].dtype != COLL_F32)
		return number(r, d, i);
	if (r + 1 == size && size % 2)
		return bits_of((number(r, d, i) & 1023));
	return bits_of((r % 2 ? -1e30f : 1e30f));
}

/* The sum of number(r, d, i) over ranks below @n, each @r + 2 times if @weighted. */
static uint32_t sum_of_numbers(uint32_t n, uint32_t d, uint64_t i, bool weighted)
{
	uint32_t first = n * (n + 1) / 2, factors = first + n;

	if (!weighted)
		return first * ((uint32_t)i + 7) + 1000003 * d * n;
	return n * (n + 1) * (n + 2) / 3 * ((uint32_t)i + 7) + 1000003 * d * factors;
}

/* The reduction of the inputs of ranks below @n. */
static uint32_t sum(uint32_t n, uint32_t d, uint64_t i)
{
	switch (reductions[reduction].op) {
	case COLL_OP_SUM_EXACT:
		if (n == size && size % 2)
			return value(size - 1, d, i);
		return bits_of(n % 2 ? 1e30f : 0);
	case COLL_OP_REPLACE:
		return value(n - 1, d, i);
	case COLL_OP_PREMULSUM:
		return sum_of_numbers(n, d, i, true);
	case COLL_OP_AVG:
		return sum_of_numbers(n, d, i, false) / size;
	default:
		return sum_of_numbers(n, d, i, false);
	}
}

static bool has_counts(enum coll_collective what)
{
	return what == COLL_REDUCE_SCATTER || what == COLL_ALLGATHERV ||
	       what == COLL_GATHERV || what == COLL_SCATTERV || what == COLL_ALLTOALLV;
}

static bool is_flat(enum coll_collective what)
{
	return what == COLL_BROADCAST || what == COLL_REDUCE || what == COLL_ALLREDUCE ||
	       what == COLL_SCAN || what == COLL_EXSCAN;
}

/* Elements that travel from @from to @to, of what is cut into blocks. */
static uint64_t block(const struct call *c, uint32_t from, uint32_t to)
{
	uint32_t k = c->what == COLL_ALLTOALLV ? from * 3 + to :
		     c->what == COLL_SCATTERV || c->what == COLL_REDUCE_SCATTER ? to : from;

	return has_counts(c->what) ? (c->base + k * 7) % (2 * c->base + 1) : c->base;
}

/* The blocks of a vector: this rank's to all (@out false) or from all. */
static uint64_t block_of(const struct call *c, bool out, uint32_t k)
{
	return out ? block(c, k, me) : block(c, me, k);
}

static uint64_t gap(const struct call *c)
{
	return has_counts(c->what) && c->what != COLL_REDUCE_SCATTER ? GAP : 0;
}

static uint64_t all_blocks(const struct call *c, bool out)
{
	uint64_t n = 0;
	uint32_t k;

	for (k = 0; k < size; k++)
		n += block_of(c, out, k) + gap(c);
	return n;
}

static uint64_t block_at(const struct call *c, bool out, uint32_t k)
{
	uint64_t at = 0;
	uint32_t i;

	for (i = 0; i < k; i++)
		at += block_of(c, out, i) + gap(c);
	return at;
}

/* Has this rank all blocks (2), its own (1), or none (0) in its input or output? */
static int has(const struct call *c, bool out)
{
	bool root = me == c->root;

	switch (c->what) {
	case COLL_ALLGATHER: case COLL_ALLGATHERV:
		return out ? 2 : 1;
	case COLL_GATHER: case COLL_GATHERV:
		return out ? (root ? 2 : 0) : 1;
	case COLL_SCATTER: case COLL_SCATTERV:
		return out ? 1 : (root ? 2 : 0);
	case COLL_REDUCE_SCATTER: case COLL_REDUCE_SCATTER_BLOCK:
		return out ? 1 : 2;
	default:
		return 2;
	}
}

static uint64_t length(const struct call *c, bool out)
{
	if (is_flat(c->what))
		return c->base;
	switch (has(c, out)) {
	case 0:
		return 0;
	case 1:
		return out ? block(c, c->root, me) : block(c, me, c->root);
	default:
		return all_blocks(c, out);
	}
}

/* Input of this rank at element @i of a flat vector. */
static uint32_t flat_want(const struct call *c, uint64_t i)
{
	switch (c->what) {
	case COLL_BROADCAST:
		return value(c->root, 0, i);
	case COLL_REDUCE:
		return me == c->root ? sum(size, 0, i) : UNTOUCHED;
	case COLL_ALLREDUCE:
		return sum(size, 0, i);
	case COLL_SCAN:
		return sum(me + 1, 0, i);
	default:
		return me ? sum(me, 0, i) : UNTOUCHED;
	}
}

static void fill_flat(struct call *c)
{
	uint64_t i;

	for (i = 0; i < c->base; i++) {
		c->in[i] = value(me, 0, i);
		c->want[i] = flat_want(c, i);
		if (c->inplace && c->want[i] == UNTOUCHED)
			c->want[i] = c->in[i];
	}
	if (c->what == COLL_BROADCAST)
		memcpy(c->out, c->in, c->base * 4);
}

static void fill_blocks(struct call *c)
{
	bool sums = c->what == COLL_REDUCE_SCATTER || c->what == COLL_REDUCE_SCATTER_BLOCK;
	int in = has(c, false), out = has(c, true);
	uint32_t k;
	uint64_t i, n;

	for (k = 0; k < size && in; k++) {
		uint32_t to = in == 1 ? me : k;
		uint32_t *p = c->in + (in == 1 ? 0 : block_at(c, false, k));

		n = in == 1 ? length(c, false) : block_of(c, false, k);
		for (i = 0; i < n; i++)
			p[i] = value(me, in == 1 ? 0 : to, i);
	}
	for (k = 0; k < size && out; k++) {
		uint32_t from = out == 1 ? c->root : k;
		uint32_t *p = c->want + (out == 1 ? 0 : block_at(c, true, k));

		n = out == 1 ? length(c, true) : block_of(c, true, k);
		for (i = 0; i < n; i++)
			p[i] = sums ? sum(size, me, i) :
			       value(from, in == 1 ? 0 : me, i);
		if (out == 1 && !sums && c->what != COLL_ALLTOALL)
			for (i = 0; i < n; i++)
				p[i] = value(c->root, me, i);
	}
}

static void fill_counts(struct call *c)
{
	bool out = c->what == COLL_ALLGATHERV || c->what == COLL_GATHERV;
	uint32_t k;

	for (k = 0; k < size; k++) {
		c->counts[k] = block_of(c, out, k);
		c->displs[k] = block_at(c, out, k);
		if (c->what == COLL_ALLTOALLV) {
			c->counts[size + k] = block_of(c, true, k);
			c->displs[size + k] = block_at(c, true, k);
		} else if (c->what == COLL_REDUCE_SCATTER) {
			c->counts[k] = block(c, 0, k);
		}
	}
}

/* The command; in place the buffer that has all is used for both. */
static void make_cmd(struct call *c, struct coll_cmd *cmd)
{
	const void *in = c->inplace ? COLL_IN_PLACE : c->in;
	void *out = c->out;
	enum coll_dtype t = reductions[reduction].dtype;
	enum coll_op_code op = reductions[reduction].op;

	switch (c->what) {
	case COLL_BROADCAST:
		coll_cmd_broadcast(comm, cmd, out, c->base, t, c->root); break;
	case COLL_REDUCE:
		coll_cmd_reduce(comm, cmd, in, out, c->base, t, op, c->root); break;
	case COLL_ALLREDUCE:
		coll_cmd_allreduce(comm, cmd, in, out, c->base, t, op); break;
	case COLL_SCAN:
		coll_cmd_scan(comm, cmd, in, out, c->base, t, op); break;
	case COLL_EXSCAN:
		coll_cmd_exscan(comm, cmd, in, out, c->base, t, op); break;
	case COLL_REDUCE_SCATTER:
		coll_cmd_reduce_scatter(comm, cmd, in, out, c->counts, t, op); break;
	case COLL_REDUCE_SCATTER_BLOCK:
		coll_cmd_reduce_scatter_block(comm, cmd, in, out, c->base, t, op); break;
	case COLL_ALLGATHER:
		coll_cmd_allgather(comm, cmd, in, out, c->base, t); break;
	case COLL_ALLGATHERV:
		coll_cmd_allgatherv(comm, cmd, in, out, c->counts, c->displs, t); break;
	case COLL_GATHER:
		coll_cmd_gather(comm, cmd, in, out, c->base, t, c->root); break;
	case COLL_GATHERV:
		coll_cmd_gatherv(comm, cmd, in, length(c, false), out, c->counts, c->displs,
				 t, c->root); break;
	case COLL_SCATTER:
		coll_cmd_scatter(comm, cmd, c->in, c->inplace ? (void *)COLL_IN_PLACE : out,
				 c->base, t, c->root); break;
	case COLL_SCATTERV:
		coll_cmd_scatterv(comm, cmd, c->in, c->counts, c->displs,
				  c->inplace ? (void *)COLL_IN_PLACE : out, length(c, true),
				  t, c->root); break;
	case COLL_ALLTOALL:
		coll_cmd_alltoall(comm, cmd, in, out, c->base, t); break;
	case COLL_ALLTOALLV:
		coll_cmd_alltoallv(comm, cmd, in, out, c->counts, c->displs, t); break;
	default:
		coll_cmd_barrier(comm, cmd);
	}
	cmd->algorithm = c->algorithm;
	if (op == COLL_OP_PREMULSUM)
		cmd->scalar = me + 2;
}

/* Output as it is before the call. */
static void prepare(struct call *c)
{
	uint64_t i;

	for (i = 0; i < c->out_len; i++)
		c->out[i] = UNTOUCHED;
	for (i = 0; i < c->out_len; i++)
		c->want[i] = UNTOUCHED;
	if (is_flat(c->what))
		fill_flat(c);
	else
		fill_blocks(c);
	if (!c->inplace || c->what == COLL_SCATTER || c->what == COLL_SCATTERV)
		return;
	/* The input is where the result will be. The result may be shorter than the input. */
	if (has(c, false) == 1) {
		memcpy(c->out + block_at(c, true, me), c->in, 4 * c->in_len);
	} else {
		memcpy(c->out, c->in, 4 * c->in_len);
		for (i = length(c, true); i < c->in_len; i++)
			c->want[i] = c->in[i];
		/* gaps keep the input too */
		for (i = 0; i < c->in_len; i++)
			if (c->want[i] == UNTOUCHED)
				c->want[i] = c->in[i];
	}
}

static int run(const struct coll_cmd *cmd, struct call *c)
{
	coll_request_t *req;
	int ret, i;

	switch (ways++ % 3) {
	case 0:
		return coll_submit(comm, cmd);
	case 1:
		ret = coll_isubmit(comm, cmd, &req);
		return ret ? ret : coll_wait(req);
	default:
		ret = coll_persist(comm, cmd, &req);
		for (i = 0; !ret && i < 2; i++) {
			if (i)
				prepare(c);
			ret = coll_start(req);
			if (!ret)
				ret = coll_wait(req);
		}
		if (coll_request_free(req) && !ret)
			ret = -EPROTO;
		return ret;
	}
}

static bool reduces(enum coll_collective what)
{
	return what == COLL_REDUCE || what == COLL_ALLREDUCE || what == COLL_SCAN ||
	       what == COLL_EXSCAN || what == COLL_REDUCE_SCATTER ||
	       what == COLL_REDUCE_SCATTER_BLOCK;
}

/* May the kernel use this algorithm, as the flags say? Its own rules are in support.c. */
static bool fits(const struct coll_algorithm *a, enum coll_collective what, enum coll_op_code op)
{
	uint32_t kind = coll_kind_of(what)->flags;
	bool ranks = kind & COLL_KIND_RANKS;

	/*
	 * Not if it needs ranks and participants are nodes; passes on blocks whose size only two
	 * ranks know; needs equal blocks; or sends inputs that cannot be sent as they are.
	 */
	if ((a->flags & COLL_ALG_RANKS && !ranks) ||
	    (kind & COLL_KIND_PRIVATE && !(a->flags & COLL_ALG_DIRECT)) ||
	    (kind & COLL_KIND_COUNTS && a->flags & COLL_ALG_EQUAL) ||
	    (a->flags & COLL_ALG_INPUT &&
	     (!ranks || op == COLL_OP_PREMULSUM || op == COLL_OP_SUM_EXACT)))
		return false;
	if (op == COLL_OP_REPLACE)
		return what == COLL_ALLREDUCE || (ranks && a->flags & COLL_ALG_ORDERED);
	return op != COLL_OP_AVG || (what != COLL_SCAN && what != COLL_EXSCAN);
}

/* The error of a call that no algorithm may do; 0: one may. */
static int refusal(enum coll_collective what, uint32_t algorithm, enum coll_op_code op)
{
	uint32_t id = algorithm & COLL_ALG_ID_MASK, i;
	const struct coll_algorithm *a;

	for (i = 0; (a = coll_algorithm_of(what, i)); i++)
		if ((!id || (a->id == id && (algorithm == id || a->flags & COLL_ALG_HAS_RADIX))) &&
		    fits(a, what, reduces(what) ? op : COLL_OP_NONE))
			return 0;
	return algorithm ? -EINVAL : -EOPNOTSUPP;
}

static void complain(const struct call *c, const char *what, uint64_t i, uint32_t got,
		     uint32_t want)
{
	if (bad++ < 10)
		fprintf(stderr, "rank %u of %u: collective %u, op %u, algorithm %u, root %u, count %llu%s: %s at %llu: %#x, not %#x\n",
			me, size, c->what, reductions[reduction].op, c->algorithm, c->root, (unsigned long long)c->base,
			c->inplace ? ", in place" : "", what, (unsigned long long)i, got, want);
}

/* Memory for @n elements, the same as before where it suffices: fresh pages are slow. */
static uint32_t *room(unsigned int which, uint64_t n)
{
	static struct {
		uint32_t *mem;
		uint64_t n;
	} rooms[3];

	if (!rooms[which].mem || rooms[which].n < n) {
		free(rooms[which].mem);
		rooms[which].n = n;
		rooms[which].mem = malloc(4 * n + 4);
		if (!rooms[which].mem)
			exit(2);
	}
	return rooms[which].mem;
}

/* Returns whether there is such an algorithm. */
static bool check(struct call *c)
{
	bool skip = c->inplace && (c->what == COLL_SCATTER || c->what == COLL_SCATTERV);
	struct coll_cmd cmd;
	int ret, want;
	uint64_t i;

	c->in_len = length(c, false);
	c->out_len = length(c, true);
	if (c->inplace && c->out_len < c->in_len)
		c->out_len = c->in_len;
	c->in = room(0, c->in_len);
	c->out = room(1, c->out_len);
	c->want = room(2, c->out_len);
	fill_counts(c);
	prepare(c);
	make_cmd(c, &cmd);
	ret = run(&cmd, c);
	want = refusal(c->what, c->algorithm, reductions[reduction].op);
	if (ret != want) {
		fprintf(stderr, "rank %u: collective %u, op %u, algorithm %#x: %d, not %d\n", me,
			c->what, reductions[reduction].op, c->algorithm, ret, want);
		exit(1);
	}
	if (ret)
		return false;
	checked++;
	for (i = 0; i < c->out_len && !skip; i++)
		if (c->out[i] != c->want[i])
			complain(c, "output", i, c->out[i], c->want[i]);
	/* The root of a scatter in place has its block where it was. */
	if (!c->inplace)
		for (i = 0; i < c->in_len && is_flat(c->what); i++)
			if (c->in[i] != value(me, 0, i))
				complain(c, "input", i, c->in[i], value(me, 0, i));
	return true;
}

/* May this rank work in place? In a rooted collective only the root may, else every rank. */
static bool may_inplace(enum coll_collective what, uint32_t root)
{
	switch (what) {
	case COLL_BARRIER: case COLL_BROADCAST:
		return false;
	case COLL_REDUCE: case COLL_GATHER: case COLL_GATHERV: case COLL_SCATTER:
	case COLL_SCATTERV:
		return me == root;
	default:
		return true;
	}
}

static bool is_rooted(enum coll_collective what)
{
	return what == COLL_BROADCAST || what == COLL_REDUCE || what == COLL_GATHER ||
	       what == COLL_GATHERV || what == COLL_SCATTER || what == COLL_SCATTERV;
}

static void check_algorithm(struct call *c, uint64_t big)
{
	uint64_t counts[] = { 0, 1, size - 1, size + 1, 1000, big };
	uint32_t roots[] = { 0, size - 1, size / 2 }, r;
	size_t i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		/* Other operators need fewer cases. */
		if (reduction && counts[i] != size + 1 && counts[i] != 1000)
			continue;
		for (r = 0; r < (is_rooted(c->what) && !reduction ? 3 : 1); r++) {
			c->root = is_rooted(c->what) ? roots[reduction ? 1 : r] : 0;
			c->base = counts[i];
			/* The large count is that of a vector: the blocks share it. */
			if (counts[i] == big && !is_flat(c->what))
				c->base = big / size + 1;
			c->inplace = false;
			if (!check(c))
				return;
			c->inplace = may_inplace(c->what, c->root);
			check(c);
		}
		if (c->what == COLL_BARRIER)
			return;
	}
}

/*
 * Sums of floats depend on the order of the additions. Whatever the order is, all ranks must get
 * the same bits: the smallest and the largest pattern of all ranks are the same.
 */
static void check_bits(void)
{
	enum { N = 1009 };
	static uint32_t low[N], high[N];
	static float in[N], out[N];
	struct coll_cmd cmd;
	uint32_t alg, seed = me + 1, i;
	int ret;

	for (i = 0; i < N; i++) {
		seed = seed * 1664525 + 1013904223;
		in[i] = (float)(int32_t)seed / (float)(1 + (seed >> 9 & 1023));
	}
	for (alg = 0; alg < COLL_NR_ALGS; alg++) {
		coll_cmd_allreduce(comm, &cmd, in, out, N, COLL_F32, COLL_OP_SUM);
		cmd.algorithm = alg;
		ret = coll_submit(comm, &cmd);
		if (ret && ret == refusal(COLL_ALLREDUCE, alg, COLL_OP_SUM))
			continue;
		if (!ret)
			ret = coll_allreduce(comm, out, low, N, COLL_U32, COLL_OP_MIN);
		if (!ret)
			ret = coll_allreduce(comm, out, high, N, COLL_U32, COLL_OP_MAX);
		if (ret) {
			fprintf(stderr, "rank %u: algorithm %u: %s\n", me, alg, coll_strerror(ret));
			exit(1);
		}
		checked++;
		if (memcmp(low, high, sizeof(low)) && bad++ < 10)
			fprintf(stderr, "rank %u: algorithm %u: other bits on other ranks\n", me, alg);
	}
}

/* None of the functions has room for a factor: they do not take 0 for it. */
static void check_factor(void)
{
	const enum coll_op_code op = COLL_OP_PREMULSUM;
	uint32_t in = 1, sum = 0;
	coll_request_t *req;
	int got[] = {
		coll_allreduce(comm, &in, &sum, 1, COLL_U32, op),
		coll_iallreduce(comm, &in, &sum, 1, COLL_U32, op, &req),
		coll_allreduce_init(comm, &in, &sum, 1, COLL_U32, op, &req),
		coll_reduce(comm, &in, &sum, 1, COLL_U32, op, 0),
		coll_ireduce(comm, &in, &sum, 1, COLL_U32, op, 0, &req),
		coll_scan(comm, &in, &sum, 1, COLL_U32, op),
		coll_exscan_init(comm, &in, &sum, 1, COLL_U32, op, &req),
		coll_reduce_scatter_block(comm, &in, &sum, 1, COLL_U32, op),
	};
	size_t i;

	for (i = 0; i < sizeof(got) / sizeof(got[0]); i++) {
		if (got[i] == -EINVAL)
			continue;
		fprintf(stderr, "premulsum, function %zu: %d\n", i, got[i]);
		bad++;
	}
}

int main(int argc, char **argv)
{
	uint64_t big = argc > 1 ? strtoull(argv[1], NULL, 0) : 10007;
	uint32_t only = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	static const uint32_t radices[] = { 2, 3, 8, 255 };
	struct call c = { 0 };
	uint32_t what;
	size_t i;
	int ret;

	ret = coll_init(NULL, &comm);
	if (ret) {
		fprintf(stderr, "all_rank: %s\n", coll_strerror(ret));
		return 1;
	}
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	coll_comm_set_timeout(comm, 60000000000ULL);
	c.counts = calloc(2 * size, sizeof(uint64_t));
	c.displs = calloc(2 * size, sizeof(uint64_t));
	if (!c.counts || !c.displs)
		return 2;
	for (what = COLL_BARRIER; what <= COLL_EXSCAN * NR_REDUCTIONS; what++) {
		c.what = 1 + (what - 1) % COLL_EXSCAN;
		reduction = (what - 1) / COLL_EXSCAN;
		if ((reduction && !reduces(c.what)) || (only && c.what != only))
			continue;
		for (c.algorithm = 0; c.algorithm < COLL_NR_ALGS; c.algorithm++)
			check_algorithm(&c, big);
		for (i = 0; i < sizeof(radices) / sizeof(radices[0]); i++) {
			c.algorithm = COLL_ALG_KNOMIAL | COLL_ALG_RADIX(radices[i]);
			check_algorithm(&c, big);
		}
	}
	check_bits();
	check_factor();
	if (!me)
		printf("# %u ranks, %u nodes: %lu collectives checked, %d elements wrong\n", size,
		       coll_comm_nodes(comm), checked, bad);
	ret = coll_finalize(comm);
	return bad || ret;
}
