// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Adasum by halving and doubling. In round k rank r works with r ^ 2^k. They halve the part of
 * the vector that both have. Each keeps one half, and gets the partner's elements of this half by
 * an alltoallv. An allgather brings the scalar products of all parts, and each rank adds those of
 * the 2^(k+1) ranks that have the parts of its pair of vectors. After the last round each rank has
 * a part of the result, and an allgatherv brings all of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#include "base/fpstate.h"
#include "comm/comm.h"
#include "pair.h"
#include "wire.h"

/**
 * struct call - one call
 * @vec: the vector of this rank; the part that it keeps becomes the result of more and more ranks
 * @other: the partner's elements of the half that this rank keeps
 * @count: elements of the whole vector
 * @sums: products of each tensor in this rank's part, then those of all ranks
 * @lens: as coll_alltoallv() takes them: elements to send to each rank, then to receive
 * @displs: where they are
 */
struct call {
	coll_comm_t *comm;
	uint32_t me, size, nr;
	enum coll_dtype dtype;
	bool wide;
	size_t elem;
	const uint64_t *counts;
	uint8_t *vec, *other;
	uint64_t count;
	struct adasum_products *sums;
	uint64_t *lens, *displs;
};

/* Elements [at, at + len) */
struct part {
	uint64_t at, len;
};

/* The part of the vector that rank @r has in round @distance: the bits below choose halves. */
static struct part part_of(const struct call *c, uint32_t r, uint32_t distance)
{
	struct part p = { 0, c->count };
	uint32_t bit;

	for (bit = 1; bit < distance; bit *= 2) {
		if (r & bit) {
			p.at += p.len / 2;
			p.len -= p.len / 2;
		} else {
			p.len /= 2;
		}
	}
	return p;
}

static uint8_t *at(const struct call *c, uint64_t element)
{
	return c->vec + element * c->elem;
}

/* --- one round ------------------------------------------------------------------ */

/* Send the partner the half that it keeps. Its elements of @mine come to @other. */
static int exchange(const struct call *c, uint32_t distance, const struct part *mine)
{
	uint32_t partner = c->me ^ distance;
	struct part theirs = part_of(c, partner, 2 * distance);

	memset(c->lens, 0, 2 * c->size * sizeof(*c->lens));
	memset(c->displs, 0, 2 * c->size * sizeof(*c->displs));
	c->lens[partner] = theirs.len;
	c->displs[partner] = theirs.at;
	c->lens[c->size + partner] = mine->len;
	return coll_alltoallv(c->comm, c->vec, c->other, c->lens, c->displs, c->dtype);
}

/* The elements of tensor @t that are in @p. @t_at: where the tensor begins. */
static struct part common(const struct part *p, uint64_t t_at, uint64_t t_len)
{
	uint64_t from = p->at > t_at ? p->at : t_at;
	uint64_t p_end = p->at + p->len, t_end = t_at + t_len;
	uint64_t to = p_end < t_end ? p_end : t_end;

	return (struct part){ from, to > from ? to - from : 0 };
}

/* The vectors of the pair: a is that of the lower rank. */
static void operands(const struct call *c, uint32_t distance, const struct part *mine,
		     const struct part *p, const void **a, const void **b)
{
	const void *ours = at(c, p->at), *theirs = c->other + (p->at - mine->at) * c->elem;

	*a = c->me & distance ? theirs : ours;
	*b = c->me & distance ? ours : theirs;
}

/* The products of @mine, in the place of this rank. */
static void multiply(const struct call *c, uint32_t distance, const struct part *mine)
{
	struct adasum_products *sums = c->sums + (size_t)c->me * c->nr;
	const void *a, *b;
	uint64_t t_at = 0;
	struct fp_state fp;
	struct part p;
	uint32_t t;

	fp_enter(&fp, false);
	for (t = 0; t < c->nr; t++) {
		p = common(mine, t_at, c->counts[t]);
		operands(c, distance, mine, &p, &a, &b);
		sums[t] = adasum_products(a, b, p.len, c->wide);
		t_at += c->counts[t];
	}
	fp_leave(&fp);
}

/* Add the products of tensor @t of all ranks that have parts of this pair of vectors. */
static struct adasum_products sum(const struct call *c, uint32_t distance, uint32_t t)
{
	uint32_t first = c->me & ~(2 * distance - 1), r;
	struct adasum_products whole = { 0 }, *part;

	for (r = first; r < first + 2 * distance; r++) {
		part = &c->sums[(size_t)r * c->nr + t];
		whole.aa += part->aa;
		whole.bb += part->bb;
		whole.ab += part->ab;
	}
	return whole;
}

