/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Where the application has its data, and how coll gets at them: as bytes. */
#ifndef LIBCOLL_MPI_LAYOUT_H
#define LIBCOLL_MPI_LAYOUT_H

#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>

/**
 * struct layout - data of one rank, as MPI describes them
 * @base: the application's buffer
 * @n: blocks; 0: this rank has none
 * @count: elements of the block, if @counts is NULL
 * @counts: of each block: int, or, if @wide is set, MPI_Count
 * @displs: of each block, in extents of its type; if @types is set, in bytes. They are int, or, if
 *	@wide is set, MPI_Aint
 * @wide: as in functions with _c
 * @type: of all blocks, if @types is NULL
 * @types: of each block
 */
struct layout {
	void *base;
	int n;
	int64_t count;
	const void *counts;
	const void *displs;
	bool wide;
	MPI_Datatype type;
	const MPI_Datatype *types;
};

/**
 * struct gap - bytes in each element that are not part of its type
 * @elem: bytes of an element
 * @at: where they begin
 * @len: their number; 0: there are none
 */
struct gap {
	uint32_t elem, at, len;
};

/**
 * struct bytes - the same for coll
 * @addr: address from which displacements count
 * @tmp: memory of a copy, because the data have gaps or another order; or NULL
 * @len: bytes of all blocks
 * @counts: bytes of each block, of @n; owned by the caller. NULL: they are one block
 * @displs: of each block
 * @home: the application's buffer, if @tmp stands in for it (aside.h); else NULL
 * @home_displs: @displs there; owned
 * @gap: what is not copied to @home. Only of one block
 */
struct bytes {
	void *addr;
	void *tmp;
	uint64_t len;
	uint64_t *counts;
	uint64_t *displs;
	void *home;
	uint64_t *home_displs;
	struct gap gap;
};

/** layout_one() - one block */
struct layout layout_one(const void *base, int64_t count, MPI_Datatype type);

/** layout_block() - block @i of @l alone */
struct layout layout_block(const struct layout *l, int i);

/** layout_count_of() - number @i of an array of int; @wide: of MPI_Count */
int64_t layout_count_of(const void *counts, bool wide, int i);

/** layout_is_valid() - no negative count, no null type, and no more bytes than can be */
bool layout_is_valid(const struct layout *l);

/** layout_bytes() - of all blocks, without gaps */
uint64_t layout_bytes(const struct layout *l);

/** layout_is_dense() - may coll use the buffer itself? */
bool layout_is_dense(const struct layout *l);

/**
 * layout_open() - give coll the data of @l as bytes
 * @filled: the data are input: they are copied, if a copy is made at all
 * @b: result; its arrays are filled in if they are not NULL
 *
 * Return: 0; -ENOMEM; -EOVERFLOW: an element has gaps and too many bytes to pack; -EINVAL: the MPI
 * does not pack it.
 */
int layout_open(const struct layout *l, bool filled, struct bytes *b);

/** layout_copy() - as layout_open(), but always make a copy, of input. Return: as layout_open() */
int layout_copy(const struct layout *l, struct bytes *b);

/**
 * layout_store() - bring results from the copy to where the application wants them
 *
 * Return: 0; -EINVAL: the MPI does not unpack them.
 */
int layout_store(const struct layout *l, const struct bytes *b);

#endif
