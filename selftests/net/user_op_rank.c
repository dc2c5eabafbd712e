// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... user_op_rank [BIG]: one rank of a test of operators of the user's own, in
 * every collective that reduces, every byte verified, and nothing else touched.
 *
 * Every rank can compute every rank's input, and so folds what anybody must get itself,
 * in rank order. All operators but the complex product do not commute.
 */
#include <complex.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#define BORDER	0xb0

static coll_comm_t *comm;
static uint32_t me, size;
static unsigned long checked;
static int bad;

/* --- operators --------------------------------------------------------------- */

/* The operator of the MPI text. Real and imaginary parts are small integers here, so exact. */
static void complex_product(const void *invec, void *inoutvec, uint64_t len,
			    const struct coll_user_type *type, void *arg)
{
	const double complex *x = invec;
	double complex *y = inoutvec;
	uint64_t i;

	for (i = 0; i < len; i++)
		y[i] = CMPLX(creal(x[i]) * creal(y[i]) - cimag(x[i]) * cimag(y[i]),
			     creal(x[i]) * cimag(y[i]) + cimag(x[i]) * creal(y[i]));
}

/* 2x2 matrices of integers, mod 2^32. */
static void matrix_product(const void *invec, void *inoutvec, uint64_t len,
			   const struct coll_user_type *type, void *arg)
{
	const uint32_t (*x)[4] = invec;
	uint32_t (*y)[4] = inoutvec, a, b;
	uint64_t i;

	for (i = 0; i < len; i++) {
		a = y[i][0];
		b = y[i][1];
		y[i][0] = x[i][0] * a + x[i][1] * y[i][2];
		y[i][1] = x[i][0] * b + x[i][1] * y[i][3];
		y[i][2] = x[i][2] * a + x[i][3] * y[i][2];
		y[i][3] = x[i][2] * b + x[i][3] * y[i][3];
	}
}

/*
 * Elements of any odd size: vectors a, b and a number c, of bytes; (a, b, c) stands for the
 * matrix with rows (1 a c), (0 1 b), (0 0 1), mod 256. In elements of even size c is there
 * twice.
 */
static void heisenberg(const void *invec, void *inoutvec, uint64_t len,
		       const struct coll_user_type *type, void *arg)
{
	size_t half = (type->size - 1) / 2, k;
	const uint8_t *x = invec;
	uint8_t *y = inoutvec, dot;

	if (type->dtype != COLL_OPAQUE || arg != &checked || !len) {
		bad++;
		return;
	}
	for (; len--; x += type->size, y += type->size) {
		for (dot = 0, k = 0; k < half; k++)
			dot += x[k] * y[half + k];
		for (k = 0; k < type->size; k++)
			y[k] += x[k] + (k < 2 * half ? 0 : dot);
	}
}

/**
 * struct kind - an operator on a type
 * @big: try the largest count, too
 */
struct kind {
	coll_user_fn *fn;
	struct coll_user_type type;
	size_t bytes;
	bool commutes, big;
	const char *name;
};

static const struct kind kinds[] = {
	{ complex_product, { COLL_C64, 0 }, 16, true, false, "complex product" },
	{ matrix_product, { COLL_OPAQUE, 16 }, 16, false, true, "2x2 matrices" },
	{ heisenberg, { COLL_OPAQUE, 3 }, 3, false, false, "3 bytes" },
	{ heisenberg, { COLL_OPAQUE, 12 }, 12, false, false, "12 bytes" },
	{ heisenberg, { COLL_OPAQUE, 40 }, 40, false, true, "40 bytes" },
	{ heisenberg, { COLL_OPAQUE, 4999 }, 4999, false, false, "4999 bytes" },
};

/* --- data -------------------------------------------------------------------- */

/* Elements @at .. @at + @n - 1 of @rank. */
static void fill(const struct kind *k, uint32_t rank, uint64_t at, uint64_t n, uint8_t *p)
{
	uint64_t i, z;
	size_t b;

	for (i = at; i < at + n; i++, p += k->bytes) {
		z = (i + 1) * 0x9e3779b97f4a7c15ULL + (rank + 1) * 0xbf58476d1ce4e5b9ULL;
		z ^= z >> 29;
		z *= 0x94d049bb133111ebULL;
		if (k->fn == complex_product) {
			double complex v = CMPLX((double)(z >> 60 & 3) - 1,
						 (double)(z >> 50 & 3) - 1);

			memcpy(p, &v, sizeof(v));
			continue;
		}
		for (b = 0; b < k->bytes; b++)
			p[b] = (uint8_t)((z >> b % 8 * 8) + b);
	}
}

/* Input of this rank, and the folds of all ranks, of those up to it, and below it. */
static uint8_t *input, *total, *upto, *below;

