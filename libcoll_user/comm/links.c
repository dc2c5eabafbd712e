// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/debug.h"
#include "links.h"
#include "net/acceptor.h"
#include "net/ports.h"

#define ATTEMPT_MS	5000	/* one attempt to connect and prove */
#define FIRST_ATTEMPT_MS 1000	/* the first one at each of several addresses */
#define STRANGER_MS	5000
#define RETRY_MS	50
#define DIALLED_MOST	256	/* at a time: a listener has descriptors for others, too */

enum stream_state {
	STREAM_IDLE	= 0,	/* not needed, or to be accepted and not yet here */
	STREAM_CLAIMED	= 1,	/* accepted, its welcome is going out */
	STREAM_RETRY	= 2,	/* to be connected at @until */
	STREAM_CONNECT	= 3,	/* TCP connects */
	STREAM_PROVE	= 4,	/* handshake runs */
	STREAM_DONE	= 5,	/* handed over */
};

struct stream {
	enum stream_state state;
	uint32_t peer;
	uint32_t stripe;
	uint32_t tries;		/* so far; each takes the next address of the peer */
	uint32_t finals;	/* tries of the present pass with an error that will not change */
	int err;		/* error of the last try that failed */
	int fd;			/* in CONNECT and PROVE */
	struct deadline until;	/* RETRY: when; CONNECT, PROVE: how long */
	struct handshake hs;
};

/**
 * struct links - links_connect() under way
 * @streams: @per_node for each node
 * @missing: needed streams that are not DONE
 * @polled: scratch for poll(): rendezvous, acceptor, connecting streams
 * @which: stream of each entry of @polled
 */
struct links {
	const struct links_config *cfg;
	struct acceptor acceptor;
	struct stream *streams;
	uint32_t per_node;
	uint32_t nr_streams;
	uint32_t missing;
	struct pollfd *polled;
	struct stream **which;
};

/* A blob has some addresses, one after the other: family (4 or 6), port, 16 bytes. */
#define ADDR_LEN	20
#define ADDRS		(RDV_BLOB / ADDR_LEN)

static void put_address(uint8_t *blob, const struct sock_addr *a)
{
	put_le16(blob + 2, sock_port(a));
	if (a->sa.ss_family == AF_INET6) {
		blob[0] = 6;
		memcpy(blob + 4, &((const struct sockaddr_in6 *)&a->sa)->sin6_addr, 16);
	} else {
		blob[0] = 4;
		memcpy(blob + 4, &((const struct sockaddr_in *)&a->sa)->sin_addr, 4);
	}
}

/* @here: our own address: its scope is that of link-local peers */
static int get_address(const uint8_t *blob, const struct sock_addr *here, struct sock_addr *a)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a->sa;
	struct sockaddr_in *in = (struct sockaddr_in *)&a->sa;

	memset(a, 0, sizeof(*a));
	if (blob[0] == 4) {
		a->sa.ss_family = AF_INET;
		a->len = sizeof(*in);
		memcpy(&in->sin_addr, blob + 4, 4);
	} else if (blob[0] == 6) {
		a->sa.ss_family = AF_INET6;
		a->len = sizeof(*in6);
		memcpy(&in6->sin6_addr, blob + 4, 16);
		if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) && here->sa.ss_family == AF_INET6)
			in6->sin6_scope_id =
				((const struct sockaddr_in6 *)&here->sa)->sin6_scope_id;
	} else {
		return -EPROTO;
	}
	sock_set_port(a, get_le16(blob + 2));
	return sock_port(a) ? 0 : -EPROTO;
}

/* How many addresses a leader has given. */
static uint32_t nr_addresses(const uint8_t *blob)
{
	uint32_t n = 0;

	while (n < ADDRS && blob[n * ADDR_LEN])
		n++;
	return n;
}

/*
 * @here is the local address of the connection to rank 0. Other nodes may not reach this node at
 * it: a rank on rank 0's host may have connected by 127.0.0.1. So such an address comes last: at
 * first, another host would find itself there.
 */
static void put_addresses(uint8_t *blob, const struct sock_addr *here, uint16_t port)
{
	struct sock_addr addrs[ADDRS] = { *here };
	int nr, i;

	if (sock_is_loopback(here)) {
		nr = sock_interfaces(addrs, 0, ADDRS - 1);
		addrs[nr++] = *here;
	} else {
		nr = sock_interfaces(addrs, 1, ADDRS);
	}
	for (i = 0; i < nr; i++) {
		sock_set_port(&addrs[i], port);
		put_address(blob + i * ADDR_LEN, &addrs[i]);
	}
}

