// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aside.h"

static void *at(void *base, uint64_t bytes)
{
	return (void *)((uintptr_t)base + (uintptr_t)bytes);
}

/* Put the blocks one behind the other into the copy, and set @b->displs to their places there. */
static void take_blocks(struct bytes *b, int n, bool filled)
{
	uint64_t end = 0;
	int i;

	for (i = 0; i < n; i++) {
		b->home_displs[i] = b->displs[i];
		if (filled)
			memcpy(at(b->tmp, end), at(b->addr, b->displs[i]), b->counts[i]);
		b->displs[i] = end;
		end += b->counts[i];
	}
}

int aside_begin(struct bytes *b, int n, bool filled)
{
	b->tmp = malloc(b->len + 1);
	if (b->counts)
		b->home_displs = malloc((size_t)n * sizeof(*b->home_displs));
	if (!b->tmp || (b->counts && !b->home_displs)) {
		free(b->tmp);
		free(b->home_displs);
		b->tmp = b->home_displs = NULL;
		return -ENOMEM;
	}
	if (b->counts)
		take_blocks(b, n, filled);
	else if (filled)
		memcpy(b->tmp, b->addr, b->len);
	b->home = b->addr;
	b->addr = b->tmp;
	return 0;
}

/* Between two gaps there is the end of an element, and the beginning of the next one. */
static void store_elements(const struct bytes *b)
{
	const struct gap *gap = &b->gap;
	uint64_t from = 0, to = gap->at;

	for (; from < b->len; from = to + gap->len, to += gap->elem)
		memcpy(at(b->home, from), at(b->tmp, from), (to < b->len ? to : b->len) - from);
}

void aside_store(const struct bytes *b, int n)
{
	int i;

	if (!b->counts && b->gap.len) {
		store_elements(b);
		return;
	}
	if (!b->counts) {
		memcpy(b->home, b->tmp, b->len);
		return;
	}
	for (i = 0; i < n; i++)
		memcpy(at(b->home, b->home_displs[i]), at(b->tmp, b->displs[i]), b->counts[i]);
}
