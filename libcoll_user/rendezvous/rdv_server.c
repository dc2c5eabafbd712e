// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Rank 0: an event loop over the listener, the strangers and the members. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <coll/coll.h>

#include "base/debug.h"
#include "rdv_listen.h"
#include "rdv_places.h"
#include "rdv_server.h"

#define BATCH		64
#define LINGER_MS	2000	/* time for members to read the reason of a failure */
#define LATE_MS		5000	/* further time in which late ranks get the reason */
#define ROLL_CALL_MS	500	/* period of the check for ranks that have not come back */

static int start_result(struct rdv_server *s, struct member *m);
static void recv_give(struct rdv_server *s, struct member *m);

/* ---- strangers become members ---- */

/* Before round 1 is over a rank that has left may come back and take its place. */
static bool may_come_again(const struct rdv_server *s)
{
	return s->round == 1 && !s->failed;
}

static int decide_new(struct rdv_server *s, struct member *m, uint32_t token)
{
	int ret;

	/* The rank may have come again before rank 0 has noticed that it left. */
	if (m->state == MEMBER_HERE && !s->failed)
		recv_give(s, m);
	/* The process that is AWAY may have died; if not, it comes back. Until then: try again. */
	if (m->state == MEMBER_AWAY && may_come_again(s))
		return -EBUSY;
	/* The rank has its result or error, and is in another coll_init(), which rank 0 will begin. */
	if (m->state == MEMBER_GONE || (s->failed && m->state != MEMBER_ABSENT))
		return -EBUSY;
	if (m->state != MEMBER_ABSENT)
		return -EEXIST;
	if (s->failed) {
		m->state = MEMBER_GONE;
		return s->failed;
	}
	m->token = token;
	ret = rdv_place_take(s, m);
	if (ret)
		return ret;
	m->back = false;
	m->state = MEMBER_CLAIMED;
	return 0;
}

/* A rank that had left is back: for its result, or with its message. */
static int decide_back(struct rdv_server *s, struct member *m, uint32_t token)
{
	int ret;

	if (m->state != MEMBER_AWAY || m->token != token)
		return -EEXIST;
	rdv_is_alive(m);
	/* The round has failed, so there is no result for this rank. */
	if (s->failed && m->owed) {
		rdv_forget(s, m);
		m->state = MEMBER_GONE;
		return s->failed;
	}
	ret = rdv_place_take(s, m);
	if (ret)
		return ret;
	m->back = true;
	m->state = MEMBER_CLAIMED;
	s->nr_away--;
	return 0;
}

static int decide(void *ctx, const struct hs_ask *ask)
{
	struct rdv_server *s = ctx;

	if ((ask->purpose != HS_PURPOSE_RANK && ask->purpose != HS_PURPOSE_BACK) ||
	    ask->b != s->size || ask->a >= s->size)
		return -EINVAL;
	if (!ask->a)
		return -EEXIST;
	if (ask->purpose == HS_PURPOSE_BACK)
		return decide_back(s, &s->members[ask->a], ask->c);
	return decide_new(s, &s->members[ask->a], ask->c);
}

/* A stranger was refused: store the reason, for the error if that rank stays missing. */
static void refused(void *ctx, const struct handshake *hs, int err)
{
	const struct hs_ask *ask = &hs->ask;
	struct rdv_server *s = ctx;
	struct sock_addr a;
	char text[SOCK_TEXT];

	if (ask->purpose != HS_PURPOSE_RANK || s->failed || sock_peer(hs->fd, &a))
		return;
	sock_text(&a, text);
	if (err == -EINVAL && ask->b != s->size) {
		s->stranger_err = err;
		snprintf(s->stranger, sizeof(s->stranger), "%s, as rank %u, expects %u ranks",
			 text, ask->a, ask->b);
	} else if (err == -EKEYREJECTED && ask->a && ask->a < s->size) {
		s->members[ask->a].refused = err;
		memcpy(s->members[ask->a].from, text, sizeof(text));
	} else if (err == -EKEYREJECTED) {
		s->stranger_err = err;
		snprintf(s->stranger, sizeof(s->stranger), "%s has another key", text);
	}
	coll_debug("refused %s, as rank %u of %u: %s", text, ask->a, ask->b, strerror(-err));
}