int links_listen(const struct topology *t, const struct sock_addr *here, uint8_t *blob)
{
	bool awaited = false;
	struct sock_addr a;
	uint32_t i;
	int ret;
	int fd;

	memset(blob, 0, RDV_BLOB);
	for (i = 0; i < t->nr_nodes; i++)
		awaited |= t->linked[i] && !topology_dials(t, i);
	if (!awaited || t->leader_of[t->node] != t->rank)
		return -1;
	if (!here->len)
		return -EADDRNOTAVAIL;
	fd = ports_listen();
	if (fd < 0)
		return fd;
	ret = sock_local(fd, &a);
	if (ret) {
		sock_close(fd);
		return ret;
	}
	put_addresses(blob, here, sock_port(&a));
	return fd;
}

static const uint8_t *blob_of(const struct links *l, const struct stream *s)
{
	return l->cfg->addrs + (size_t)l->cfg->topo->leader_of[s->peer] * RDV_BLOB;
}

/* Try the next address at once; after the last one pause, and try all again. */
static void retry_later(struct links *l, struct stream *s, int err)
{
	uint32_t nr = nr_addresses(blob_of(l, s));

	coll_debug("link to node %u stripe %u: %s, trying again", s->peer, s->stripe,
		   strerror(-err));
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->err = err;
	s->tries++;
	if (s->tries % nr == 0)
		s->finals = 0;
	s->state = STREAM_RETRY;
	s->until = deadline_in(s->tries % nr ? 0 : RETRY_MS);
}

/*
 * Both ends have proved the key. The peer may have given up at the same moment because its time
 * was over. Then the stream is still missing, and the side that connects tries again.
 */
static int stream_done(struct links *l, struct stream *s, int fd)
{
	int ret = l->cfg->hand_over(l->cfg->ctx, s->peer, s->stripe, fd);

	if (ret == -ENOTCONN || ret == -EPIPE || ret == -ECONNRESET) {
		if (topology_dials(l->cfg->topo, s->peer))
			retry_later(l, s, ret);
		else
			s->state = STREAM_IDLE;
		return 0;
	}
	s->state = STREAM_DONE;
	l->missing--;
	coll_debug("link to node %u stripe %u is up", s->peer, s->stripe);
	return ret;
}

/* ---- the accepting side ---- */

static struct stream *asked_stream(struct links *l, const struct hs_ask *ask)
{
	const struct topology *t = l->cfg->topo;
	uint32_t stripe = ask->c - l->cfg->first * LINKS_STRIPES;

	if (ask->purpose != HS_PURPOSE_LINK || ask->a >= t->nr_nodes || ask->b != t->node ||
	    stripe >= l->per_node || !t->linked[ask->a] || topology_dials(t, ask->a))
		return NULL;
	return &l->streams[ask->a * l->per_node + stripe];
}

static int decide(void *ctx, const struct hs_ask *ask)
{
	struct stream *s = asked_stream(ctx, ask);

	if (!s)
		return -EINVAL;
	if (s->state != STREAM_IDLE)
		return -EEXIST;
	s->state = STREAM_CLAIMED;
	return 0;
}

static int taken(void *ctx, const struct handshake *hs)
{
	return stream_done(ctx, asked_stream(ctx, &hs->ask), hs->fd);
}

static void lost(void *ctx, const struct hs_ask *ask)
{
	asked_stream(ctx, ask)->state = STREAM_IDLE;
}

static const struct acceptor_ops acceptor_ops = { decide, taken, lost, NULL };

/* ---- the connecting side ---- */

/* With several addresses, attempts of the first passes are short, so that each is tried soon. */
static struct deadline attempt(const struct links *l, const struct stream *s, uint32_t nr)
{
	uint32_t pass = s->tries / nr, ms = ATTEMPT_MS;

	if (nr > 1 && pass < 3)
		ms = FIRST_ATTEMPT_MS << pass;
	return deadline_min(deadline_in(ms), l->cfg->deadline);
}

static int start_stream(struct links *l, struct stream *s)
{
	const struct links_config *cfg = l->cfg;
	const uint8_t *blob = blob_of(l, s);
	uint32_t nr = nr_addresses(blob);
	struct sock_addr there;
	int ret;

	if (!nr)
		return -EPROTO;
	ret = get_address(blob + s->tries % nr * ADDR_LEN, cfg->here, &there);
	if (ret)
		return ret;
	s->fd = sock_connect_start(&there);
	if (s->fd < 0) {
		retry_later(l, s, s->fd);
		return 0;
	}
	s->state = STREAM_CONNECT;
	s->until = attempt(l, s, nr);
	return 0;
}

/*
 * Errors that another attempt at this address would meet again. If a node has several addresses,
 * another program may listen at one of them, perhaps on our own host.
 */
