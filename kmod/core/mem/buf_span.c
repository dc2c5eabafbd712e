// SPDX-License-Identifier: GPL-2.0
/* Where a byte is in a buffer that may have gaps. */
#include <linux/mm.h>

#include "area.h"
#include "buf.h"
#include "buf_span.h"

/* The span that @at lies in, of a buffer with several spans; NULL: it lies in a gap. */
static const struct coll_span *coll_buf_span(const struct coll_buf *buf, u64 at)
{
	const struct coll_span *s = coll_span_find(buf->spans, buf->nr_spans, at);

	return at - s->at < s->len ? s : NULL;
}

unsigned long coll_vec_page(const struct coll_vec *v, u64 off)
{
	const struct coll_buf *buf = v->buf;
	u64 pos = (buf->addr & ~PAGE_MASK) + v->start + off;
	const struct coll_span *s;

	if (!buf->spans)
		return pos >> PAGE_SHIFT;
	/* The byte is in a span: coll_plan_check() ends ops with a step that is not. */
	s = coll_span_find(buf->spans, buf->nr_spans, coll_vec_addr(v, off));
	pos = (s->at & ~PAGE_MASK) + coll_vec_addr(v, off) - s->at;
	return s->page + (pos >> PAGE_SHIFT);
}

bool coll_buf_has(const struct coll_buf *buf, u64 at, u64 len)
{
	u64 begin = buf->addr, all = buf->len;

	if (buf->spans) {
		const struct coll_span *s = coll_buf_span(buf, at);

		if (!s)
			return false;
		begin = s->at;
		all = s->len;
	}
	return at - begin <= all && len <= all - (at - begin);
}

bool coll_buf_meets(const struct coll_buf *buf, u64 begin, u64 end)
{
	const struct coll_span *s;

	if (!buf->spans)
		return begin < buf->addr + buf->len && end > buf->addr;
	/* Spans do not overlap: of those that begin before @end, the last one ends last. */
	s = coll_span_find(buf->spans, buf->nr_spans, end - 1);
	return begin < s->at + s->len && end > s->at;
}

bool coll_buf_is(const struct coll_buf *buf, const struct coll_area *area)
{
	const struct coll_span *s = coll_area_spans(area);
	u32 i;

	if (buf->nr_spans != area->nr)
		return false;
	for (i = 0; i < area->nr; i++)
		if (buf->spans[i].at != s[i].at || buf->spans[i].len != s[i].len)
			return false;
	return true;
}

bool coll_vec_has(const struct coll_vec *v, u64 off, u64 len)
{
	return coll_buf_has(v->buf, coll_vec_addr(v, off), len);
}

const struct coll_vec *coll_piece_find(const struct coll_buf *buf, u64 at, u64 *off, u64 *left)
{
	u32 lo = 0, hi = buf->nr_pieces;
	u64 end;

	/* The last piece that does not begin behind @at. */
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (buf->pieces[mid].at <= at)
			lo = mid;
		else
			hi = mid;
	}
	end = hi < buf->nr_pieces ? buf->pieces[hi].at : buf->len;
	*off = at - buf->pieces[lo].at;
	*left = end - at;
	return &buf->pieces[lo].vec;
}