static void lost(void *ctx, const struct hs_ask *ask)
{
	struct rdv_server *s = ctx;
	struct member *m = &s->members[ask->a];

	rdv_place_free(s, m);
	m->broke |= m->back;
	m->state = m->back ? MEMBER_AWAY : MEMBER_ABSENT;
	s->nr_away += m->back;
}

static void learn_here(struct rdv_server *s, int fd)
{
	struct sock_addr a;

	if (s->here.len && !sock_is_loopback(&s->here))
		return;
	if (sock_local(fd, &a))
		return;
	sock_unmap(&a);
	s->here = a;
}

static int taken(void *ctx, const struct handshake *hs)
{
	struct rdv_server *s = ctx;
	struct member *m = &s->members[hs->ask.a];
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = hs->ask.a };

	m->fd = hs->fd;
	m->state = MEMBER_HERE;
	m->broke = false;
	m->have = 0;
	m->events = EPOLLIN;
	memcpy(m->session, hs->session, AUTH_LEN);
	s->nr_here++;
	learn_here(s, m->fd);
	coll_debug("rank %u is here, %u of %u", hs->ask.a, s->nr_here + 1, s->size);
	if (epoll_ctl(s->epfd, EPOLL_CTL_ADD, m->fd, &ev))
		return -errno;
	if (s->failed || m->owed)	/* the failure may have come while its welcome was sent */
		start_result(s, m);
	return 0;
}

static const struct acceptor_ops acceptor_ops = { decide, taken, lost, refused };

/* ---- members ---- */

static void drop_member(struct rdv_server *s, struct member *m)
{
	s->nr_here--;
	s->nr_given -= m->given;
	s->nr_sending -= m->sending;
	m->given = false;
	m->sending = false;
	m->state = MEMBER_GONE;
	rdv_place_free(s, m);
	rdv_hang_up(s, m);
}

/* The connection has broken. Return: 0: the rank may come back, and its result is kept. */
static int broken(struct rdv_server *s, struct member *m)
{
	if (!rdv_can_come_back(s, m))
		return -EHOSTDOWN;
	if (m->sending) {
		m->sending = false;
		s->nr_sending--;
		m->owed = true;
		s->nr_owed++;
	}
	m->broke = true;
	rdv_depart(s, m);
	return 0;
}

static void watch_member(struct rdv_server *s, struct member *m, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.u32 = (uint32_t)(m - s->members) };

	if (m->events == events)
		return;
	m->events = events;
	/* Cannot fail for a descriptor that is in the set: nothing is allocated. */
	epoll_ctl(s->epfd, EPOLL_CTL_MOD, m->fd, &ev);
}

