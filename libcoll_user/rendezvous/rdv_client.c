// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Ranks other than 0: connect, prove the key, then send a message and get the result each round. */
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
#define STAGGER_MS	250	/* after this time the next address is tried, too */
#define FRESH_MS	2000	/* after this time a name is looked up again */
#define BACK_MIN_MS	50	/* first backoff of a rank that comes back and finds no room */
#define PATIENCE_MS	500	/* time to prove to be rank 0, if there are other addresses */
#define EXISTS_MS	1000	/* in this time rank 0 notices that an earlier process has left */
#define BACK_MS		60000	/* how long a rank that comes back waits for an answer */
#define REFUSED_MS	2000	/* how long the connections of such a rank may be refused */

/**
 * struct rdv_client - state of a rank other than 0
 * @cfg: as given; the memory it points to lives until coll_init() is over
 * @fd: connection to rank 0; -1: none
 * @round: number of the last round begun
 * @failed: negative errno: there are no more rounds
 * @refused: rank 0 has proved that it knows the key, and has refused this rank
 * @token: number that identifies this process when it comes back
 * @away: this rank has left to make room, and comes back to the same rank 0
 * @served: a result has begun to come: rank 0 sends it once, also if the connection breaks
 * @until: deadline of the attempts to reach rank 0
 * @pause_ms: time after which rank 0 wants this rank to come back; 0: at once
 * @here: own address of the last connection
 * @lookup: look-up of the name of rank 0, or NULL
 * @fresh: time until which @addrs need not be looked up again
 * @exists: time until which EEXIST may come from a process that has just ended
 * @patience_ms: time in which a program that accepts a connection has to prove that it is rank 0.
 *	Short at first: another program may listen at one of the addresses.
 * @addrs: @nr addresses of rank 0
 */
struct rdv_client {
	struct rdv_config cfg;
	int fd;
	uint16_t round;
	int failed;
	bool refused;
	uint32_t token;
	bool away;
	bool served;
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
 * @fd: socket of each address; -1: none, or closed
 * @err: error of each address that has failed
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

/* Wait until one of the attempts has connected. Return: its number; -1: none yet. */
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
 * Return: the number of the next address to which TCP has connected; -1: all others have failed.
 * An address that does not answer does not delay the others: after STAGGER_MS the next one is
 * tried in parallel.
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
		/* It has failed at once: there is nothing to wait for. */
		if (!is_trying(t))
			continue;
		i = poll_tries(t, t->started < c->nr ? deadline_min(d, deadline_in(STAGGER_MS)) : d);
		if (i >= 0)
			return i;
	}
	return -1;
}

/* TCP has connected: run the handshake. Return: 0: it is rank 0, and @c owns @fd. */
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

/* Errors that another attempt at the same address would get again. */
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

/* Importance of an error: of several addresses, the error with the highest one is reported. */
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

/* The patience of this pass. Rank 0 may be slow, so it doubles with each pass, up to @most. */
static unsigned int more_patience(struct rdv_client *c, unsigned int most)
{
	unsigned int ms = c->patience_ms ? 2 * c->patience_ms : PATIENCE_MS;

	if (c->nr == 1 || ms > most)
		ms = most;
	c->patience_ms = ms;
	return ms;
}

/* What the user reads about an attempt that has failed. */
static const char *reason(const struct rdv_client *c, int err)
{
	if (c->refused && err == -EINVAL)
		return "it expects another number of ranks (COLL_SIZE)";
	if (c->refused && err == -EEXIST)
		return "another process has this rank (COLL_RANK)";
	return coll_strerror(err);
}

/* One pass. Return: 0, or the most important error. @final: another pass would fail, too. */
static int try_all(struct rdv_client *c, bool *final)
{
	unsigned int ms = c->cfg.stranger_ms ? c->cfg.stranger_ms : RDV_STRANGER_MS;
	unsigned int patience = c->away ? BACK_MS : more_patience(c, ms);
	int ret = 0, i, worst = 0;
	struct tries t = { 0 };
	char text[SOCK_TEXT];

	/* The deadline may come before all addresses have a socket, and 0 is a descriptor. */
	for (i = 0; i < c->nr; i++)
		t.fd[i] = -1;
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
	/* This is rank 0, but it has no place for this rank now. */
	if (c->refused && ret == -EBUSY) {
		*final = false;
		return ret;
	}
	*final |= c->refused;
	coll_explain("rank 0 at %s: %s", sock_text(&c->addrs[worst], text), reason(c, ret));
	return ret;
}