static bool is_final(struct links *l, struct stream *s, int err)
{
	if (err != -EKEYREJECTED && err != -EPROTO && err != -EPROTONOSUPPORT &&
	    err != -EINVAL && !s->hs.status)
		return err == -ENOMEM;
	return ++s->finals == nr_addresses(blob_of(l, s));
}

/*
 * Explain why a stream that this side makes is missing: the error of its last attempt, or the
 * attempt under way, which has no answer. Return: that error.
 */
static int explain_missing(const struct links *l, const struct stream *s)
{
	uint32_t nr = nr_addresses(blob_of(l, s)), try = s->err ? s->tries - 1 : s->tries;
	int err = s->err ? s->err : -ETIMEDOUT;
	char text[SOCK_TEXT];
	struct sock_addr a;

	get_address(blob_of(l, s) + try % nr * ADDR_LEN, l->cfg->here, &a);
	coll_explain("node %u, %s: %s", s->peer, sock_text(&a, text),
		     s->err ? strerror(-err) : "no answer");
	return err;
}

/* No time left: explain which link is missing. One with an error says more. */
static int out_of_time(const struct links *l)
{
	const struct stream *missing = NULL;
	uint32_t i;

	for (i = 0; i < l->nr_streams; i++) {
		const struct stream *s = &l->streams[i];

		if (s->state < STREAM_RETRY || s->state == STREAM_DONE ||
		    (!s->err && s->state == STREAM_RETRY))
			continue;
		if (!missing || (!missing->err && s->err))
			missing = s;
	}
	if (missing)
		return explain_missing(l, missing);
	for (i = 0; i < l->nr_streams; i++)
		if (l->streams[i].state <= STREAM_CLAIMED && l->cfg->topo->linked[l->streams[i].peer])
			coll_explain("node %u has not connected", l->streams[i].peer);
	return -ETIMEDOUT;
}

static int step_stream(struct links *l, struct stream *s)
{
	const struct hs_ask ask = {
		HS_PURPOSE_LINK, l->cfg->topo->node, s->peer, s->stripe
	};
	int ret;
	int fd;

	if (s->state == STREAM_CONNECT) {
		ret = sock_connect_result(s->fd);
		if (ret) {
			retry_later(l, s, ret);
			return 0;
		}
		hs_start_client(&s->hs, s->fd, l->cfg->secret, &ask, l->cfg->job);
		s->state = STREAM_PROVE;
	}
	ret = hs_step(&s->hs);
	if (ret == HS_DONE) {
		fd = s->fd;
		s->fd = -1;
		return stream_done(l, s, fd);
	}
	if (ret < 0 && is_final(l, s, ret))
		return ret;
	if (ret < 0)
		retry_later(l, s, ret);
	/*
	 * A side that has sent its HELLO must not give up by itself: the other end may have handed
	 * its stream to the kernel already, which would take that for our death. The other end
	 * hangs up if it refuses us.
	 */
	else if (s->hs.state == HS_RECV_WELCOME)
		s->until = l->cfg->deadline;
	return 0;
}

/* Number of streams that are being connected. */
static uint32_t nr_dialled(const struct links *l)
{
	uint32_t nr = 0, i;

	for (i = 0; i < l->nr_streams; i++)
		nr += l->streams[i].state > STREAM_RETRY && l->streams[i].state <= STREAM_PROVE;
	return nr;
}

/* Begin streams whose time to try again has come, and give up those whose deadline has passed. */
static int serve_clocks(struct links *l, struct deadline *next)
{
	uint32_t dialled = nr_dialled(l), i;
	int ret;

	for (i = 0; i < l->nr_streams; i++) {
		struct stream *s = &l->streams[i];

		if (s->state < STREAM_RETRY || s->state > STREAM_PROVE)
			continue;
		if (!deadline_left(s->until)) {
			if (s->state != STREAM_RETRY) {
				retry_later(l, s, -ETIMEDOUT);
				dialled--;
			}
			/* A stream whose attempt ends makes room, and wakes this thread. */
			if (dialled >= DIALLED_MOST)
				continue;
			ret = start_stream(l, s);
			if (ret)
				return ret;
			dialled++;
		}
		*next = deadline_min(*next, s->until);
	}
	return 0;
}

