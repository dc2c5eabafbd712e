// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Ranks other than 0: connect, prove, then give and get round by round. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "debug.h"
#include "handshake.h"
#include "rdv_internal.h"

#define MAX_ADDRS	8
#define BACKOFF_MIN_MS	5
#define BACKOFF_MAX_MS	400

struct rdv_client {
	int fd;
	uint32_t size;
	uint16_t round;		/* of the last round begun */
	int failed;		/* negative errno: there are no more rounds */
	bool refused;		/* rank 0 has proved itself and said no */
	struct deadline deadline;
	uint8_t session[AUTH_LEN];
	uint8_t job[AUTH_LEN];
};

/* One attempt at one address: 0, or why not. */
static int try_address(struct rdv_client *c, const struct rdv_config *cfg,
		       const struct sock_addr *a)
{
	unsigned int ms = cfg->stranger_ms ? cfg->stranger_ms : RDV_STRANGER_MS;
	struct deadline d = deadline_min(deadline_in(ms), cfg->deadline);
	struct hs_ask ask = { HS_PURPOSE_RANK, cfg->rank, cfg->size, 0 };
	struct handshake hs;
	int ret;
	int fd;

	fd = sock_connect_start(a);
	if (fd < 0)
		return fd;
	ret = sock_wait(fd, POLLOUT, d);
	if (!ret)
		ret = sock_connect_result(fd);
	if (ret)
		goto out_close;
	hs_start_client(&hs, fd, cfg->secret, &ask, NULL);
	ret = hs_run(&hs, d);
	c->refused = hs.status;
	if (ret < 0)
		goto out_wipe;
	c->fd = fd;
	memcpy(c->session, hs.session, AUTH_LEN);
	memcpy(c->job, hs.job, AUTH_LEN);
	auth_wipe(&hs, sizeof(hs));
	return 0;

out_wipe:
	auth_wipe(&hs, sizeof(hs));
out_close:
	close(fd);
	return ret;
}

/* Answers that another attempt would only get again. */
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

static void pause_ms(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

/* Try until it works, cannot work, or the time is over. */
static int connect_to_zero(struct rdv_client *c, const struct rdv_config *cfg,
			   const struct sock_addr *addrs, int nr)
{
	unsigned int backoff = BACKOFF_MIN_MS;
	int ret = -ETIMEDOUT, said = 0;
	uint8_t jitter;
	int left;
	int i;

	for (;;) {
		for (i = 0; i < nr; i++) {
			ret = try_address(c, cfg, &addrs[i]);
			if (!ret || c->refused || is_final(ret))
				return ret;
		}
		left = deadline_left(cfg->deadline);
		if (!left)
			return ret == -ECONNREFUSED ? ret : -ETIMEDOUT;
		if (ret != said)
			coll_debug("rank 0 not reached (%s), trying again", strerror(-ret));
		said = ret;
		/* A thousand ranks must not knock in step. */
		if (auth_random(&jitter, 1))
			jitter = 0;
		backoff += backoff * jitter / 256;
		pause_ms(backoff < (unsigned int)left ? backoff : (unsigned int)left);
		backoff = backoff * 2 < BACKOFF_MAX_MS ? backoff * 2 : BACKOFF_MAX_MS;
	}
}

int rdv_client_open(struct rdv_client **out, const struct rdv_config *cfg)
{
	struct sock_addr addrs[MAX_ADDRS];
	struct rdv_client *c;
	int ret;

	ret = sock_resolve(cfg->spec, addrs, MAX_ADDRS);
	if (ret < 0)
		return ret;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->size = cfg->size;
	c->deadline = cfg->deadline;
	ret = connect_to_zero(c, cfg, addrs, ret);
	if (ret) {
		free(c);
		return ret;
	}
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
	uint8_t msg[RDV_GIVE_LEN];
	uint8_t digest[AUTH_LEN];
	int ret;

	rdv_put_head(msg, &head);
	memcpy(msg + RDV_HDR, in, RDV_BLOB);
	ret = auth_sha256(in, RDV_BLOB, digest);
	if (!ret)
		ret = rdv_proof(c->session, msg, digest, msg + RDV_HDR + RDV_BLOB);
	return ret ? ret : sock_send_all(c->fd, msg, sizeof(msg), c->deadline);
}

/* The result of this round; @out is written only as far as its size allows. */
static int recv_result(struct rdv_client *c, uint8_t *out)
{
	uint8_t msg[RDV_HDR], digest[AUTH_LEN], tag[AUTH_LEN], proof[AUTH_LEN];
	size_t want = out ? (size_t)c->size * RDV_BLOB : 0;
	struct rdv_head head;
	int ret;

	ret = sock_recv_all(c->fd, msg, RDV_HDR, c->deadline);
	if (!ret)
		ret = rdv_get_head(msg, RDV_RESULT, c->round, &head);
	if (ret)
		return ret;
	if (head.length != (head.status ? 0 : want))
		return -EPROTO;
	if (head.length)
		ret = sock_recv_all(c->fd, out, head.length, c->deadline);
	if (!ret)
		ret = sock_recv_all(c->fd, tag, AUTH_LEN, c->deadline);
	if (!ret)
		ret = auth_sha256(out, head.length, digest);
	if (!ret)
		ret = rdv_proof(c->session, msg, digest, proof);
	if (ret)
		return ret;
	if (!auth_equal(proof, tag))
		return -EPROTO;
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

int rdv_client_round(struct rdv_client *c, int status, const uint8_t *in, uint8_t *out)
{
	int sent, ret;

	if (c->failed)
		return c->failed;
	c->round++;
	sent = send_give(c, status, in);
	/* Even if rank 0 took nothing more from us, it may have said why. */
	ret = recv_result(c, out);
	if (sent && !ret)
		ret = sent;
	c->failed = as_death(ret);
	return c->failed;
}

int rdv_client_fd(const struct rdv_client *c)
{
	return c->fd;
}

int rdv_client_check(struct rdv_client *c)
{
	uint8_t byte;
	ssize_t n = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	/* Rank 0 speaks out of turn only to say that it is over. */
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		return -ECANCELED;
	return 0;
}

const uint8_t *rdv_client_job(const struct rdv_client *c)
{
	return c->job;
}

void rdv_client_close(struct rdv_client *c)
{
	close(c->fd);
	auth_wipe(c, sizeof(*c));
	free(c);
}