static void pause_ms(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

/*
 * Look up the addresses of rank 0. They may become known later, and may change until rank 0 is
 * reached. The known ones are used while a look-up runs. Return: 0: there are addresses.
 */
static int refresh(struct rdv_client *c)
{
	int ret = 0;

	if (!c->cfg.spec)
		return c->nr ? 0 : -EINVAL;
	if (!c->lookup && (!c->nr || !deadline_left(c->fresh)))
		ret = lookup_begin(&c->lookup, c->cfg.spec);
	/* Without a result the known addresses stay. */
	if (c->lookup)
		ret = lookup_wait(&c->lookup, c->nr ? deadline_in(0) : c->until,
				  c->addrs, RESOLVE_MAX);
	if (ret > 0) {
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
 * The number of this rank is taken (EEXIST). The other process may have ended, and rank 0 will
 * notice that soon. A rank 0 that is busy does not say that the number is taken. Return: true: try
 * again.
 */
static bool may_be_gone(struct rdv_client *c, int err)
{
	if (err == -EBUSY)
		c->exists.at_ms = 0;
	else if (err == -EEXIST && !c->exists.at_ms)
		c->exists = deadline_in(EXISTS_MS);
	return c->exists.at_ms && deadline_left(c->exists);
}

/* Try until there is a connection, a final error, or the deadline. Return: 0 or the error. */
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
		if (!ret) {
			c->exists.at_ms = 0;
			return 0;
		}
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
		/* The deadline cut this pass short: report the error of the pass before. */
		if (!left)
			return ret == -ETIMEDOUT && said ? said : ret;
		if (ret != said)
			coll_debug("rank 0 not reached (%s), trying again", strerror(-ret));
		said = ret;
		/* Random, so that a thousand ranks do not come at the same time. */
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

/*
 * If the connection to rank 0 breaks, rank 0 is dead: convert such errors to EHOSTDOWN. If its host
 * does not answer any more, TCP says ETIMEDOUT or EHOSTUNREACH before the deadline.
 */
static int as_death(const struct rdv_client *c, int err)
{
	switch (-err) {
	case ENODATA: case EPIPE: case ECONNRESET: case EHOSTUNREACH: case ENETUNREACH:
		return -EHOSTDOWN;
	case ETIMEDOUT:
		return deadline_left(c->cfg.deadline) ? -EHOSTDOWN : err;
	default:
		return err;
	}
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
	if (status)		/* the blob is not used: send a text in its place */
		strncpy((char *)msg + RDV_HDR, coll_last_error(), RDV_BLOB);
	else
		memcpy(msg + RDV_HDR, in, RDV_BLOB);
	ret = auth_sha256(msg + RDV_HDR, RDV_BLOB, digest);
	if (!ret)
		ret = rdv_proof(c->session, msg, digest, msg + RDV_HDR + RDV_BLOB);
	return ret ? ret : as_death(c, sock_send_all(c->fd, msg, sizeof(msg), c->cfg.deadline));
}

static void leave(struct rdv_client *c)
{
	sock_close(c->fd);
	c->fd = -1;
	c->away = true;
}

/* Rank 0 wants this rank to leave and come back later. Return: 1, or a negative errno. */
static int take_pause(struct rdv_client *c, const uint8_t *payload)
{
	uint32_t ms = get_le32(payload);

	if (ms > RDV_PAUSE_MAX)
		return -EPROTO;
	c->pause_ms = ms;
	leave(c);
	return 1;
}

/* May rank 0 send a message of this type and length in this round? */
static bool is_expected(const struct rdv_head *h, size_t want)
{
	if (h->type == RDV_LATER)
		return !h->status && h->length == RDV_LATER_LEN;
	if (h->type != RDV_RESULT && h->type != RDV_RESULT_LEAVE)
		return false;
	return h->status ? h->length <= RDV_TEXT : h->length == want;
}

static int recv_all(struct rdv_client *c, void *buf, size_t len)
{
	return as_death(c, sock_recv_all(c->fd, buf, len, c->cfg.deadline));
}

/*
 * Receive the result of this round into @out, whose size is checked. Return: 0; 1: this rank has
 * to come back for the result; or a negative errno.
 */
static int recv_result(struct rdv_client *c, uint8_t *out)
{
	uint8_t msg[RDV_HDR], digest[AUTH_LEN], tag[AUTH_LEN], proof[AUTH_LEN];
	size_t want = out ? (size_t)c->cfg.size * RDV_BLOB : 0;
	char text[RDV_TEXT + 1] = "";
	struct rdv_head head;
	uint8_t *payload;
	int ret;

	ret = recv_all(c, msg, RDV_HDR);
	if (!ret)
		ret = rdv_get_head(msg, get_le16(msg + 4), c->round, &head);
	if (ret)
		return ret;
	if (!is_expected(&head, want))
		return -EPROTO;
	c->served = head.type != RDV_LATER;
	payload = head.status || head.type == RDV_LATER ? (uint8_t *)text : out;
	if (head.length)
		ret = recv_all(c, payload, head.length);
	if (!ret)
		ret = recv_all(c, tag, AUTH_LEN);
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

/*
 * Come back to a rank 0 that expects this rank. If there is no answer for a while, or only another
 * program answers, rank 0 is dead. An error that rank 0 itself sends is returned.
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
	/* Also if sending has failed: rank 0 may have sent the reason. */
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
	return sent && !ret ? sent : ret;
}

int rdv_client_round(struct rdv_client *c, int status, const uint8_t *in, uint8_t *out)
{
	int ret;

	if (c->failed)
		return c->failed;
	c->round++;
	ret = take_round(c, status, in, out);
	/* Before all ranks are there, each rank may leave and come back, rank 0 as well. */
	while (ret == -EHOSTDOWN && c->round == 1 && !status && !c->served &&
	       deadline_left(c->cfg.deadline)) {
		coll_debug("rank 0 has left, and may come again");
		if (c->fd >= 0)
			sock_close(c->fd);
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

	if (c->fd < 0)		/* away: an error of rank 0 comes in the next round */
		return 0;
	n = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	/* Between rounds rank 0 sends only failures. */
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
		sock_close(c->fd);
	lookup_drop(&c->lookup);
	auth_wipe(c, sizeof(*c));
	free(c);
}
