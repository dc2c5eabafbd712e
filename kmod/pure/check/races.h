/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Races: no two steps that may happen at once touch the same bytes. */
#ifndef COLL_PURE_CHECK_RACES_H
#define COLL_PURE_CHECK_RACES_H

#include "state.h"

/* Return: 0 or -EINVAL. */
int check_races(struct check *k);

#endif /* COLL_PURE_CHECK_RACES_H */
