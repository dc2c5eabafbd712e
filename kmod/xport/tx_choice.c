// SPDX-License-Identifier: GPL-2.0
/*
 * How large frames go is chosen for each data stream by timing real ops: of some, all
 * frames for the peer go in one mode after the other, and it is seen how long the peer
 * takes to consume the first of them. Each mode is tried a few times, by turns, and the
 * best time of each counts: what else was slow (a peer that was late, a CPU that was
 * taken) tells nothing of the mode. Now and then it is all done again.
 *
 * Everything here is under conn->lock. A wrong choice costs time, nothing else.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "../core/limits.h"
#include "../core/op.h"
#include "channel.h"
#include "conn.h"
#include "tx.h"

/* Times each mode is tried. */
#define COLL_CHOICE_TRIALS	4
/* So many large ops later it is done again. */
#define COLL_CHOICE_AGAIN	1000
/* Of an op the first so many bytes are timed, if there are so many at least. */
#define COLL_CHOICE_BYTES	SZ_1M
#define COLL_CHOICE_LEAST	SZ_256K

static bool coll_choice_done(const struct coll_tx_choice *c)
{
	return c->trials >= COLL_CHOICE_TRIALS * COLL_SEND_MODES;
}

/*
 * The best one. Where the network is what is slow all are the same: then one that does
 * not copy, and it is the stack that says when it is through, if it can.
 */
static void coll_choose(struct coll_conn *conn)
{
	struct coll_tx_choice *c = &conn->choice;
	u32 lend = READ_ONCE(conn->zerocopied) ? COLL_NL_SEND_MODE_UBUF :
						 COLL_NL_SEND_MODE_SPLICE;
	u32 i, best = 0;

	for (i = 1; i < COLL_SEND_MODES; i++)
		if (c->rate[i] > c->rate[best])
			best = i;
	if (c->rate[lend] >= c->rate[best] - c->rate[best] / 16)
		best = lend;
	WRITE_ONCE(c->mode, best);
}

/* An op begins to send: a trial, or as was chosen. */
static void coll_choice_begin(struct coll_conn *conn, struct coll_channel *ch)
{
	struct coll_tx_choice *c = &conn->choice;

	if (ch->tx_large == ch->op->seq)
		return;
	ch->tx_large = ch->op->seq;
	/* Ended before its time was to be taken. Who waits for the ACK goes on waiting. */
	if (c->ch == ch && !c->until)
		c->ch = NULL;
	if (c->ch)
		return;
	if (coll_choice_done(c) && ++c->ops >= COLL_CHOICE_AGAIN) {
		c->ops = 0;
		c->trials = 0;
	}
	if (coll_choice_done(c))
		return;
	c->ch = ch;
	c->trial = c->trials % COLL_SEND_MODES;
	c->since = ktime_get_ns();
	c->from = ch->tx_sent;
	c->until = 0;
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

	if (c->ch != ch || ch->tx_large != ch->op->seq || c->until)
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
	if (bytes < COLL_CHOICE_LEAST)
		return;
	ns = max_t(u64, ktime_get_ns() - c->since, 1);
	rate = div64_u64(bytes * NSEC_PER_SEC, ns);
	/* the first one of a round replaces what the last round has found */
	if (c->trials < COLL_SEND_MODES || rate > c->rate[c->trial])
		WRITE_ONCE(c->rate[c->trial], rate);
	c->trials++;
	if (coll_choice_done(c))
		coll_choose(ch->conn);
}

void coll_choice_leave(struct coll_channel *ch)
{
	if (ch->conn->choice.ch == ch)
		ch->conn->choice.ch = NULL;
}
