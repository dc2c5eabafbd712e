// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Parameters of named tensors: which are valid, which agree, which fuse. */
#include "../optable.h"
#include "coord_params.h"
#include "coord_priv.h"

/*
 * Bytes of the shape, or of all blocks if each rank has a length of its own. Without dimensions the
 * shape has one element. Return: false if they are too many.
 */
static bool coll_coord_shape(const struct coll_coord_params *p, u64 *bytes)
{
	u64 n = coll_dtype_size(p->field[COLL_FIELD_DTYPE]) ?: 1, d;
	bool counts = p->field[COLL_FIELD_COUNTS], empty = false;
	u32 nr = counts ? 1 : p->field[COLL_FIELD_NDIM], k;

	for (k = 0; k < nr; k++) {
		d = p->field[counts ? COLL_FIELD_TOTAL : COLL_FIELD_DIM0 + k];
		empty |= !d;
		if (d && __builtin_mul_overflow(n, d, &n))
			return false;
	}
	if (n >> 63)
		return false;
	*bytes = empty ? 0 : n;
	return true;
}

int coll_coord_check(const struct coll_coord_params *p)
{
	const u64 *f = p->field;
	u64 bytes;
	u32 k;

	if (f[COLL_FIELD_NDIM] > COLL_COORD_DIMS ||
	    f[COLL_FIELD_PRIORITY] > COLL_COORD_PRIORITY_MAX ||
	    !f[COLL_FIELD_COLLECTIVE] || f[COLL_FIELD_COLLECTIVE] >= COLL_NR_COLLECTIVES ||
	    f[COLL_FIELD_DTYPE] >> 32 || f[COLL_FIELD_OP] >> 32 ||
	    f[COLL_FIELD_ROOT] >> 32 || f[COLL_FIELD_WIRE] >= COLL_NR_DTYPES ||
	    f[COLL_FIELD_MEMBERS] >> 32 || f[COLL_FIELD_ALGORITHM] >> 32)
		return -EINVAL;
	/* A group has members, and what is in no group has none. */
	if (!f[COLL_FIELD_GROUP] != !f[COLL_FIELD_MEMBERS])
		return -EINVAL;
	if (f[COLL_FIELD_TOTAL] && !f[COLL_FIELD_COUNTS])
		return -EINVAL;
	for (k = f[COLL_FIELD_NDIM]; k < COLL_COORD_DIMS; k++)
		if (f[COLL_FIELD_DIM0 + k])
			return -EINVAL;
	return coll_coord_shape(p, &bytes) ? 0 : -EOVERFLOW;
}

u64 coll_coord_bytes(const struct coll_coord_params *p)
{
	u64 bytes = 0;

	coll_coord_shape(p, &bytes);
	return bytes;
}

/* Each tensor of premulsum has a factor of its own, and replace and no_op are broadcasts. */
static bool coll_coord_fuses(u64 collective, u64 op)
{
	if (op == COLL_OP_PREMULSUM || op == COLL_OP_REPLACE || op == COLL_OP_NO_OP)
		return false;
	return collective == COLL_ALLREDUCE || collective == COLL_REDUCE_SCATTER ||
	       collective == COLL_REDUCE_SCATTER_BLOCK || collective == COLL_ALLGATHER ||
	       collective == COLL_ALLGATHERV;
}

bool coll_coord_fuse(const struct coll_coord_params *a, const struct coll_coord_params *b)
{
	static const u8 same[] = {
		COLL_FIELD_COLLECTIVE, COLL_FIELD_DTYPE, COLL_FIELD_OP, COLL_FIELD_PRESCALE,
		COLL_FIELD_POSTSCALE, COLL_FIELD_WIRE, COLL_FIELD_FLAGS, COLL_FIELD_PRIORITY,
		COLL_FIELD_ALGORITHM,
	};
	size_t k;

	for (k = 0; k < sizeof(same); k++)
		if (a->field[same[k]] != b->field[same[k]])
			return false;
	return coll_coord_fuses(a->field[COLL_FIELD_COLLECTIVE], a->field[COLL_FIELD_OP]);
}

u32 coll_coord_differ(const struct coll_coord_params *a, const struct coll_coord_params *b)
{
	u32 k;

	for (k = 0; k < COLL_NR_FIELDS; k++)
		if (a->field[k] != b->field[k])
			break;
	return k;
}
