// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "types.h"

/* PMPI_Pack() counts in int. */
#define PACK_MOST	(1 << 30)

struct layout layout_one(const void *base, int64_t count, MPI_Datatype type)
{
	return (struct layout){ .base = (void *)base, .n = 1, .count = count, .type = type };
}

int64_t layout_count_of(const void *counts, bool wide, int i)
{
	return wide ? (int64_t)((const MPI_Count *)counts)[i] : ((const int *)counts)[i];
}

static int64_t count_of(const struct layout *l, int i)
{
	return l->counts ? layout_count_of(l->counts, l->wide, i) : l->count;
}

static MPI_Datatype type_of(const struct layout *l, int i)
{
	return l->types ? l->types[i] : l->type;
}

/* Displacement of block @i, in bytes. */
static int64_t displacement(const struct layout *l, int i)
{
	int64_t d;

	if (!l->displs)
		return 0;
	d = l->wide ? (int64_t)((const MPI_Aint *)l->displs)[i] : ((const int *)l->displs)[i];
	return l->types ? d : (int64_t)((uint64_t)d * (uint64_t)types_extent(l->type));
}

static char *block(const struct layout *l, int i)
{
	/* MPI_BOTTOM is NULL: no pointer arithmetic on it */
	return (char *)((uintptr_t)l->base + (uintptr_t)displacement(l, i));
}

struct layout layout_block(const struct layout *l, int i)
{
	return layout_one(block(l, i), count_of(l, i), type_of(l, i));
}

/* A block without elements may have a null type, as MPICH allows. */
bool layout_is_valid(const struct layout *l)
{
	uint64_t left = INT64_MAX, size = 0;
	int64_t count;
	int i;

	for (i = 0; i < l->n; i++) {
		count = count_of(l, i);
		if (count < 0 || (count && type_of(l, i) == MPI_DATATYPE_NULL))
			return false;
		if (!i || l->types)
			size = types_size(type_of(l, i));
		if (size && (uint64_t)count > left / size)
			return false;
		left -= (uint64_t)count * size;
	}
	return true;
}

static uint64_t block_bytes(const struct layout *l, int i)
{
	return (uint64_t)count_of(l, i) * types_size(type_of(l, i));
}

uint64_t layout_bytes(const struct layout *l)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < l->n; i++)
		sum += block_bytes(l, i);
	return sum;
}

bool layout_is_dense(const struct layout *l)
{
	int i;

	if (!l->types)
		return !l->n || types_is_dense(l->type);
	for (i = 0; i < l->n; i++)
		if (!types_is_dense(l->types[i]))
			return false;
	return true;
}

/* Number of elements to pack at a time, so that their bytes fit into an int. */
static int64_t pack_step(uint64_t size)
{
	return size && size < PACK_MOST ? (int64_t)(PACK_MOST / size) : 1;
}

/*
 * Copy between block @i and @at; positions of MPI_Pack are those of the bytes. Return: 0; -EINVAL:
 * the MPI does not pack it, and its error handler has returned.
 */
static int copy_block(const struct layout *l, int i, char *at, bool pack)
{
	MPI_Datatype type = type_of(l, i);
	uint64_t size = types_size(type);
	int64_t left = count_of(l, i), step = pack_step(size), extent = types_extent(type);
	char *user = block(l, i);

	if (left > 0 && types_is_dense(type)) {
		memcpy(pack ? at : user, pack ? user : at, (size_t)left * size);
		return 0;
	}
	for (; left > 0; left -= step) {
		int n = (int)(left < step ? left : step), pos = 0;
		int bytes = (int)((uint64_t)n * size);

		if (pack ? PMPI_Pack(user, n, type, at, bytes, &pos, MPI_COMM_SELF) :
		    PMPI_Unpack(at, bytes, &pos, user, n, type, MPI_COMM_SELF))
			return -EINVAL;
		user = (char *)((uintptr_t)user + (uintptr_t)(n * extent));
		at += bytes;
	}
	return 0;
}

/* Whether an element is too large for PMPI_Pack(). */
static bool is_too_large(const struct layout *l)
{
	int i;

	for (i = 0; i < l->n; i++)
		if (count_of(l, i) && types_size(type_of(l, i)) > INT_MAX &&
		    !types_is_dense(type_of(l, i)))
			return true;
	return false;
}

static void set_block(struct bytes *b, int i, uint64_t bytes, uint64_t displ)
{
	if (!b->counts)
		return;
	b->counts[i] = bytes;
	/* displacements of empty blocks are not used */
	b->displs[i] = bytes ? displ : 0;
}

/* The application's own buffer. Displacements may be negative there. */
static void open_direct(const struct layout *l, struct bytes *b)
{
	int64_t least = INT64_MAX;
	int i;

	for (i = 0; i < l->n; i++)
		if (block_bytes(l, i) && displacement(l, i) < least)
			least = displacement(l, i);
	if (least == INT64_MAX)
		least = 0;
	b->addr = (void *)((uintptr_t)l->base + (uintptr_t)least);
	for (i = 0; i < l->n; i++)
		set_block(b, i, block_bytes(l, i), (uint64_t)(displacement(l, i) - least));
}

/* A copy without gaps, one block behind the other. */
static int open_copy(const struct layout *l, bool filled, struct bytes *b)
{
	uint64_t at = 0;
	int i;

	if (is_too_large(l))
		return -EOVERFLOW;
	b->tmp = malloc(b->len + 1);
	if (!b->tmp)
		return -ENOMEM;
	b->addr = b->tmp;
	for (i = 0; i < l->n; i++) {
		if (filled && copy_block(l, i, (char *)b->tmp + at, true))
			return -EINVAL;
		set_block(b, i, block_bytes(l, i), at);
		at += block_bytes(l, i);
	}
	return 0;
}

int layout_open(const struct layout *l, bool filled, struct bytes *b)
{
	b->tmp = NULL;
	b->len = layout_bytes(l);
	if (!layout_is_dense(l))
		return open_copy(l, filled, b);
	open_direct(l, b);
	return 0;
}

int layout_copy(const struct layout *l, struct bytes *b)
{
	b->len = layout_bytes(l);
	return open_copy(l, true, b);
}

int layout_store(const struct layout *l, const struct bytes *b)
{
	uint64_t at = 0;
	int i, ret = 0;

	if (!b->tmp)
		return 0;
	for (i = 0; i < l->n && !ret; i++) {
		ret = copy_block(l, i, (char *)b->tmp + at, false);
		at += block_bytes(l, i);
	}
	return ret;
}
