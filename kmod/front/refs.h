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
 * Call it after taking the reference. Call coll_end_drop() before dropping the reference.
 */
void coll_end_hold(struct coll_file *cf);
void coll_end_drop(struct coll_file *cf);

/**
 * coll_end_is_closed() - do only commands in flight hold the file?
 * @cf: file
 * @own: references of the caller, which is about to drop them
 *
 * Rule 2 of end.c. A reference of a command is counted only while it exists. So if the number of
 * counted references has not changed meanwhile, the file had at least as many references of
 * commands when its count was read. If the number has changed, a later call decides.
 */
bool coll_end_is_closed(struct coll_file *cf, long own);

#endif /* COLL_FRONT_REFS_H */