static uint8_t *room_for(uint64_t bytes)
{
	uint8_t *p = malloc(bytes + 1);

	if (!p)
		exit(2);
	return p;
}

/* Answers for vectors of up to @n elements: what is at an index depends on nothing else. */
static void compute_answers(const struct kind *k, uint64_t n)
{
	uint64_t bytes = n * k->bytes;
	uint8_t *next = room_for(bytes), *swap;
	uint32_t r;

	input = room_for(bytes);
	total = room_for(bytes);
	upto = room_for(bytes);
	below = room_for(bytes);
	fill(k, me, 0, n, input);
	fill(k, 0, 0, n, total);
	for (r = 0; r < size; r++) {
		if (r) {
			fill(k, r, 0, n, next);
			k->fn(total, next, n, &k->type, &checked);
			swap = total;
			total = next;
			next = swap;
		}
		if (r == me)
			memcpy(upto, total, bytes);
		if (r + 1 == me)
			memcpy(below, total, bytes);
	}
	free(next);
}

static void free_answers(void)
{
	free(input);
	free(total);
	free(upto);
	free(below);
}

/* --- calls ------------------------------------------------------------------- */

/* One call; the vector has @count elements, in @blocks if it is to be scattered. */
struct call {
	const struct kind *k;
	coll_op_t op;
	enum coll_collective what;
	uint32_t root;
	uint64_t count, *blocks;
	bool inplace;
};

static int run(const struct call *c, const void *in, void *out)
{
	struct coll_user_type t = c->k->type;

	switch (c->what) {
	case COLL_ALLREDUCE:
		return coll_user_allreduce(comm, in, out, c->count, t, c->op);
	case COLL_REDUCE:
		return coll_user_reduce(comm, in, me == c->root ? out : NULL, c->count, t,
					c->op, c->root);
	case COLL_SCAN:
		return coll_user_scan(comm, in, out, c->count, t, c->op);
	case COLL_EXSCAN:
		return coll_user_exscan(comm, in, out, c->count, t, c->op);
	case COLL_REDUCE_SCATTER:
		return coll_user_reduce_scatter(comm, in, out, c->blocks, t, c->op);
	default:
		return coll_user_reduce_scatter_block(comm, in, out, c->blocks[0], t, c->op);
	}
}

/* NULL: this rank gets nothing. */
static const uint8_t *answer(const struct call *c)
{
	switch (c->what) {
	case COLL_REDUCE:
		return me == c->root ? total : NULL;
	case COLL_SCAN:
		return upto;
	case COLL_EXSCAN:
		return me ? below : NULL;
	default:
		return total;
	}
}

static void complain(const struct call *c, const char *what)
{
	fprintf(stderr, "rank %u of %u: collective %u, %s, root %u, count %llu%s: %s\n", me, size,
		c->what, c->k->name, c->root, (unsigned long long)c->count,
		c->inplace ? ", in place" : "", what);
	bad++;
}

static void check(struct call *c)
{
	bool scatters = c->what == COLL_REDUCE_SCATTER || c->what == COLL_REDUCE_SCATTER_BLOCK;
	uint64_t at = 0, all = c->count * c->k->bytes;
	uint64_t len = (scatters ? c->blocks[me] : c->count) * c->k->bytes;
	uint64_t room = c->inplace && all > len ? all : len;
	uint8_t *in = room_for(all), *out = room_for(room), *untouched = room_for(room);
	const uint8_t *want = answer(c);
	uint32_t k;
	int ret;

	for (k = 0; scatters && k < me; k++)
		at += c->blocks[k] * c->k->bytes;
	memcpy(in, input, all);
	memset(out, BORDER, room + 1);
	if (c->inplace)
		memcpy(out, in, all);
	memcpy(untouched, out, room);
	ret = run(c, c->inplace ? COLL_IN_PLACE : in, out);
	if (ret) {
		complain(c, coll_strerror(ret));
		exit(1);
	}
	if (memcmp(out, want ? want + at : untouched, len))
		complain(c, "wrong result");
	/* In place the rest of a vector that is scattered may be anything. */
	if (out[room] != BORDER || memcmp(in, input, all))
		complain(c, "touched what it should not");
	checked++;
	free(in);
	free(out);
	free(untouched);
}

/* Blocks of the vector, whose count may change a little by it. */
static void set_count(struct call *c, uint64_t count)
{
	uint64_t base = count / size;
	uint32_t k;

	c->count = count;
	if (c->what != COLL_REDUCE_SCATTER && c->what != COLL_REDUCE_SCATTER_BLOCK)
		return;
	for (c->count = 0, k = 0; k < size; k++) {
		c->blocks[k] = c->what == COLL_REDUCE_SCATTER_BLOCK ? base :
			       (base + 7 * k) % (2 * base + 1);
		c->count += c->blocks[k];
	}
}

