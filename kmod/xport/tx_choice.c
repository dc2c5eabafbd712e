// SPDX-License-Identifier: GPL-2.0
/*
 * The mode in which large frames are sent is chosen for each data stream by timing real ops.
 * An op that is a trial sends all large frames for the peer in one mode; the time that the peer
 * takes to consume the first of them is measured. Each mode is tried a few times, by turns, and
 * its best time counts: delays by a late peer or a busy CPU tell nothing about the mode. A mode
 * that has been far behind twice is not tried again, because a rank waits for every trial. A
 * mode that looks much better than zerocopy is tried more often before it is chosen. All trials
 * are repeated now and then.
 *
 * Everything here is under conn->lock. A wrong choice costs time, nothing else.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "../core/limits.h"
#include "../core/op/op.h"
#include "channel.h"
#include "conn.h"
#include "tx_choice.h"

/* How often a mode is tried: usually; if it is far behind; to be sure of the best mode. */
#define COLL_CHOICE_TRIALS	3
#define COLL_CHOICE_LOST	2
#define COLL_CHOICE_SURE	6
/* Trials begin again after this number of large ops. */
#define COLL_CHOICE_AGAIN	1000
/* The first bytes of an op are timed: how many, and the least that gives a result. */
#define COLL_CHOICE_BYTES	SZ_1M
#define COLL_CHOICE_LEAST	SZ_256K

/* Is @mode ubuf, and useless? The stack copies the bytes, or others might hold them forever. */
static bool coll_choice_copies(const struct coll_conn *conn, u32 mode)
{
	return mode == COLL_NL_SEND_MODE_UBUF &&
	       (!conn->choice.direct ||
		(conn->choice.tried[mode] && !READ_ONCE(conn->zerocopied)));
}

/* Is the mode too far behind to become the best? Measurements are not wrong by that much. */
static bool coll_choice_lost(const struct coll_conn *conn, u32 mode)
{
	const struct coll_tx_choice *c = &conn->choice;
	u64 best = 0;
	u32 i;

	if (coll_choice_copies(conn, mode) || (mode == COLL_NL_SEND_MODE_SPLICE && !c->kin))
		return true;
	for (i = 0; i < COLL_SEND_MODES; i++)
		if (!coll_choice_copies(conn, i))
			best = max(best, c->rate[i]);
	return c->tried[mode] >= COLL_CHOICE_LOST && c->rate[mode] < best - best / 3;
}

/* The mode that does not copy, if there is one. */
static u32 coll_choice_zerocopy(const struct coll_conn *conn)
{
	if (conn->choice.kin)
		return COLL_NL_SEND_MODE_SPLICE;
	return coll_choice_copies(conn, COLL_NL_SEND_MODE_UBUF) ? COLL_NL_SEND_MODE_COPY :
								  COLL_NL_SEND_MODE_UBUF;
}

/* Is @mode faster than @than, by one part in @part? */
static bool coll_choice_gains(const struct coll_conn *conn, u32 mode, u32 than, u32 part)
{
	u64 rate = conn->choice.rate[mode];

	return !coll_choice_lost(conn, mode) && conn->choice.rate[than] < rate - rate / part;
}

/*
 * The best mode so far. If the network is the bottleneck, all modes are equally fast: then one
 * that does not copy is best. A copy has to gain more, because it takes CPU time.
 */
static u32 coll_choice_best(const struct coll_conn *conn)
{
	u32 best = coll_choice_zerocopy(conn);

	if (coll_choice_gains(conn, COLL_NL_SEND_MODE_UBUF, best, 16))
		best = COLL_NL_SEND_MODE_UBUF;
	if (coll_choice_gains(conn, COLL_NL_SEND_MODE_COPY, best, 4))
		best = COLL_NL_SEND_MODE_COPY;
	return best;
}

/* The mode that has had the fewest trials of those that need more; COLL_SEND_MODES: none. */
static u32 coll_choice_next(const struct coll_conn *conn)
{
	const struct coll_tx_choice *c = &conn->choice;
	u32 zerocopy = coll_choice_zerocopy(conn), best = coll_choice_best(conn);
	u32 next = COLL_SEND_MODES, wanted, i;

	for (i = 0; i < COLL_SEND_MODES; i++) {
		wanted = COLL_CHOICE_TRIALS;
		if (best != zerocopy && (i == best || i == zerocopy))
			wanted = COLL_CHOICE_SURE;
		if (c->tried[i] >= wanted || (i != zerocopy && coll_choice_lost(conn, i)))
			continue;
		if (next == COLL_SEND_MODES || c->tried[i] < c->tried[next])
			next = i;
	}
	return next;
}

/* An op begins to send: as a trial, or in the chosen mode. */
static void coll_choice_begin(struct coll_conn *conn, struct coll_channel *ch)
{
	struct coll_tx_choice *c = &conn->choice;
	u32 next;

	if (ch->tx_large == ch->tx_op->seq)
		return;
	ch->tx_large = ch->tx_op->seq;
	/* The last trial ended before it was timed. If ->until is set, its ACK is still to come. */
	if (c->ch == ch && !c->until)
		c->ch = NULL;
	if (c->ch)
		return;
	if (coll_choice_next(conn) == COLL_SEND_MODES && ++c->ops >= COLL_CHOICE_AGAIN) {
		c->ops = 0;
		c->small = 0;
		memset(c->tried, 0, sizeof(c->tried));
	}
	next = coll_choice_next(conn);
	if (next == COLL_SEND_MODES || ch->tx_op->bytes <= c->small)
		return;
	c->ch = ch;
	c->bytes = ch->tx_op->bytes;
	c->trial = next;
	c->since = ktime_get_ns();
	c->from = ch->tx_sent;
	c->until = 0;
}

void coll_choice_skip(struct coll_channel *ch)
{
	ch->tx_large = ch->tx_op->seq;
}

enum coll_nl_send_mode coll_choice_mode(struct coll_channel *ch)
{
	struct coll_tx_choice *c = &ch->conn->choice;

	coll_choice_begin(ch->conn, ch);
	return c->ch == ch ? c->trial : c->mode;
}

bool coll_choice_asks(struct coll_channel *ch, bool last)
{
	struct coll_tx_choice *c = &ch->conn->choice;

	if (c->ch != ch || ch->tx_large != ch->tx_op->seq || c->until)
		return false;
	if (!last && ch->tx_sent - c->from < COLL_CHOICE_BYTES)
		return false;
	c->until = ch->tx_sent;
	return true;
}

void coll_choice_acked(struct coll_channel *ch)
{
	struct coll_tx_choice *c = &ch->conn->choice;
	u64 ns, bytes, rate;

	if (c->ch != ch || !c->until || ch->tx_acked < c->until)
		return;
	c->ch = NULL;
	bytes = c->until - c->from;
	if (bytes < COLL_CHOICE_LEAST) {
		c->small = max(c->small, c->bytes);
		return;
	}
	ns = max_t(u64, ktime_get_ns() - c->since, 1);
	rate = div64_u64(bytes * NSEC_PER_SEC, ns);
	/* the first trial of a round replaces the rate of the last round */
	if (!c->tried[c->trial] || rate > c->rate[c->trial])
		WRITE_ONCE(c->rate[c->trial], rate);
	c->tried[c->trial]++;
	if (coll_choice_next(ch->conn) == COLL_SEND_MODES)
		WRITE_ONCE(c->mode, coll_choice_best(ch->conn));
}

void coll_choice_leave(struct coll_channel *ch)
{
	if (ch->conn->choice.ch == ch)
		ch->conn->choice.ch = NULL;
}
