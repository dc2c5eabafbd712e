// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"
#include "pure/schedule.h"

#define HEAR_MS	10000

static uint32_t peer_map(const struct raw_comm *c)
{
	return coll_wire_map(c->node_of, c->size, c->flags & COLL_JOIN_NAMED);
}

/* All that depends on the key and on random numbers. */
static void peer_plan_of(struct peer *p, const struct raw_comm *c, uint32_t node)
{
	int s;

	memset(p, 0, sizeof(*p));
	p->c = *c;
	greet_name(p->c.key, p->name);
	for (s = 0; s < 2; s++) {
		p->mine[s] = (struct coll_hello){
			.size = c->size,
			.nr_nodes = c->nodes,
			.src_node = node,
			.dst_node = 0,
			.stripe = s,
			.wire_min = COLL_WIRE_VERSION,
			.wire_max = COLL_WIRE_VERSION,
			.map = peer_map(c),
		};
		memcpy(p->mine[s].name, p->name, COLL_WIRE_NAME);
		if (getrandom(p->mine[s].nonce, COLL_WIRE_NONCE, 0) != COLL_WIRE_NONCE)
			exit(1);
	}
}

static void peer_plan(struct peer *p)
{
	struct raw_comm c;

	raw_plan(&c, 2, 2);
	peer_plan_of(p, &c, 1);
}

bool peer_is_believed(struct peer *p)
{
	uint64_t until = test_now_ns() + HEAR_MS * 1000000ULL;
	struct coll_status s;

	while (!raw_status(p->c.fd[0], &s) && !s.nr_links && test_now_ns() < until)
		test_sleep_us(500);
	return s.nr_links;
}

bool peer_has_left(struct peer *p)
{
	uint64_t until = test_now_ns() + HEAR_MS * 1000000ULL;
	struct coll_cmd cmd;
	int ret;

	for (;;) {
		raw_probe(&cmd, COLL_PROBE, PEER_RANK, COLL_TAG_ANY, NULL);
		cmd.flags = COLL_CMD_NOWAIT;
		ret = raw_submit(p->c.fd[0], &cmd);
		if (ret == -EHOSTDOWN || test_now_ns() > until)
			return ret == -EHOSTDOWN;
		test_sleep_us(1000);
	}
}

/* Greet on both streams. */
static int peer_greet(struct peer *p)
{
	uint8_t buf[PEER_GREET];
	int s;

	for (s = 0; s < 2; s++)
		if (!peer_write(p, s, buf, peer_put_greet(p, s, buf)))
			return -EPIPE;
	for (s = 0; s < 2; s++)
		if (!peer_is_proved(p, p, s))
			return -EPROTO;
	return peer_is_believed(p) ? 0 : -EPROTO;
}