static unsigned int fill_polled(struct links *l)
{
	unsigned int n = 0;
	uint32_t i;

	l->polled[n++] = (struct pollfd){
		.fd = l->cfg->rdv ? rdv_fd(l->cfg->rdv) : -1,
		.events = POLLIN,
	};
	l->polled[n++] = (struct pollfd){ .fd = l->acceptor.epfd, .events = POLLIN };
	for (i = 0; i < l->nr_streams; i++) {
		struct stream *s = &l->streams[i];

		if (s->state != STREAM_CONNECT && s->state != STREAM_PROVE)
			continue;
		l->which[n] = s;
		l->polled[n++] = (struct pollfd){
			.fd = s->fd,
			.events = s->state == STREAM_CONNECT ? POLLOUT : hs_events(&s->hs),
		};
	}
	return n;
}

static int turn(struct links *l, struct deadline until)
{
	struct deadline next = deadline_min(l->cfg->deadline, until);
	unsigned int n, i;
	int ret;

	if (!deadline_left(l->cfg->deadline))
		return out_of_time(l);
	ret = serve_clocks(l, &next);
	if (ret)
		return ret;
	n = fill_polled(l);
	if (poll(l->polled, n, deadline_left(acceptor_deadline(&l->acceptor, next))) < 0)
		return errno == EINTR ? 0 : -errno;
	if (l->polled[0].revents) {
		ret = rdv_check(l->cfg->rdv);
		if (ret)
			return ret;
	}
	for (i = 2; i < n; i++) {
		if (!l->polled[i].revents)
			continue;
		ret = step_stream(l, l->which[i]);
		if (ret)
			return ret;
	}
	return l->acceptor.epfd >= 0 ? acceptor_pump(&l->acceptor) : 0;
}

static void init_streams(struct links *l)
{
	const struct topology *t = l->cfg->topo;
	uint32_t i;

	for (i = 0; i < l->nr_streams; i++) {
		struct stream *s = &l->streams[i];

		s->peer = i / l->per_node;
		s->stripe = l->cfg->first * LINKS_STRIPES + i % l->per_node;
		s->fd = -1;
		if (!t->linked[s->peer])
			continue;
		l->missing++;
		if (topology_dials(t, s->peer)) {
			s->state = STREAM_RETRY;
			s->until = deadline_in(0);
		}
	}
}

static int init_links(struct links *l, const struct links_config *cfg)
{
	const struct topology *t = cfg->topo;

	l->cfg = cfg;
	l->acceptor.lfd = -1;
	l->acceptor.epfd = -1;
	l->per_node = (cfg->nr ? cfg->nr : 1) * LINKS_STRIPES;
	l->nr_streams = t->nr_nodes * l->per_node;
	l->streams = calloc(l->nr_streams, sizeof(*l->streams));
	l->polled = calloc(l->nr_streams + 2, sizeof(*l->polled));
	l->which = calloc(l->nr_streams + 2, sizeof(*l->which));
	/* Before any error: links_close() closes each descriptor that is not -1. */
	if (l->streams)
		init_streams(l);
	if (!l->streams || !l->polled || !l->which) {
		if (cfg->lfd >= 0)
			sock_close(cfg->lfd);
		return -ENOMEM;
	}
	if (cfg->lfd < 0)
		return 0;
	l->acceptor.cap = 64 + l->nr_streams;
	l->acceptor.stranger_ms = STRANGER_MS;
	l->acceptor.secret = cfg->secret;
	l->acceptor.job = cfg->job;
	l->acceptor.ops = &acceptor_ops;
	l->acceptor.ctx = l;
	return acceptor_init(&l->acceptor, cfg->lfd);
}

int links_open(struct links **out, const struct links_config *cfg)
{
	struct links *l = calloc(1, sizeof(*l));
	int ret;

	if (!l) {
		if (cfg->lfd >= 0)
			sock_close(cfg->lfd);
		return -ENOMEM;
	}
	ret = init_links(l, cfg);
	if (ret) {
		links_close(l);
		return ret;
	}
	*out = l;
	return 0;
}

int links_work(struct links *l, struct deadline until)
{
	int ret = 0;

	while (!ret && l->missing) {
		ret = turn(l, until);
		if (!ret && l->missing && !deadline_left(until))
			return deadline_left(l->cfg->deadline) ? 1 : out_of_time(l);
	}
	return ret;
}

void links_close(struct links *l)
{
	uint32_t i;

	for (i = 0; l->streams && i < l->nr_streams; i++) {
		if (l->streams[i].fd >= 0)
			close(l->streams[i].fd);
		auth_wipe(&l->streams[i].hs, sizeof(l->streams[i].hs));
	}
	acceptor_destroy(&l->acceptor);
	free(l->streams);
	free(l->polled);
	free(l->which);
	free(l);
}

int links_connect(const struct links_config *cfg)
{
	struct links *l;
	int ret;

	ret = links_open(&l, cfg);
	if (ret)
		return ret;
	ret = links_work(l, cfg->deadline);
	links_close(l);
	return ret;
}