/* Send the rest of a result: header, payload (the same for all), proof. */
static ssize_t send_piece(struct rdv_server *s, struct member *m)
{
	struct iovec all[3] = {
		{ s->head[m->leaves], RDV_HDR },
		{ s->result, s->result_len },
		{ m->tag, AUTH_LEN },
	};
	struct msghdr msg = { .msg_iov = all, .msg_iovlen = 3 };
	size_t skip = m->sent;

	while (skip && skip >= msg.msg_iov->iov_len) {
		skip -= msg.msg_iov->iov_len;
		msg.msg_iov++;
		msg.msg_iovlen--;
	}
	msg.msg_iov->iov_base = (uint8_t *)msg.msg_iov->iov_base + skip;
	msg.msg_iov->iov_len -= skip;
	return sendmsg(m->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Return: 0: all has been sent, or the socket is full; else the connection has broken. */
static int send_result(struct rdv_server *s, struct member *m)
{
	size_t want = RDV_HDR + s->result_len + AUTH_LEN;

	while (m->sent < want) {
		ssize_t n = send_piece(s, m);

		if (n > 0) {
			m->sent += (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			watch_member(s, m, EPOLLIN | EPOLLOUT);
			return 0;
		} else if (n < 0 && errno != EINTR) {
			return -errno;
		}
	}
	m->sending = false;
	s->nr_sending--;
	if (m->leaves)
		rdv_depart(s, m);
	else
		watch_member(s, m, EPOLLIN);
	return 0;
}

/* Begin to send the result in @s to one member. */
static int start_result(struct rdv_server *s, struct member *m)
{
	int ret;

	s->nr_owed -= m->owed;
	m->owed = false;
	m->leaves = !s->failed && rdv_must_leave(s, m);
	ret = rdv_proof(m->session, s->head[m->leaves], s->digest, m->tag);
	m->sending = true;
	m->sent = 0;
	s->nr_sending++;
	if (!ret)
		ret = send_result(s, m);
	if (!ret || !broken(s, m))
		return 0;
	drop_member(s, m);
	return ret;
}

/* Begin to send the result of the present round to every rank. */
static int send_results(struct rdv_server *s, int status, const uint8_t *payload, size_t len)
{
	struct rdv_head head = {
		.type = RDV_RESULT,
		.round = s->round,
		.status = (uint32_t)-status,
		.length = (uint32_t)len,
	};
	int ret = 0;
	uint32_t i;

	rdv_put_head(s->head[false], &head);
	head.type = RDV_RESULT_LEAVE;
	rdv_put_head(s->head[true], &head);
	if (len)
		memcpy(s->result, payload, len);
	s->result_len = len;
	if (auth_sha256(s->result, len, s->digest))
		return -ENOMEM;
	for (i = 1; i < s->size; i++) {
		struct member *m = &s->members[i];

		if (m->state == MEMBER_HERE) {
			if (start_result(s, m))
				ret = -EHOSTDOWN;
		} else if (!status) {
			/* The rank has to come back for the result. (It gets failures anyway.) */
			m->owed = true;
			s->nr_owed++;
		}
	}
	return ret;
}

/* Set the text of the next failure. */
static void explain(struct rdv_server *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void explain(struct rdv_server *s, const char *fmt, ...)
{
	va_list ap;

	if (s->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
}

/* The first failure ends this round for all. */
static void fail(struct rdv_server *s, int err)
{
	uint32_t i;

	if (s->failed)
		return;
	s->failed = err;
	for (i = 1; i < s->size; i++) {
		struct member *m = &s->members[i];

		/* A result was sent in part: the failure cannot follow it. End the stream. */
		if (m->state == MEMBER_HERE && m->sending)
			drop_member(s, m);
	}
	send_results(s, err, (const uint8_t *)s->why, strlen(s->why));
}

static void fail_member(struct rdv_server *s, struct member *m, int err)
{
	uint32_t rank = (uint32_t)(m - s->members);

	explain(s, "rank %u: %s", rank, err == -EHOSTDOWN ? "has left" : strerror(-err));
	coll_debug("rank %u: %s", rank, strerror(-err));
	drop_member(s, m);
	fail(s, err);
}

/* The stream of a member has ended or broken. */
static void member_left(struct rdv_server *s, struct member *m)
{
	bool again = may_come_again(s);

	if (!broken(s, m))
		return;
	/* This rank has its result, and may be done. Others still need theirs. */
	if (!s->failed && s->handing_out && !m->sending) {
		s->left = (uint32_t)(m - s->members);
		drop_member(s, m);
		return;
	}
	/* After a failure every rank closes its connection. */
	if (!s->failed && !again) {
		fail_member(s, m, -EHOSTDOWN);
		return;
	}
	drop_member(s, m);
	if (again) {
		m->state = MEMBER_ABSENT;
		coll_debug("rank %u has left, and may come again", (uint32_t)(m - s->members));
	}
}

/* A rank that had left has not come back in time. */
static void member_missing(struct rdv_server *s, struct member *m)
{
	uint32_t rank = (uint32_t)(m - s->members);

	rdv_forget(s, m);
	m->state = may_come_again(s) ? MEMBER_ABSENT : MEMBER_GONE;
	coll_debug("rank %u has not come back", rank);
	if (m->state == MEMBER_GONE) {
		explain(s, "rank %u: has left", rank);
		fail(s, -EHOSTDOWN);
	}
}

/* The message of a member is complete: check it, and store its blob or status. */
static void take_give(struct rdv_server *s, struct member *m)
{
	uint8_t digest[AUTH_LEN], proof[AUTH_LEN];
	struct rdv_head head;
	int ret;

	ret = rdv_get_head(m->rx, RDV_GIVE, s->round, &head);
	if (!ret && head.length != RDV_BLOB)
		ret = -EPROTO;
	if (!ret)
		ret = auth_sha256(m->rx + RDV_HDR, RDV_BLOB, digest);
	if (!ret)
		ret = rdv_proof(m->session, m->rx, digest, proof);
	if (!ret && !auth_equal(proof, m->rx + RDV_HDR + RDV_BLOB))
		ret = -EPROTO;
	if (ret) {
		fail_member(s, m, ret);
		return;
	}
	m->given = true;
	s->nr_given++;
	memcpy(s->gather + (size_t)(m - s->members) * RDV_BLOB, m->rx + RDV_HDR, RDV_BLOB);
	if (head.status) {
		const char *text = (const char *)m->rx + RDV_HDR;

		/* With a status the blob is text, if there is any. */
		explain(s, "rank %u: %.*s", (uint32_t)(m - s->members), RDV_BLOB,
			*text ? text : coll_strerror((int)head.status));
		fail(s, -(int)head.status);
	}
}

/* The socket is readable: the message of the member, the end, or unexpected bytes. */
static void recv_give(struct rdv_server *s, struct member *m)
{
	while (m->state == MEMBER_HERE) {
		size_t room = m->given ? 1 : RDV_GIVE_LEN - m->have;
		uint8_t extra, *to = m->given ? &extra : m->rx + m->have;
		ssize_t n = recv(m->fd, to, room, MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			member_left(s, m);
			return;
		}
		if (m->given) {
			if (s->failed)
				drop_member(s, m);
			else
				fail_member(s, m, -EPROTO);
			return;
		}
		m->have += (size_t)n;
		if (m->have < RDV_GIVE_LEN)
			continue;
		m->have = 0;
		if (!s->failed) {
			take_give(s, m);
			continue;
		}
		m->given = true;	/* the round has failed: ignore the contents */
		s->nr_given++;
	}
}

static void member_event(struct rdv_server *s, struct member *m, uint32_t events)
{
	if (m->state != MEMBER_HERE)
		return;		/* an earlier event of this batch has dropped it */
	if ((events & EPOLLOUT) && m->sending) {
		int ret = send_result(s, m);

		if (ret) {
			member_left(s, m);
			return;
		}
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		recv_give(s, m);
}

/* Handle one batch of events, or wait for them up to @ms; close strangers that are too late. */
static int pump(struct rdv_server *s, int ms)
{
	struct epoll_event ev[BATCH];
	bool listener = false;
	int n, i;

	n = epoll_wait(s->epfd, ev, BATCH, ms);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (i = 0; i < n; i++) {
		if (ev[i].data.u32)
			member_event(s, &s->members[ev[i].data.u32], ev[i].events);
		else
			listener = true;
	}
	/* Also without events: close strangers whose time has passed. */
	return listener || s->acceptor.nr ? acceptor_pump(&s->acceptor) : 0;
}

/* ---- the interface ---- */

int rdv_server_open(struct rdv_server **out, const struct rdv_config *cfg)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = 0 };
	struct rdv_server *s;
	int ret = -ENOMEM;
	int fd;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->more_files = rdv_raise_files(cfg->size);
	s->epfd = -1;
	s->acceptor.lfd = -1;
	s->acceptor.epfd = -1;
	s->size = cfg->size;
	s->round = 1;
	s->deadline = cfg->deadline;
	s->members = calloc(cfg->size, sizeof(*s->members));
	s->gather = calloc(cfg->size, RDV_BLOB);
	s->result = calloc(1, (size_t)cfg->size * RDV_BLOB + RDV_TEXT);
	if (!s->members || !s->gather || !s->result)
		goto out_close;
	ret = auth_random(s->job, AUTH_LEN);
	if (ret)
		goto out_close;
	fd = rdv_listen(cfg);
	if (fd < 0) {
		ret = fd;
		goto out_close;
	}
	s->acceptor.cap = cfg->max_strangers ? cfg->max_strangers : 64 + cfg->size;
	s->acceptor.stranger_ms = cfg->stranger_ms ? cfg->stranger_ms : RDV_STRANGER_MS;
	s->acceptor.secret = cfg->secret;
	s->acceptor.job = s->job;
	s->acceptor.ops = &acceptor_ops;
	s->acceptor.ctx = s;
	ret = acceptor_init(&s->acceptor, fd);
	if (ret)
		goto out_close;
	s->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epfd < 0 || epoll_ctl(s->epfd, EPOLL_CTL_ADD, s->acceptor.epfd, &ev)) {
		ret = -errno;
		goto out_close;
	}
	ret = rdv_places_init(s);
	if (ret)
		goto out_close;
	*out = s;
	return 0;

out_close:
	rdv_server_close(s);
	return ret;
}

static bool has_given(const struct member *m)
{
	return (m->state == MEMBER_HERE || m->state == MEMBER_AWAY) && m->given;
}

/*
 * The deadline has passed: make a text with the missing ranks and the known reasons. Another key,
 * or another size, is reported rather than the deadline.
 */
static int who_is_missing(struct rdv_server *s)
{
	uint32_t i, nr = 0, said = 0;
	int err = -ETIMEDOUT;
	size_t at = 0;

	for (i = 1; i < s->size; i++)
		nr += !has_given(&s->members[i]);
	for (i = 1; i < s->size; i++) {
		const struct member *m = &s->members[i];
		bool here = m->state == MEMBER_HERE || m->state == MEMBER_AWAY;

		if (has_given(m))
			continue;
		if (!here && m->refused && err == -ETIMEDOUT)
			err = m->refused;
		coll_debug("rank %u %s", i, here ? "did not answer in time" :
						   "did not come in time");
		if (said++ >= 4 || at >= sizeof(s->why))
			continue;
		at += (size_t)snprintf(s->why + at, sizeof(s->why) - at, "%srank %u %s%s%s",
				       at ? ", " : "", i,
				       here ? "has not answered" : m->refused ? "(" :
				       "has not come", !here && m->refused ? m->from : "",
				       !here && m->refused ? ") has another key" : "");
	}
	if (nr > 4 && at < sizeof(s->why))
		at += (size_t)snprintf(s->why + at, sizeof(s->why) - at, ", and %u more", nr - 4);
	if (*s->stranger && at < sizeof(s->why))
		snprintf(s->why + at, sizeof(s->why) - at, "; %s", s->stranger);
	if (*s->stranger && err == -ETIMEDOUT)
		err = s->stranger_err;
	return err;
}

static bool is_round_over(const struct rdv_server *s, bool gather)
{
	return gather ? s->nr_given >= s->size - 1 : !s->nr_sending && !s->nr_owed;
}

/* Handle events until all messages are in (@gather) or all results are out, or a failure. */
static void run_until(struct rdv_server *s, bool gather)
{
	struct deadline roll_call = deadline_in(ROLL_CALL_MS);
	struct member *m;

	rdv_excuse_all(s);
	s->handing_out = !gather;
	if (gather && s->left) {
		explain(s, "rank %u: has left", s->left);
		fail(s, -EHOSTDOWN);
	}
	while (!s->failed && !is_round_over(s, gather)) {
		struct deadline d = acceptor_deadline(&s->acceptor, s->deadline);
		int ret;

		if (!deadline_left(s->deadline)) {
			fail(s, who_is_missing(s));
			return;
		}
		ret = pump(s, deadline_left(s->nr_away ? deadline_min(d, roll_call) : d));
		if (ret)
			fail(s, ret);
		if (deadline_left(roll_call))
			continue;
		for (m = rdv_overdue(s); m && !s->failed; m = rdv_overdue(s))
			member_missing(s, m);
		roll_call = deadline_in(ROLL_CALL_MS);
	}
	s->handing_out = false;
}

int rdv_server_round(struct rdv_server *s, int status, const uint8_t *in, uint8_t *out)
{
	size_t len = out ? (size_t)s->size * RDV_BLOB : 0;
	uint32_t i;
	int ret;

	if (status) {
		explain(s, "rank 0: %s", *coll_last_error() ? coll_last_error() :
			coll_strerror(status));
		fail(s, status);
	}
	run_until(s, true);
	if (s->failed) {
		coll_explain("%s", s->why);
		return s->failed;
	}
	memcpy(s->gather, in, RDV_BLOB);
	if (out)
		memcpy(out, s->gather, len);
	for (i = 1; i < s->size; i++)
		s->members[i].given = false;
	s->nr_given = 0;
	ret = send_results(s, 0, out, len);
	s->round++;	/* from here on members may send the message of the next round */
	if (ret)
		fail(s, ret);
	run_until(s, false);
	if (s->failed)
		coll_explain("%s", s->why);
	return s->failed;
}

int rdv_server_fd(const struct rdv_server *s)
{
	return s->epfd;
}

int rdv_server_check(struct rdv_server *s)
{
	int ret = pump(s, 0);

	if (ret)
		fail(s, ret);
	return s->failed || s->left ? -ECANCELED : 0;
}

const struct sock_addr *rdv_server_here(const struct rdv_server *s)
{
	return &s->here;
}

const uint8_t *rdv_server_job(const struct rdv_server *s)
{
	return s->job;
}

static bool everybody_left(const struct rdv_server *s)
{
	uint32_t i;

	for (i = 1; i < s->size; i++)
		if (s->members[i].state != MEMBER_GONE)
			return false;
	return true;
}

/*
 * Closing a socket with unread bytes resets the connection, and a reset discards data
 * that the peer has not read yet. So after a failure let every rank close first. Late
 * ranks get the reason, too: otherwise they would try until their own deadline.
 */
static void linger(struct rdv_server *s)
{
	struct deadline d = deadline_in(LINGER_MS);
	uint32_t i;

	for (i = 1; i < s->size; i++)
		if (s->members[i].state == MEMBER_HERE && !s->members[i].sending)
			shutdown(s->members[i].fd, SHUT_WR);
	if (deadline_left(s->deadline))
		d.at_ms += LATE_MS;
	if (s->nr_away)
		d.at_ms += 2 * RDV_PAUSE_MAX;
	while (!everybody_left(s) && deadline_left(d))
		if (pump(s, deadline_left(acceptor_deadline(&s->acceptor, d))))
			break;
}

void rdv_server_close(struct rdv_server *s)
{
	uint32_t i;

	if (s->failed && s->epfd >= 0)
		linger(s);
	for (i = 1; s->members && i < s->size; i++)
		if (s->members[i].state == MEMBER_HERE)
			sock_close(s->members[i].fd);
	acceptor_destroy(&s->acceptor);
	if (s->epfd >= 0)
		close(s->epfd);
	if (s->more_files)
		rdv_restore_files();
	free(s->members);
	free(s->gather);
	free(s->result);
	auth_wipe(s, sizeof(*s));
	free(s);
}
