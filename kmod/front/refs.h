/* SPDX-License-Identifier: GPL-2.0 */
/* References to a file that are held by its commands in flight. */
#ifndef COLL_FRONT_REFS_H
#define COLL_FRONT_REFS_H

#include <linux/types.h>

struct coll_file;

/**
 * coll_end_hold() - a command has a reference to the file
 * @cf: file
 *
 * Called when it has the reference, until coll_end_drop(), which comes before that goes.
 */
void coll_end_hold(struct coll_file *cf);
void coll_end_drop(struct coll_file *cf);

/**
 * coll_end_is_closed() - has its process closed the file, but for commands in flight?
 * @cf: file
 * @own: references of the caller, which is about to drop them
 *
 * Rule 2 of end.c. References of commands are counted later than they exist, and no longer. So
 * if their number has not changed meanwhile, the file had at least as many of them when it was
 * looked at. If it has changed, somebody else looks again.
 */
bool coll_end_is_closed(struct coll_file *cf, long own);

#endif /* COLL_FRONT_REFS_H */