/* Every root of a few ranks; of many, and of long vectors, some. */
static bool want_root(uint32_t root, uint64_t count)
{
	if (count > 10000)
		return root == size / 2;
	return size <= 4 || !root || root == size - 1 || root == size / 2;
}

static void check_kind(const struct kind *k, uint64_t big)
{
	static const enum coll_collective whats[] = {
		COLL_ALLREDUCE, COLL_REDUCE, COLL_SCAN, COLL_EXSCAN, COLL_REDUCE_SCATTER,
		COLL_REDUCE_SCATTER_BLOCK,
	};
	uint64_t counts[] = { 0, 1, size - 1, size + 1, k->bytes > 1000 ? 100 : 1000, big };
	struct call c = { .k = k, .blocks = calloc(size, sizeof(uint64_t)) };
	uint64_t longest = k->big && big > counts[4] ? big : counts[4];
	size_t w, i;

	/* Blocks of different lengths are a little more together. */
	compute_answers(k, longest + 14 * size * size);
	if (!c.blocks || coll_op_create(k->fn, k->commutes, &checked, &c.op))
		exit(2);
	for (w = 0; w < sizeof(whats) / sizeof(whats[0]); w++) {
		c.what = whats[w];
		for (i = 0; i < (k->big ? 6 : 5); i++) {
			for (c.root = 0; c.root < (c.what == COLL_REDUCE ? size : 1); c.root++) {
				if (c.what == COLL_REDUCE && !want_root(c.root, counts[i]))
					continue;
				set_count(&c, counts[i]);
				c.inplace = false;
				check(&c);
				c.inplace = c.what != COLL_REDUCE || me == c.root;
				check(&c);
			}
		}
	}
	free(c.blocks);
	free_answers();
	if (coll_op_free(c.op))
		bad++;
}

/* --- errors ------------------------------------------------------------------ */

static void want_error(const char *name, int got, int want)
{
	if (got == want)
		return;
	bad++;
	fprintf(stderr, "rank %u: %s: %d, not %d\n", me, name, got, want);
}

static void check_errors(void)
{
	struct coll_user_type t = coll_type_opaque(16);
	uint32_t in[4] = { 1, 2, 3, 4 }, out[4];
	coll_op_t op, later;

	if (coll_op_create(matrix_product, false, NULL, &op))
		exit(2);
	want_error("no such root", coll_user_reduce(comm, in, out, 1, t, op, size), -EINVAL);
	want_error("coll's own operator", coll_user_allreduce(comm, in, out, 1, t, COLL_OP_SUM),
		   -EINVAL);
	want_error("a wrong size",
		   coll_user_scan(comm, in, out, 1, (struct coll_user_type){ COLL_U32, 16 }, op),
		   -EINVAL);
	want_error("NULL", coll_user_allreduce(comm, in, NULL, 1, t, op), -EFAULT);
	if (size > 1)
		want_error("roots that disagree",
			   coll_user_reduce(comm, in, out, 1, t, op, me ? 1 : 0), -EBADE);
	coll_op_free(op);
	want_error("a freed operator", coll_user_allreduce(comm, in, out, 1, t, op), -EINVAL);
	want_error("a freed operator again", coll_op_free(op), -EINVAL);
	if (coll_op_create(matrix_product, false, NULL, &later))
		exit(2);
	want_error("a freed operator whose place was taken",
		   coll_user_allreduce(comm, in, out, 1, t, op), -EINVAL);
	/* After all that the communicator works. */
	want_error("a good call", coll_user_allreduce(comm, in, out, 1, t, later), 0);
	/*
	 * The last call here: after it, the communicator may have failed, and with it any call in
	 * which another rank still waits. After the barrier no rank waits in the call before.
	 */
	coll_barrier(comm);
	if (size > 1)
		want_error("counts that disagree",
			   coll_user_allreduce(comm, in, out, !me, t, later), -EBADE);
	coll_op_free(later);
}

int main(int argc, char **argv)
{
	uint64_t big = argc > 1 ? strtoull(argv[1], NULL, 0) : 100003;
	size_t k;
	int ret;

	ret = coll_init(NULL, &comm);
	if (ret) {
		fprintf(stderr, "user_op_rank: %s\n", coll_strerror(ret));
		return 1;
	}
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	coll_comm_set_timeout(comm, 60000000000ULL);
	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		check_kind(&kinds[k], big);
	check_errors();
	if (!me)
		printf("# %u ranks, %u nodes: %lu calls checked, %d wrong\n", size,
		       coll_comm_nodes(comm), checked, bad);
	coll_finalize(comm);
	return bad != 0;
}
