// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Ranks other than 0: connect, prove, then give and get round by round. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coll/coll.h>

#include "base/bytes.h"
#include "base/debug.h"
#include "net/handshake.h"
#include "net/resolve.h"
#include "rdv_client.h"
#include "rdv_wire.h"

#define BACKOFF_MIN_MS	5
#define BACKOFF_MAX_MS	400
#define STAGGER_MS	250	/* after which the next address is tried, too */
#define FRESH_MS	2000	/* after which a name is looked up again */
#define BACK_MIN_MS	50	/* backoff of one that comes back and finds no room */
#define PATIENCE_MS	500	/* for a proof, where there are other addresses */
#define EXISTS_MS	1000	/* in which rank 0 hears that who was here before has left */
#define BACK_MS		60000	/* how long rank 0 may not answer one that comes back */
#define REFUSED_MS	2000	/* how long nobody may listen where it was */

/**
 * struct rdv_client - the side of the other ranks
 * @cfg: as given; what it points to lives until coll_init() is over
 * @fd: to rank 0, -1: none
 * @round: of the last round begun
 * @failed: negative errno: there are no more rounds
 * @refused: rank 0 has proved itself and said no
 * @token: that this is the process that was here before
 * @away: we have made room, and come back: to the same rank 0
 * @until: how long an attempt to reach rank 0 may take
 * @pause_ms: after which rank 0 wants us back; 0: at once
 * @here: our own address, of the last connection
 * @lookup: of its name, or NULL
 * @fresh: until then @addrs need not be looked up again
 * @exists: until then EEXIST may mean a process that ended just now
 * @patience_ms: how long one that accepts may take to prove that it is rank 0: less at first,
 *	for somebody else may have one of the ports
 * @addrs: of rank 0, @nr of them
 */
struct rdv_client {
	struct rdv_config cfg;
	int fd;
	uint16_t round;
	int failed;
	bool refused;
	uint32_t token;
	bool away;
	struct deadline until;
	uint32_t pause_ms;
	struct sock_addr here;
	struct lookup *lookup;
	struct deadline fresh;
	struct deadline exists;
	unsigned int patience_ms;
	struct sock_addr addrs[RESOLVE_MAX];
	int nr;
	uint8_t session[AUTH_LEN];
	uint8_t job[AUTH_LEN];
};

/**
 * struct tries - one pass over all addresses
 * @started: number of addresses that have been tried
 * @fd: of each, -1 if it is none (any more)
 * @err: of each that has failed
 */
struct tries {
	int started;
	int fd[RESOLVE_MAX];
	int err[RESOLVE_MAX];
};

static void stop_try(struct tries *t, int i, int err)
{
	if (t->fd[i] >= 0)
		close(t->fd[i]);
	t->fd[i] = -1;
	t->err[i] = err;
}

static void start_try(struct rdv_client *c, struct tries *t)
{
	int i = t->started++;

	t->fd[i] = sock_connect_start(&c->addrs[i]);
	if (t->fd[i] < 0)
		t->err[i] = t->fd[i];
}

/* Wait for one of those under way; its number, or -1: none yet. */
static int poll_tries(struct tries *t, struct deadline d)
{
	struct pollfd p[RESOLVE_MAX];
	int i, ret;

	for (i = 0; i < t->started; i++)
		p[i] = (struct pollfd){ .fd = t->fd[i], .events = POLLOUT };
	if (poll(p, (nfds_t)t->started, deadline_left(d)) <= 0)
		return -1;
	for (i = 0; i < t->started; i++) {
		if (t->fd[i] < 0 || !p[i].revents)
			continue;
		ret = sock_connect_result(t->fd[i]);
		if (!ret)
			return i;
		stop_try(t, i, ret);
	}
	return -1;
}

static bool is_trying(const struct tries *t)
{
	int i;

	for (i = 0; i < t->started; i++)
		if (t->fd[i] >= 0)
			return true;
	return false;
}

/*
 * The next address that TCP gets through to, or -1: none of the rest. Those that do not
 * answer do not hold up the others: after a moment the next one is tried beside them.
 */
static int next_connected(struct rdv_client *c, struct tries *t, struct deadline d)
{
	int i;

	while (is_trying(t) || t->started < c->nr) {
		if (!deadline_left(d)) {
			for (i = 0; i < t->started; i++)
				if (t->fd[i] >= 0)
					stop_try(t, i, -ETIMEDOUT);
			while (t->started < c->nr)
				t->err[t->started++] = -ETIMEDOUT;
			return -1;
		}
		if (t->started < c->nr)
			start_try(c, t);
		i = poll_tries(t, t->started < c->nr ? deadline_min(d, deadline_in(STAGGER_MS)) : d);
		if (i >= 0)
			return i;
	}
	return -1;
}