static void combine(const struct call *c, uint32_t distance, const struct part *mine)
{
	struct adasum_products whole;
	struct adasum_factors f;
	const void *a, *b;
	uint64_t t_at = 0;
	struct fp_state fp;
	struct part p;
	uint32_t t;

	fp_enter(&fp, false);
	for (t = 0; t < c->nr; t++) {
		p = common(mine, t_at, c->counts[t]);
		t_at += c->counts[t];
		if (!p.len)
			continue;
		whole = sum(c, distance, t);
		f = adasum_factors(&whole);
		operands(c, distance, mine, &p, &a, &b);
		adasum_combine(at(c, p.at), a, b, p.len, &f, c->wide);
	}
	fp_leave(&fp);
}

static int one_round(const struct call *c, uint32_t distance)
{
	struct part mine = part_of(c, c->me, 2 * distance);
	int ret;

	ret = exchange(c, distance, &mine);
	if (ret)
		return ret;
	multiply(c, distance, &mine);
	ret = coll_allgather(c->comm, COLL_IN_PLACE, c->sums,
			     (uint64_t)c->nr * sizeof(*c->sums) / sizeof(double), COLL_F64);
	if (!ret)
		combine(c, distance, &mine);
	return ret;
}

static int rounds(const struct call *c)
{
	uint32_t distance, r;
	struct part p;
	int ret;

	for (distance = 1; distance < c->size; distance *= 2) {
		ret = one_round(c, distance);
		if (ret)
			return ret;
	}
	for (r = 0; r < c->size; r++) {
		p = part_of(c, r, c->size);
		c->lens[r] = p.len;
		c->displs[r] = p.at;
	}
	return coll_allgatherv(c->comm, COLL_IN_PLACE, c->vec, c->lens, c->displs, c->dtype);
}

/* --- the call ------------------------------------------------------------------- */

static bool is_power_of_2(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* Fill in and allocate what the call needs. */
static int prepare(struct call *c, const void *send, void *recv)
{
	uint64_t bytes;
	uint32_t t;

	if (!recv || !send || (c->nr && !c->counts))
		return -EINVAL;
	if (c->dtype != COLL_F32 && c->dtype != COLL_F64)
		return -EOPNOTSUPP;
	c->wide = c->dtype == COLL_F64;
	c->elem = c->wide ? sizeof(double) : sizeof(float);
	for (t = 0; t < c->nr; t++)
		if (__builtin_add_overflow(c->count, c->counts[t], &c->count))
			return -EOVERFLOW;
	if (__builtin_mul_overflow(c->count, c->elem, &bytes) || bytes > SIZE_MAX / 2)
		return -EOVERFLOW;
	c->vec = recv;
	c->other = malloc((size_t)bytes / 2 + c->elem);
	c->sums = calloc((size_t)c->size * c->nr + 1, sizeof(*c->sums));
	c->lens = calloc(2 * c->size, sizeof(*c->lens));
	c->displs = calloc(2 * c->size, sizeof(*c->displs));
	return c->other && c->sums && c->lens && c->displs ? 0 : -ENOMEM;
}

static void release(struct call *c)
{
	free(c->other);
	free(c->sums);
	free(c->lens);
	free(c->displs);
}

/* Return: 0, or one error on all ranks: that of the lowest rank, or -EBADE: the calls differ. */
static int agree(const struct call *c, int status)
{
	uint64_t *all = calloc(2 * c->size, sizeof(*all)), d;
	uint32_t r, t;
	int ret;

	if (!all)
		return coll_abort(c->comm, ENOMEM) ? -EIO : -ENOMEM;
	d = coll_digest(coll_digest(0, c->dtype), c->nr);
	for (t = 0; t < c->nr && !status; t++)
		d = coll_digest(d, c->counts[t]);
	all[2 * c->me] = (uint64_t)-status;
	all[2 * c->me + 1] = d;
	ret = coll_allgather(c->comm, COLL_IN_PLACE, all, 2, COLL_U64);
	/* The kernel may have refused the command: then the others do not hear of it. */
	if (ret == -ENOMEM)
		coll_abort(c->comm, ENOMEM);
	for (r = 0; r < c->size && !ret; r++)
		if (all[2 * r])
			ret = -(int)all[2 * r];
	for (r = 1; r < c->size && !ret; r++)
		if (all[2 * r + 1] != all[1])
			ret = -EBADE;
	free(all);
	return ret;
}

int coll_adasum(coll_comm_t *comm, const void *send, void *recv, const uint64_t *counts,
		uint32_t nr, enum coll_dtype dtype)
{
	struct call c = {
		.comm = comm,
		.me = coll_comm_rank(comm),
		.size = coll_comm_size(comm),
		.nr = nr,
		.dtype = dtype,
		.counts = counts,
	};
	int ret;

	if (!comm)
		return -EINVAL;
	if (!is_power_of_2(c.size))
		return -EOPNOTSUPP;
	ret = agree(&c, prepare(&c, send, recv));
	if (!ret) {
		if (send != COLL_IN_PLACE)
			memmove(recv, send, (size_t)c.count * c.elem);
		ret = rounds(&c);
		/* It may be an error of this rank alone, and others wait for it. */
		if (ret)
			coll_abort(comm, (uint32_t)-ret);
	}
	release(&c);
	return ret;
}
