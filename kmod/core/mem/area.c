// SPDX-License-Identifier: GPL-2.0
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../../pure/wire.h"
#include "../limits.h"
#include "area.h"

static struct coll_span *coll_area_last(struct coll_area *a)
{
	return (a->many ?: &a->one) + a->nr - 1;
}

/* Make room for @most spans. Return: 0 or -ENOMEM. */
static int coll_area_grow(struct coll_area *a, u32 most)
{
	a->many = kvmalloc_array(most, sizeof(*a->many), GFP_KERNEL_ACCOUNT);
	if (!a->many)
		return -ENOMEM;
	a->many[0] = a->one;
	return 0;
}

/* Put a span behind the others. There are @most spans at the most. */
static int coll_area_add(struct coll_area *a, u64 at, u64 len, u32 most)
{
	const struct coll_span span = { .at = at, .len = len };

	if (!a->nr) {
		a->one = span;
		a->nr = 1;
		return 0;
	}
	/* Usually a block begins at the end of the block before it. */
	if (coll_area_last(a)->at + coll_area_last(a)->len == at) {
		coll_area_last(a)->len += len;
		return 0;
	}
	if (!a->many && coll_area_grow(a, most))
		return -ENOMEM;
	a->many[a->nr++] = span;
	return 0;
}

static int coll_span_cmp(const void *a, const void *b)
{
	const struct coll_span *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Sort the spans, and join those that touch. Return: true if some overlap. */
static bool coll_area_sort(struct coll_area *a)
{
	bool sorted = true, overlap = false;
	u32 i, last = 0;

	if (!a->many)
		return false;
	for (i = 1; i < a->nr && sorted; i++)
		sorted = a->many[i - 1].at <= a->many[i].at;
	if (!sorted)
		sort(a->many, a->nr, sizeof(*a->many), coll_span_cmp, NULL);
	for (i = 1; i < a->nr; i++) {
		struct coll_span *to = &a->many[last];
		u64 ahead = a->many[i].at - to->at;

		if (ahead > to->len) {
			a->many[++last] = a->many[i];
			continue;
		}
		overlap |= ahead < to->len;
		to->len = max(to->len, ahead + a->many[i].len);
	}
	a->nr = last + 1;
	return overlap;
}

int coll_area_blocks(struct coll_area *a, u64 addr, const u64 *counts, const u64 *displs,
		     u32 nr, u32 elem, bool apart)
{
	u64 at, len;
	u32 i;

	*a = (struct coll_area){ };
	for (i = 0; i < nr; i++) {
		if (!counts[i])
			continue;
		if (check_mul_overflow(counts[i], (u64)elem, &len) ||
		    check_mul_overflow(displs[i], (u64)elem, &at))
			return -EINVAL;
		if (check_add_overflow(addr, at, &at) ||
		    !access_ok(u64_to_user_ptr(at), len) ||
		    at + len > ULONG_MAX - PAGE_SIZE)
			return -EFAULT;
		if (coll_area_add(a, at, len, nr))
			return -ENOMEM;
	}
	return coll_area_sort(a) && apart ? -EINVAL : 0;
}

int coll_area_unite(struct coll_area *a, const struct coll_area *b, const struct coll_area *c)
{
	*a = (struct coll_area){ };
	if (coll_area_grow(a, b->nr + c->nr))
		return -ENOMEM;
	memcpy(a->many, coll_area_spans(b), b->nr * sizeof(*a->many));
	memcpy(a->many + b->nr, coll_area_spans(c), c->nr * sizeof(*a->many));
	a->nr = b->nr + c->nr;
	coll_area_sort(a);
	return 0;
}

void coll_area_join(struct coll_area *a)
{
	u32 i, last = 0;

	if (!a->many)
		return;
	for (i = 0; i < a->nr; i++) {
		u64 at = a->many[i].at & PAGE_MASK;
		u64 end = PAGE_ALIGN(a->many[i].at + a->many[i].len);
		struct coll_span *to = &a->many[last];

		if (i && at <= to->at + to->len)
			to->len = end - to->at;
		else
			a->many[i ? ++last : 0] = (struct coll_span){ at, end - at };
	}
	a->nr = last + 1;
	a->digest = 0;
	for (i = 0; i < a->nr; i++)
		a->digest = coll_digest(coll_digest(a->digest, a->many[i].at), a->many[i].len);
}

int coll_area_check(const struct coll_area *a)
{
	const struct coll_span *s = coll_area_spans(a);
	u64 bytes = 0, end;
	u32 i;

	if (!a->nr)
		return -EINVAL;
	for (i = 0; i < a->nr; i++) {
		if (s[i].len > COLL_MAX_BUFFER - bytes)
			return -EINVAL;
		bytes += s[i].len;
		if (check_add_overflow(s[i].at, s[i].len, &end))
			return -EFAULT;
		if (!access_ok(u64_to_user_ptr(s[i].at), s[i].len))
			return -EFAULT;
	}
	return 0;
}

unsigned long coll_area_pages(const struct coll_area *a)
{
	const struct coll_span *s = coll_area_spans(a);
	unsigned long pages = 0;
	u32 i;

	for (i = 0; i < a->nr; i++)
		pages += coll_range_pages(s[i].at, s[i].len);
	return pages;
}

u64 coll_area_bytes(const struct coll_area *a)
{
	const struct coll_span *s = coll_area_spans(a);
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < a->nr; i++)
		bytes += s[i].len;
	return bytes;
}

/* Address and length of a single range come from the user: their sum may wrap. */
static bool coll_spans_meet(const struct coll_span *a, const struct coll_span *b)
{
	return a->at <= b->at ? b->at - a->at < a->len : a->at - b->at < b->len;
}

bool coll_areas_meet(const struct coll_area *a, const struct coll_area *b)
{
	const struct coll_span *x = coll_area_spans(a), *y = coll_area_spans(b);
	u32 i = 0, k = 0;

	while (i < a->nr && k < b->nr) {
		if (coll_spans_meet(&x[i], &y[k]))
			return true;
		if (x[i].at < y[k].at)
			i++;
		else
			k++;
	}
	return false;
}

bool coll_areas_equal(const struct coll_area *a, const struct coll_area *b)
{
	const struct coll_span *x = coll_area_spans(a), *y = coll_area_spans(b);
	u32 i;

	if (a->nr != b->nr)
		return false;
	for (i = 0; i < a->nr; i++)
		if (x[i].at != y[i].at || x[i].len != y[i].len)
			return false;
	return true;
}

void coll_area_free(struct coll_area *a)
{
	kvfree(a->many);
	a->many = NULL;
}

const struct coll_span *coll_span_find(const struct coll_span *spans, u32 nr, u64 at)
{
	u32 low = 0, high = nr;

	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (spans[mid].at <= at)
			low = mid;
		else
			high = mid;
	}
	return &spans[low];
}