/* TCP is there: is that rank 0? 0: @fd is the client's. */
static int prove(struct rdv_client *c, int fd, struct deadline d)
{
	const struct hs_ask ask = {
		c->away ? HS_PURPOSE_BACK : HS_PURPOSE_RANK, c->cfg.rank, c->cfg.size, c->token
	};
	struct handshake hs;
	int ret;

	hs_start_client(&hs, fd, c->cfg.secret, &ask, c->away ? c->job : NULL);
	ret = hs_run(&hs, d);
	c->refused = hs.status;
	if (ret >= 0)
		ret = sock_local(fd, &c->here);
	if (!ret) {
		c->fd = fd;
		memcpy(c->session, hs.session, AUTH_LEN);
		memcpy(c->job, hs.job, AUTH_LEN);
	}
	auth_wipe(&hs, sizeof(hs));
	return ret;
}

/* Answers that another attempt at the same address would only get again. */
static bool is_final(int err)
{
	switch (-err) {
	case EKEYREJECTED: case EPROTO: case EPROTONOSUPPORT: case EEXIST:
	case EINVAL: case ENOMEM: case EMFILE: case ENFILE: case EACCES: case EPERM:
		return true;
	default:
		return false;
	}
}

/* How much an error tells: of several addresses, the most telling one is reported. */
static int weight(int err)
{
	switch (-err) {
	case 0:
		return -1;
	case ETIMEDOUT: case ENODATA: case EPIPE: case ECONNRESET:
		return 1;
	case ENETUNREACH: case EAFNOSUPPORT: case EADDRNOTAVAIL:
		return 0;
	case ECONNREFUSED:
		return 3;
	default:
		return is_final(err) ? 4 : 2;
	}
}

/* For this pass. Rank 0 may be slow, so each pass has twice as much, up to @most. */
static unsigned int more_patience(struct rdv_client *c, unsigned int most)
{
	unsigned int ms = c->patience_ms ? 2 * c->patience_ms : PATIENCE_MS;

	if (c->nr == 1 || ms > most)
		ms = most;
	c->patience_ms = ms;
	return ms;
}

/* One pass: 0, or what tells most of why not. @final: no address can do any better. */
static int try_all(struct rdv_client *c, bool *final)
{
	unsigned int ms = c->cfg.stranger_ms ? c->cfg.stranger_ms : RDV_STRANGER_MS;
	unsigned int patience = c->away ? BACK_MS : more_patience(c, ms);
	int ret = 0, i, worst = 0;
	struct tries t = { 0 };
	char text[SOCK_TEXT];

	c->refused = false;
	for (;;) {
		i = next_connected(c, &t, deadline_min(deadline_in(ms), c->until));
		if (i < 0)
			break;
		ret = prove(c, t.fd[i], deadline_min(deadline_in(patience), c->until));
		if (!ret)
			t.fd[i] = -1;
		else
			stop_try(&t, i, ret);
		if (!ret || c->refused)
			break;
	}
	*final = true;
	for (i = 0; i < t.started; i++) {
		stop_try(&t, i, t.err[i]);
		*final &= is_final(t.err[i]);
		if (weight(t.err[i]) > weight(t.err[worst]))
			worst = i;
	}
	if (c->fd >= 0)
		return 0;
	ret = c->refused ? ret : t.err[worst];
	/* Rank 0 is there, but has no room. */
	if (c->refused && ret == -EBUSY) {
		*final = false;
		return ret;
	}
	*final |= c->refused;
	coll_explain("rank 0 at %s: %s", sock_text(&c->addrs[worst], text), strerror(-ret));
	return ret;
}

