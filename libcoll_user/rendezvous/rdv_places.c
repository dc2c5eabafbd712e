// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * For jobs with more ranks than rank 0 may have descriptors. The lowest ranks keep their
 * connection; the others share places. A rank that has sent its message leaves when another one
 * needs the place, and comes back for the result. A rank that has its result leaves, and comes back
 * with its next message. So each rank that holds a place will send its message soon, or can be sent
 * away.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/debug.h"
#include "rdv_listen.h"
#include "rdv_places.h"
#include "rdv_server.h"

#define KEEP_FILES	128	/* for strangers, and files that the library opens meanwhile */
#define KEEP_STRANGER	1000	/* ms before a new stranger may replace an old one */
#define PAUSE_MIN	20	/* least milliseconds until a rank comes back */
#define EACH_MS		4
#define GRACE_MS	60000	/* how late a rank may come back: many may come at once */

int rdv_places_init(struct rdv_server *s)
{
	uint32_t others = s->size - 1, most = others + (uint32_t)s->acceptor.cap + 2 * KEEP_FILES;
	uint32_t free = rdv_free_files(most);
	uint32_t keep = free < 2 * KEEP_FILES ? free / 2 : KEEP_FILES;
	uint32_t room = free - keep;

	s->seats = others;
	if (room >= others) {
		uint32_t most_strangers = free - others - keep / 2;

		/* Strangers must not use up the descriptors that the process needs otherwise. */
		if (s->acceptor.cap > most_strangers)
			s->acceptor.cap = most_strangers ? most_strangers : 1;
		return 0;
	}
	if (room < 4) {
		coll_explain("%u descriptors are free, which is not enough (ulimit -n)", free);
		return -EMFILE;
	}
	s->seats = room / 2;
	s->places = room - s->seats;
	if (s->acceptor.cap > keep / 2)
		s->acceptor.cap = keep / 2;
	s->acceptor.least_ms = KEEP_STRANGER;
	coll_debug("%u ranks, %u descriptors: ranks beyond %u come and go, %u at a time",
		   s->size, free, s->seats, s->places);
	return 0;
}

/* Does the rank keep its connection? A rank with an older library does: it cannot come back. */
static bool has_seat(const struct rdv_server *s, const struct member *m)
{
	return (uint32_t)(m - s->members) <= s->seats || !m->token;
}

/* Pause of a rank that leaves now: one rank comes back every EACH_MS. */
static uint32_t pause_of(const struct rdv_server *s)
{
	uint32_t ms = PAUSE_MIN + s->nr_away * EACH_MS;

	return ms < RDV_PAUSE_MAX ? ms : RDV_PAUSE_MAX;
}

void rdv_is_alive(struct member *m)
{
	m->back_by = deadline_in(2 * RDV_PAUSE_MAX + GRACE_MS);
}

void rdv_hang_up(struct rdv_server *s, struct member *m)
{
	/* A copy of the socket in a forked child would stay in the set, and report events for ever. */
	epoll_ctl(s->epfd, EPOLL_CTL_DEL, m->fd, NULL);
	sock_close(m->fd);
	m->fd = -1;
}

void rdv_depart(struct rdv_server *s, struct member *m)
{
	rdv_place_free(s, m);
	rdv_hang_up(s, m);
	m->leaves = false;
	m->state = MEMBER_AWAY;
	s->nr_here--;
	s->nr_away++;
	rdv_is_alive(m);
}

/* Send away a rank that only waits: its socket has room, and no message from it can be lost. */
static bool send_away(struct rdv_server *s, struct member *m)
{
	struct rdv_head head = {
		.type = RDV_LATER,
		.round = s->round,
		.length = RDV_LATER_LEN,
	};
	uint8_t msg[RDV_HDR + RDV_LATER_LEN + AUTH_LEN], digest[AUTH_LEN];

	rdv_put_head(msg, &head);
	put_le32(msg + RDV_HDR, pause_of(s));
	if (auth_sha256(msg + RDV_HDR, RDV_LATER_LEN, digest) ||
	    rdv_proof(m->session, msg, digest, msg + RDV_HDR + RDV_LATER_LEN))
		return false;
	if (send(m->fd, msg, sizeof(msg), MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)sizeof(msg))
		return false;	/* broken: epoll will report that */
	rdv_depart(s, m);
	return true;
}

static bool can_leave(const struct rdv_server *s, const struct member *m)
{
	return m->state == MEMBER_HERE && m->given && !m->sending && !has_seat(s, m);
}

static bool make_room(struct rdv_server *s)
{
	uint32_t i;

	for (i = 0; i < s->size && !s->failed; i++) {
		struct member *m = &s->members[s->next_to_leave];

		if (++s->next_to_leave == s->size)
			s->next_to_leave = 0;
		if (can_leave(s, m) && send_away(s, m))
			return true;
	}
	return false;
}

int rdv_place_take(struct rdv_server *s, struct member *m)
{
	if (has_seat(s, m))
		return 0;
	/* A rank that would only wait for a result does not get a place. */
	if (s->nr_placed >= s->places && ((m->given && !m->owed) || !make_room(s)))
		return -EBUSY;
	s->nr_placed++;
	return 0;
}

void rdv_place_free(struct rdv_server *s, struct member *m)
{
	if (!has_seat(s, m))
		s->nr_placed--;
}

bool rdv_must_leave(const struct rdv_server *s, const struct member *m)
{
	return !has_seat(s, m);
}

void rdv_forget(struct rdv_server *s, struct member *m)
{
	s->nr_away--;
	s->nr_given -= m->given;
	s->nr_owed -= m->owed;
	m->given = false;
	m->owed = false;
	m->broke = false;
}

bool rdv_can_come_back(const struct rdv_server *s, const struct member *m)
{
	return m->back && !s->failed && !has_seat(s, m);
}

void rdv_excuse_all(struct rdv_server *s)
{
	uint32_t i;

	for (i = 1; s->nr_away && i < s->size; i++)
		if (s->members[i].state == MEMBER_AWAY)
			rdv_is_alive(&s->members[i]);
}

struct member *rdv_overdue(struct rdv_server *s)
{
	uint32_t i;

	/* A rank that has its result comes back with its next message, at any time. */
	for (i = 1; s->nr_away && i < s->size; i++) {
		struct member *m = &s->members[i];

		if (m->state == MEMBER_AWAY && (m->given || m->owed || m->broke) &&
		    !deadline_left(m->back_by))
			return m;
	}
	return NULL;
}
