// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>
#include <linux/types.h>

#include "group.h"
#include "parts.h"

/* Set once at load, read only after. */
static const struct coll_group_part *const *coll_group_parts;

void coll_parts_set(const struct coll_group_part *const *parts)
{
	coll_group_parts = parts;
}

int coll_parts_init(struct coll_group *g, u32 flags)
{
	const struct coll_group_part *const *p;
	int ret = 0;

	for (p = coll_group_parts; *p && !ret; p++)
		if ((*p)->init)
			ret = (*p)->init(g, flags);
	return ret;
}

void coll_parts_leaving_locked(struct coll_group *g, struct coll_left *l)
{
	const struct coll_group_part *const *p;

	lockdep_assert_held(&g->lock);
	for (p = coll_group_parts; *p; p++)
		if ((*p)->leaving_locked)
			(*p)->leaving_locked(g, l);
}

void coll_parts_left(struct coll_group *g, u32 rank)
{
	const struct coll_group_part *const *p;

	for (p = coll_group_parts; *p; p++)
		if ((*p)->left)
			(*p)->left(g, rank);
}

void coll_parts_failing_locked(struct coll_group *g)
{
	const struct coll_group_part *const *p;

	lockdep_assert_held(&g->lock);
	for (p = coll_group_parts; *p; p++)
		if ((*p)->failing_locked)
			(*p)->failing_locked(g);
}

void coll_parts_fail(struct coll_group *g)
{
	const struct coll_group_part *const *p;

	for (p = coll_group_parts; *p; p++)
		if ((*p)->fail)
			(*p)->fail(g);
}

void coll_parts_quiesce(struct coll_group *g)
{
	const struct coll_group_part *const *p;

	for (p = coll_group_parts; *p; p++)
		if ((*p)->quiesce)
			(*p)->quiesce(g);
}

void coll_parts_free(struct coll_group *g)
{
	const struct coll_group_part *const *p = coll_group_parts;

	while (*p)
		p++;
	while (p-- > coll_group_parts)
		if ((*p)->free)
			(*p)->free(g);
}
