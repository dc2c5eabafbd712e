/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When the watch of a file checks whether its rank has ended. It checks until no command is in
 * flight: after 50 ms, and then after twice as long each time, up to a second. end.c has the check.
 */
#ifndef COLL_FRONT_WATCH_H
#define COLL_FRONT_WATCH_H

struct coll_file;

/* Something has changed: check in 50 ms. */
void coll_watch_soon(struct coll_file *cf);

/* The watch has seen no end: check again after twice the time. Called by the watch alone. */
void coll_watch_later(struct coll_file *cf);

#endif /* COLL_FRONT_WATCH_H */
