// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <string.h>

#include "comm/shm.h"
#include "shm_copy.h"
#include "shm_move.h"

/*
 * After each part of so many bytes a rank tells the others how much it has written. With smaller
 * parts, two CPUs too often want the same cache lines at a time: the line of the number, and the
 * lines at the end of a part, because CPUs read ahead.
 */
#define PART	16384

static size_t less(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Copy bytes @begin to @end of the input, but not those that no other rank reads. */
static void write_part(const struct shm_move *m, char *to, size_t begin, size_t end)
{
	const char *from = m->in;
	size_t unread = less(m->own_at, end), read = m->own_at + m->own_bytes;

	if (begin < unread)
		memcpy(to + begin, from + begin, unread - begin);
	if (begin < read)
		begin = read;
	if (begin < end)
		memcpy(to + begin, from + begin, end - begin);
}

void shm_copy_in(const struct shm *s, const struct shm_move *m, uint64_t pos)
{
	struct coll_shm_area *area = shm_own_area(s);
	char *to = (char *)(shm_own_slot(s, pos) + 1);
	size_t done = 0, end;

	if (!m->in_parts) {
		write_part(m, to, 0, m->in_bytes);
		return;
	}
	__atomic_store_n((uint64_t *)&area->written, 0, __ATOMIC_RELAXED);
	__atomic_store_n((uint64_t *)&area->writing, pos, __ATOMIC_RELEASE);
	while (done < m->in_bytes) {
		end = less(done + PART, m->in_bytes);
		write_part(m, to, done, end);
		done = end;
		__atomic_store_n((uint64_t *)&area->written, done, __ATOMIC_RELEASE);
	}
}

const unsigned char *shm_copy_input(const struct shm *s, const struct shm_move *m, uint32_t rank,
				    uint64_t pos)
{
	return rank == s->me && m->own_bytes ? m->in : shm_data(s, rank, pos);
}

bool shm_copy_block(const struct shm *s, const struct shm_move *m, uint64_t pos,
		    struct shm_copied *at, size_t readable)
{
	size_t begin = m->copy.offset + at->bytes, end = m->copy.offset + m->unit;
	unsigned char *to = (unsigned char *)m->out + at->block * m->unit + at->bytes;
	const unsigned char *from = shm_copy_input(s, m, m->copy.first + at->block, pos) + begin;
	size_t now = less(readable, end);

	/* In place, the own block is there. */
	if (begin < now && from != to)
		memcpy(to, from, now - begin);
	if (now == end)
		*at = (struct shm_copied){ .block = at->block + 1 };
	else if (begin < now)
		at->bytes += now - begin;
	return now == end;
}

void shm_copy_rest(const struct shm *s, const struct shm_move *m, uint64_t pos,
		   struct shm_copied *at)
{
	while (at->block < m->copy.blocks)
		shm_copy_block(s, m, pos, at, SIZE_MAX);
}
