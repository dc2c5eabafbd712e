// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>

#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/mem/area.h"
#include "../core/mem/buf.h"
#include "../core/mem/pins.h"
#include "fixed.h"
#include "take.h"

/* A vector in memory that is not registered. pins.c finds kept pins of it, buf.c makes new ones. */
static int coll_take_plain(struct coll_member *m, const struct coll_range *r,
			   const struct coll_area *area, struct coll_vec *v)
{
	struct coll_buf *buf = coll_pins_take(&m->pins, &m->ml, area, r->write);
	bool over;

	if (buf == ERR_PTR(-EDQUOT) || buf == ERR_PTR(-ENOMEM)) {
		over = buf == ERR_PTR(-EDQUOT);
		buf = coll_buf_window(&m->ml, area, r->write);
		if (over && !IS_ERR(buf))
			coll_group_note_memlock(coll_member_group(m),
						coll_buf_memlock_wanted(&m->ml, area));
	}
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	v->buf = buf;
	v->start = coll_area_at(area) - buf->addr;
	return 0;
}

int coll_take_vec(struct coll_member *m, const struct coll_range *r, struct coll_vec *v)
{
	const struct coll_area all = coll_area_range(r->addr, r->len);
	const struct coll_area *area = r->area ?: &all;
	struct coll_range reach = *r;
	int ret;

	reach.addr = coll_area_at(area);
	reach.len = coll_area_reach(area);
	/* A registered buffer has no gaps: if it has the first and the last block, it has all. */
	if (r->reg)
		ret = coll_member_vec(m, r->id, reach.addr, reach.len, r->write, v);
	else if (r->fixed)
		ret = coll_fixed_vec(&reach, v);
	else
		ret = coll_take_plain(m, r, area, v);
	/* Offsets count from r->addr; the first block need not be there. */
	v->start -= reach.addr - r->addr;
	return ret;
}
