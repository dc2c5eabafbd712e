/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Proxies: with several nodes, the first local rank posts a small collective for all ranks of its
 * node. For each other rank it posts a request that belongs to that rank, the proxy. Input and
 * result are in the slot of that rank in the shared memory; see "Several nodes" in <linux/coll.h>.
 *
 * A proxy is idle, or busy from coll_proxies_claim() to coll_proxy_finish() or
 * coll_proxies_drop(). Its member is not released while it is busy.
 */
#ifndef COLL_CORE_PROXY_H
#define COLL_CORE_PROXY_H

#include <linux/types.h>

#include "req.h"

struct coll_member;
struct coll_slot;

/**
 * struct coll_proxy - a request that another rank posts
 * @req: the request; while the proxy is busy, it belongs to the first rank, and then to core
 * @slot: room for its vectors, COLL_SMALL each
 * @pos: of a busy proxy: position of the op
 * @busy: group->lock
 * @closed: it is not claimed or posted any more; group->lock
 *
 * Owner: the member, from COLL_IOC_SHM to its release.
 */
struct coll_proxy {
	struct coll_req req;
	struct coll_slot *slot;
	u64 pos;
	bool busy;
	bool closed;
};

/* Make the proxy of a rank that has none. Return: the proxy; NULL: there is no memory. */
struct coll_proxy *coll_proxy_new(struct coll_member *m);

/* Free a proxy that is not busy. @p may be NULL. */
void coll_proxy_free(struct coll_member *m, struct coll_proxy *p);

/* Is the proxy of this rank busy? */
bool coll_proxy_is_busy(struct coll_member *m);

/* The file goes: no other rank may post for this one any more. */
void coll_proxy_close(struct coll_member *m);

/* The file goes, after coll_proxy_close(): wait until its proxy is idle, and free it. */
void coll_proxy_release(struct coll_member *m);

/**
 * coll_proxies_claim() - take the proxies of all local ranks but the first
 * @lead: the first local rank
 * @pos: position of its next op
 *
 * Return: 0: all are busy now, and coll_proxies_drop() or a post of their requests follows.
 * -ESTALE: some rank has not written its slot, or posts by itself. -ENOTCONN: no shared memory.
 */
int coll_proxies_claim(struct coll_member *lead, u64 pos);

/* May the claimed proxies still be posted? Under group->lock. */
bool coll_proxies_hold_locked(const struct coll_member *lead, u64 pos);

/* The claimed proxies are not going to be posted: release what their requests hold. */
void coll_proxies_drop(struct coll_member *lead);

/**
 * coll_proxy_finish() - the op has ended: give the rank its result
 * @p: busy proxy, which must not be used any more
 * @result: 0 or -errno
 *
 * Called by ->done of the request. Copies slot->back_len bytes to the slot of the rank.
 */
void coll_proxy_finish(struct coll_proxy *p, int result);

#endif /* COLL_CORE_PROXY_H */