/* Hand over the sockets of the node that @p plays, and read HELLO on both. */
static int peer_connect(struct peer *p, void (*prepare)(const int sv[2], int stripe))
{
	int sv[2], ret = 0, s, one = 1;

	p->sock[0] = -1;
	p->sock[1] = -1;
	for (s = 0; !ret && s < 2; s++) {
		ret = raw_tcp_pair(sv);
		if (ret)
			break;
		p->sock[s] = sv[1];
		setsockopt(sv[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (prepare)
			prepare(sv, s);
		ret = raw_link(p->c.fd[0], p->mine[s].src_node, sv[0], s);
		close(sv[0]);
	}
	for (s = 0; !ret && s < 2; s++)
		if (!peer_hear(p, p, s))
			ret = -EPROTO;
	return ret;
}

/* The rest of peer_start(), of rank @rank. */
static int peer_join(struct peer *p, uint32_t rank, bool greet,
		     void (*prepare)(const int sv[2], int stripe))
{
	int ret;

	p->sock[0] = -1;
	p->sock[1] = -1;
	p->c.fd[0] = raw_open();
	if (p->c.fd[0] < 0)
		return p->c.fd[0];
	ret = raw_join(p->c.fd[0], &p->c, rank) ?: peer_connect(p, prepare);
	return !ret && greet ? peer_greet(p) : ret;
}

int peer_start(struct peer *p, bool greet)
{
	peer_plan(p);
	return peer_join(p, 0, greet, NULL);
}

int peer_start_with(struct peer *p, void (*prepare)(const int sv[2], int stripe))
{
	peer_plan(p);
	return peer_join(p, 0, true, prepare);
}

int peer_start_two(struct peer *p)
{
	struct raw_comm c;

	raw_plan(&c, 3, 2);
	c.node_of[1] = 1;
	peer_plan_of(p, &c, 1);
	return peer_join(p, 0, true, NULL);
}

int peer_start_named(struct peer *p, uint32_t rank)
{
	peer_plan(p);
	p->c.flags = COLL_JOIN_NAMED;
	p->c.node_of[rank] = 0;
	p->c.node_of[!rank] = 1;
	p->mine[0].map = peer_map(&p->c);
	p->mine[1].map = p->mine[0].map;
	return peer_join(p, rank, true, NULL);
}

int peer_start_named_two(struct peer *p)
{
	struct raw_comm c;

	raw_plan(&c, 3, 2);
	c.flags = COLL_JOIN_NAMED;
	c.node_of[0] = 1;
	c.node_of[1] = 1;
	c.node_of[2] = 0;
	peer_plan_of(p, &c, 1);
	return peer_join(p, 2, true, NULL);
}

int peer_start_children(struct peer *const *p, uint32_t n)
{
	struct raw_comm c;
	uint32_t k;
	int ret;

	raw_plan(&c, n + 1, n + 1);
	c.flags = COLL_JOIN_NAMED;
	c.fd[0] = raw_open();
	if (c.fd[0] < 0)
		return c.fd[0];
	ret = raw_join(c.fd[0], &c, 0);
	for (k = 0; !ret && k < n; k++) {
		peer_plan_of(p[k], &c, k + 1);
		ret = peer_connect(p[k], NULL) ?: peer_greet(p[k]);
	}
	return ret;
}

void peer_close(struct peer *p, int stripe, bool hard)
{
	struct linger l = { .l_onoff = 1 };

	if (p->sock[stripe] < 0)
		return;
	if (hard)
		setsockopt(p->sock[stripe], SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(p->sock[stripe]);
	p->sock[stripe] = -1;
}

void peer_stop(struct peer *p)
{
	peer_close(p, 0, false);
	peer_close(p, 1, false);
	if (p->c.fd[0] >= 0)
		close(p->c.fd[0]);
	p->c.fd[0] = -1;
}

int peer_second(struct peer *p, const struct peer *parent)
{
	peer_plan(p);
	memcpy(p->sock, parent->sock, sizeof(p->sock));
	p->c.fd[0] = raw_open();
	return p->c.fd[0] < 0 ? p->c.fd[0] : raw_join(p->c.fd[0], &p->c, 0);
}

bool peer_second_establish(struct peer *p, struct peer *parent)
{
	uint8_t buf[PEER_GREET];

	/* The real rank answers our HELLO with its HELLO once more. */
	return peer_hear(p, parent, 0) && peer_write(p, 0, buf, peer_put_greet(p, 0, buf)) &&
	       peer_hear(p, parent, 0) && peer_is_proved(p, parent, 0);
}

void peer_leave(struct peer *p)
{
	close(p->c.fd[0]);
	p->c.fd[0] = -1;
}

static bool read_all(int sock, void *buf, size_t len)
{
	while (len) {
		ssize_t n = recv(sock, buf, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		buf += n;
		len -= n;
	}
	return true;
}

bool peer_read(struct peer *p, int stripe, struct coll_frame *f, int ms)
{
	struct pollfd pfd = { .fd = p->sock[stripe], .events = POLLIN };
	uint8_t hdr[COLL_WIRE_HDR], junk[4096];
	uint32_t left, n;

	if (poll(&pfd, 1, ms) != 1 || !read_all(pfd.fd, hdr, sizeof(hdr)) ||
	    coll_wire_get_header(hdr, f))
		return false;
	for (left = f->length; left; left -= n) {
		n = left < sizeof(junk) ? left : sizeof(junk);
		if (!read_all(pfd.fd, junk, n))
			return false;
		if (left == f->length)
			memcpy(p->payload, junk, n < sizeof(p->payload) ? n : sizeof(p->payload));
	}
	return true;
}

bool peer_read_ctrl(struct peer *p, int stripe, struct coll_frame *f, int ms)
{
	bool got;

	do {
		got = peer_read(p, stripe, f, ms);
	} while (got && f->type == COLL_FRAME_POST);
	return got;
}

bool peer_hear(struct peer *p, struct peer *via, int stripe)
{
	struct coll_frame f;

	return peer_read_ctrl(via, stripe, &f, HEAR_MS) && f.type == COLL_FRAME_HELLO &&
	       f.comm == coll_wire_comm(p->name) &&
	       !coll_wire_get_hello(via->payload, &p->theirs[stripe]);
}

bool peer_is_proved(struct peer *p, struct peer *via, int stripe)
{
	uint8_t mac[COLL_WIRE_PROOF];
	struct coll_frame f;

	greet_put_proof(p->c.key, &p->theirs[stripe], &p->mine[stripe], mac);
	return peer_read_ctrl(via, stripe, &f, HEAR_MS) && f.type == COLL_FRAME_PROOF &&
	       f.comm == coll_wire_comm(p->name) && !memcmp(mac, via->payload, sizeof(mac));
}

bool peer_write(struct peer *p, int stripe, const void *bytes, size_t len)
{
	while (len) {
		ssize_t n = send(p->sock[stripe], bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		len -= n;
	}
	return true;
}

void peer_frame(const struct peer *p, struct coll_frame *f, uint8_t type,
		uint32_t length)
{
	memset(f, 0, sizeof(*f));
	f->type = type;
	f->comm = coll_wire_comm(p->name);
	f->length = length;
}

static size_t put_ctrl(const struct peer *p, uint8_t type, uint32_t length,
		       uint8_t *buf)
{
	struct coll_frame f;

	peer_frame(p, &f, type, length);
	coll_wire_put_header(buf, &f);
	return COLL_WIRE_HDR + length;
}

size_t peer_put_hello(const struct peer *p, int stripe, uint8_t *buf)
{
	coll_wire_put_hello(buf + COLL_WIRE_HDR, &p->mine[stripe]);
	return put_ctrl(p, COLL_FRAME_HELLO, COLL_WIRE_HELLO, buf);
}

size_t peer_put_proof(const struct peer *p, int stripe, uint8_t *buf)
{
	greet_put_proof(p->c.key, &p->mine[stripe], &p->theirs[stripe], buf + COLL_WIRE_HDR);
	return put_ctrl(p, COLL_FRAME_PROOF, COLL_WIRE_PROOF, buf);
}

size_t peer_put_greet(const struct peer *p, int stripe, uint8_t *buf)
{
	size_t n = peer_put_hello(p, stripe, buf);

	return n + peer_put_proof(p, stripe, buf + n);
}

size_t peer_put_abort(const struct peer *p, const struct coll_cause *c, uint8_t *buf)
{
	coll_wire_put_abort(buf + COLL_WIRE_HDR, c);
	return put_ctrl(p, COLL_FRAME_ABORT, COLL_WIRE_ABORT, buf);
}

size_t peer_put_bye(const struct peer *p, uint32_t rank, uint64_t seq, uint8_t *buf)
{
	return peer_put_bye_after(p, rank, seq, 0, buf);
}

size_t peer_put_bye_after(const struct peer *p, uint32_t rank, uint64_t seq, uint32_t orders,
			  uint8_t *buf)
{
	struct coll_bye b = { .rank = rank, .orders = orders, .seq = seq };

	coll_wire_put_bye(buf + COLL_WIRE_HDR, &b);
	return put_ctrl(p, COLL_FRAME_BYE, COLL_WIRE_BYE, buf);
}

/* One transfer of elements @from to @to in frames; none: a token. */
static size_t put_transfer(const struct peer *p, const struct coll_cmd *cmd,
			   uint64_t seq, uint32_t transfer, const int32_t *e,
			   uint64_t from, uint64_t to, uint32_t frame, uint8_t *buf)
{
	uint64_t bytes = (to - from) * 4, off = 0;
	struct coll_frame f;
	size_t n = 0;

	peer_frame(p, &f, COLL_FRAME_DATA, 0);
	f.seq = seq;
	f.transfer = transfer;
	f.signature = coll_signature(cmd->collective, cmd->op, cmd->dtype,
				     cmd->algorithm, cmd->root, cmd->count, seq);
	do {
		f.offset = off;
		f.length = bytes - off < frame ? bytes - off : frame;
		coll_wire_put_header(buf + n, &f);
		n += COLL_WIRE_HDR;
		if (f.length)
			memcpy(buf + n, (const uint8_t *)(e + from) + off, f.length);
		n += f.length;
		off += f.length;
	} while (off < bytes);
	return n;
}

/*
 * The frames that rank 1 of 2 sends. Allreduce: its own chunk 1, then the sum of chunk 0.
 * Broadcast: a token if it is the leaf, else the vector. Barrier: a token.
 */
size_t peer_put_op(const struct peer *p, const struct coll_cmd *cmd,
		   uint64_t seq, uint32_t frame, uint8_t *buf)
{
	uint64_t half = coll_chunk_start(cmd->count, 2, 1), i;
	int32_t *e = malloc(cmd->count * 4 + 4);
	size_t n;

	for (i = 0; i < cmd->count; i++)
		e[i] = test_value(PEER_RANK, i);
	if (cmd->collective == COLL_ALLREDUCE) {
		n = put_transfer(p, cmd, seq, 0, e, half, cmd->count, frame, buf);
		for (i = 0; i < half; i++)
			e[i] = test_value_sum(2, i);
		n += put_transfer(p, cmd, seq, 1, e, 0, half, frame, buf + n);
	} else if (cmd->collective == COLL_BROADCAST && cmd->root == PEER_RANK) {
		n = put_transfer(p, cmd, seq, 0, e, 0, cmd->count, frame, buf);
	} else {
		n = put_transfer(p, cmd, seq, 0, e, 0, 0, frame, buf);
	}
	free(e);
	return n;
}

bool peer_op_init(struct peer_op *o, struct peer *p, enum peer_kind kind,
		  uint64_t count, uint64_t timeout_ns)
{
	uint64_t i;
	int32_t v;

	memset(o, 0, sizeof(*o));
	if (kind == PEER_BARRIER)
		count = 0;
	if (!test_guard(&o->out, count * 4, true))
		return false;
	for (i = 0; i < count; i++) {
		v = test_value(0, i);
		memcpy(o->out.mem + i * 4, &v, 4);
	}
	if (kind == PEER_BARRIER)
		raw_barrier(&o->cmd);
	else if (kind == PEER_ALLREDUCE)
		raw_allreduce(&o->cmd, NULL, o->out.mem, count, COLL_I32, COLL_OP_SUM);
	else
		raw_broadcast(&o->cmd, o->out.mem, count, COLL_I32,
			      kind == PEER_BCAST_IN ? PEER_RANK : 0);
	o->cmd.timeout_ns = timeout_ns;
	o->fd = p->c.fd[0];
	return true;
}

static void *peer_op_thread(void *arg)
{
	struct peer_op *o = arg;

	o->result = raw_submit(o->fd, &o->cmd);
	o->when = test_now_ns();
	return NULL;
}

bool peer_op_start(struct peer_op *o, struct peer *p)
{
	p->seq++;
	return !pthread_create(&o->thread, NULL, peer_op_thread, o);
}

int peer_op_wait(struct peer_op *o)
{
	pthread_join(o->thread, NULL);
	return o->result;
}

uint64_t peer_op_wrong(const struct peer_op *o)
{
	uint64_t i, wrong = 0;
	int32_t v;

	for (i = 0; i < o->cmd.count; i++) {
		memcpy(&v, o->out.mem + i * 4, 4);
		if (o->cmd.collective == COLL_ALLREDUCE)
			wrong += v != test_value_sum(2, i);
		else
			wrong += v != test_value(o->cmd.root, i);
	}
	return wrong;
}

size_t peer_op_exit(struct peer_op *o)
{
	size_t hurt = test_guard_hurt(&o->out);

	test_unguard(&o->out);
	return hurt;
}
