/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The objects of a session. */
#ifndef LIBCOLL_ITERATE_OBJECTS_H
#define LIBCOLL_ITERATE_OBJECTS_H

#include "session.h"

/* iter_find() and iter_put() know nothing of a run. */
struct iter_object *iter_find(struct iter_objects *objs, const char *name);
int iter_put(struct iter_objects *objs, const char *name, void *data, size_t bytes,
	     coll_iter_free_fn *free_fn);
void iter_objects_free(struct iter_objects *objs);
/* Allocate @bytes zeroed bytes, at least one. */
void *iter_alloc(uint64_t bytes);

#endif
