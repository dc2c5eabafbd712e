/* SPDX-License-Identifier: GPL-2.0 */
/* A pass over a connection: everything there is to do now. */
#ifndef COLL_XPORT_PASS_H
#define COLL_XPORT_PASS_H

struct coll_conn;
struct coll_watcher;
struct work_struct;

/* The work of a connection. */
void coll_conn_work(struct work_struct *work);

/**
 * coll_conn_attend() - do the passes of the work, for as long as a caller waits
 * @conn: connection that the caller watches
 * @w: the caller
 */
void coll_conn_attend(struct coll_conn *conn, struct coll_watcher *w);

#endif /* COLL_XPORT_PASS_H */