static void pause_ms(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

/*
 * Its addresses: they may be known only later, and change as long as it is not reached.
 * Those we have are good while others are looked up. Return: 0: there are some.
 */
static int refresh(struct rdv_client *c)
{
	struct sock_addr addrs[RESOLVE_MAX];
	int ret = 0;

	if (!c->cfg.spec)
		return c->nr ? 0 : -EINVAL;
	if (!c->lookup && (!c->nr || !deadline_left(c->fresh)))
		ret = lookup_begin(&c->lookup, c->cfg.spec);
	if (c->lookup)
		ret = lookup_wait(&c->lookup, c->nr ? deadline_in(0) : c->until,
				  addrs, RESOLVE_MAX);
	if (ret > 0) {
		memcpy(c->addrs, addrs, (size_t)ret * sizeof(*addrs));
		c->nr = ret;
		c->fresh = deadline_in(FRESH_MS);
	}
	if (c->nr)
		return 0;
	if (ret == -EAGAIN)
		ret = -ETIMEDOUT;
	coll_explain("%s: %s", c->cfg.spec, ret == -EHOSTUNREACH ? "no such name" :
		     ret == -ETIMEDOUT ? "the look-up took too long" : strerror(-ret));
	return ret;
}

/*
 * Is this rank taken? It may be by a process that has ended, and rank 0 will know that soon. So
 * it is tried for a while.
 */
static bool may_be_gone(struct rdv_client *c, int err)
{
	if (err != -EEXIST)
		return false;
	if (!c->exists.at_ms)
		c->exists = deadline_in(EXISTS_MS);
	return deadline_left(c->exists);
}

/* Try until it works, cannot work, or the time is over. Return: 0 or the last real error. */
static int connect_to_zero(struct rdv_client *c)
{
	unsigned int backoff = c->away ? BACK_MIN_MS : BACKOFF_MIN_MS;
	unsigned int nap;
	int ret, said = 0;
	uint8_t jitter;
	bool final, busy;
	int left;

	for (;;) {
		final = false;
		ret = refresh(c);
		if (ret)
			final = ret == -EINVAL || ret == -ENOMEM;
		else
			ret = try_all(c, &final);
		if (!ret)
			return 0;
		if (may_be_gone(c, ret))
			final = false;
		else if (c->exists.at_ms)
			return -EEXIST;
		if (final)
			return ret;
		busy = ret == -EBUSY;
		if (busy && c->away)
			c->until = deadline_min(deadline_in(BACK_MS), c->cfg.deadline);
		if (c->away && ret == -ECONNREFUSED)
			c->until = deadline_min(deadline_in(REFUSED_MS), c->until);
		if (ret == -ENODATA || ret == -EPIPE || ret == -ECONNRESET || busy)
			ret = -ETIMEDOUT;
		left = deadline_left(c->until);
		/* A pass that was cut short tells less than the one before. */
		if (!left)
			return ret == -ETIMEDOUT && said ? said : ret;
		if (ret != said)
			coll_debug("rank 0 not reached (%s), trying again", strerror(-ret));
		said = ret;
		/* A thousand ranks must not knock in step. */
		if (auth_random(&jitter, 1))
			jitter = 0;
		backoff += backoff * jitter / 256;
		nap = busy && c->pause_ms > backoff ? c->pause_ms : backoff;
		pause_ms(nap < (unsigned int)left ? nap : (unsigned int)left);
		if (!deadline_left(c->until))
			return ret;
		backoff = backoff * 2 < BACKOFF_MAX_MS ? backoff * 2 : BACKOFF_MAX_MS;
	}
}

int rdv_client_open(struct rdv_client **out, const struct rdv_config *cfg)
{
	struct rdv_client *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	c->cfg = *cfg;
	c->fd = -1;
	c->until = cfg->deadline;
	if (auth_random((uint8_t *)&c->token, sizeof(c->token)))
		c->token = 0;
	if (!cfg->spec) {
		c->nr = cfg->nr_addrs < RESOLVE_MAX ? cfg->nr_addrs : RESOLVE_MAX;
		memcpy(c->addrs, cfg->addrs, (size_t)c->nr * sizeof(*c->addrs));
	}
	ret = connect_to_zero(c);
	if (ret) {
		lookup_drop(&c->lookup);
		free(c);
		return ret;
	}
	coll_explain("%s", "");
	*out = c;
	return 0;
}

static int send_give(struct rdv_client *c, int status, const uint8_t *in)
{
	struct rdv_head head = {
		.type = RDV_GIVE,
		.round = c->round,
		.status = (uint32_t)-status,
		.length = RDV_BLOB,
	};
	uint8_t msg[RDV_GIVE_LEN] = { 0 };
	uint8_t digest[AUTH_LEN];
	int ret;

	rdv_put_head(msg, &head);
	if (status)		/* nobody will look at the blob: say more than a number */
		strncpy((char *)msg + RDV_HDR, coll_last_error(), RDV_BLOB);
	else
		memcpy(msg + RDV_HDR, in, RDV_BLOB);
	ret = auth_sha256(msg + RDV_HDR, RDV_BLOB, digest);
	if (!ret)
		ret = rdv_proof(c->session, msg, digest, msg + RDV_HDR + RDV_BLOB);
	return ret ? ret : sock_send_all(c->fd, msg, sizeof(msg), c->cfg.deadline);
}

static void leave(struct rdv_client *c)
{
	close(c->fd);
	c->fd = -1;
	c->away = true;
}

/* We are to make room and come back later: 1. */
static int take_pause(struct rdv_client *c, const uint8_t *payload)
{
	uint32_t ms = get_le32(payload);

	if (ms > RDV_PAUSE_MAX)
		return -EPROTO;
	c->pause_ms = ms;
	leave(c);
	return 1;
}

/* May rank 0 say this in this round, with a payload of this length? */
static bool is_expected(const struct rdv_head *h, size_t want)
{
	if (h->type == RDV_LATER)
		return !h->status && h->length == RDV_LATER_LEN;
	if (h->type != RDV_RESULT && h->type != RDV_RESULT_LEAVE)
		return false;
	return h->status ? h->length <= RDV_TEXT : h->length == want;
}

/*
 * The result of this round; @out is written only as far as its size allows. 1: we have to
 * come back for it.
 */
static int recv_result(struct rdv_client *c, uint8_t *out)
{
	uint8_t msg[RDV_HDR], digest[AUTH_LEN], tag[AUTH_LEN], proof[AUTH_LEN];
	size_t want = out ? (size_t)c->cfg.size * RDV_BLOB : 0;
	char text[RDV_TEXT + 1] = "";
	struct rdv_head head;
	uint8_t *payload;
	int ret;

	ret = sock_recv_all(c->fd, msg, RDV_HDR, c->cfg.deadline);
	if (!ret)
		ret = rdv_get_head(msg, get_le16(msg + 4), c->round, &head);
	if (ret)
		return ret;
	if (!is_expected(&head, want))
		return -EPROTO;
	payload = head.status || head.type == RDV_LATER ? (uint8_t *)text : out;
	if (head.length)
		ret = sock_recv_all(c->fd, payload, head.length, c->cfg.deadline);
	if (!ret)
		ret = sock_recv_all(c->fd, tag, AUTH_LEN, c->cfg.deadline);
	if (!ret)
		ret = auth_sha256(payload, head.length, digest);
	if (!ret)
		ret = rdv_proof(c->session, msg, digest, proof);
	if (ret)
		return ret;
	if (!auth_equal(proof, tag))
		return -EPROTO;
	if (head.type == RDV_LATER)
		return take_pause(c, payload);
	if (head.type == RDV_RESULT_LEAVE) {
		c->pause_ms = 0;
		leave(c);
	}
	if (head.status)
		coll_explain("%s", text);
	return -(int)head.status;
}

/* A connection to rank 0 that breaks means that rank 0 is gone. */
static int as_death(int err)
{
	switch (-err) {
	case ENODATA: case EPIPE: case ECONNRESET:
		return -EHOSTDOWN;
	default:
		return err;
	}
}

/*
 * We were here before, and rank 0 expects us. Without an answer for a while, or with that
 * of another process, it is gone; what it answers itself holds.
 */
static int come_back(struct rdv_client *c)
{
	int ret;

	c->until = deadline_min(deadline_in(BACK_MS), c->cfg.deadline);
	ret = connect_to_zero(c);
	c->until = c->cfg.deadline;
	c->away = false;
	if (!ret || c->refused || !deadline_left(c->cfg.deadline))
		return ret;
	coll_explain("rank 0 was here, and has left");
	return -EHOSTDOWN;
}

static int take_round(struct rdv_client *c, int status, const uint8_t *in, uint8_t *out)
{
	uint8_t jitter;
	int sent, ret;

	ret = c->away ? come_back(c) : 0;
	if (ret)
		return ret;
	sent = send_give(c, status, in);
	/* Even if rank 0 took nothing more from us, it may have said why. */
	ret = recv_result(c, out);
	while (ret == 1) {
		if (auth_random(&jitter, 1))
			jitter = 0;
		pause_ms(c->pause_ms + c->pause_ms * jitter / 512);
		ret = come_back(c);
		if (ret)
			return ret;
		ret = recv_result(c, out);
	}
	return as_death(sent && !ret ? sent : ret);
}

int rdv_client_round(struct rdv_client *c, int status, const uint8_t *in, uint8_t *out)
{
	int ret;

	if (c->failed)
		return c->failed;
	c->round++;
	ret = take_round(c, status, in, out);
	/* Before all ranks are there, each rank may leave and come back, rank 0 as well. */
	while (ret == -EHOSTDOWN && c->round == 1 && !status && deadline_left(c->cfg.deadline)) {
		coll_debug("rank 0 has left, and may come again");
		if (c->fd >= 0)
			close(c->fd);
		c->fd = -1;
		if (connect_to_zero(c)) {
			coll_explain("rank 0 was here, and has left");
			break;
		}
		ret = take_round(c, status, in, out);
	}
	c->failed = ret;
	return ret;
}

int rdv_client_fd(const struct rdv_client *c)
{
	return c->fd;
}

int rdv_client_check(struct rdv_client *c)
{
	uint8_t byte;
	ssize_t n;

	if (c->fd < 0)		/* away: it will say so in the next round */
		return 0;
	n = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	/* Rank 0 speaks out of turn only to say that it is over. */
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		return -ECANCELED;
	return 0;
}

const struct sock_addr *rdv_client_here(const struct rdv_client *c)
{
	return &c->here;
}

const uint8_t *rdv_client_job(const struct rdv_client *c)
{
	return c->job;
}

void rdv_client_close(struct rdv_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	lookup_drop(&c->lookup);
	auth_wipe(c, sizeof(*c));
	free(c);
}
