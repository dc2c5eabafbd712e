// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "handshake.h"
#include "sock.h"

#define HS_MAGIC	0x31534863U	/* "cHS1" */
#define HS_VERSION	1

static const uint8_t no_job[AUTH_LEN];

static void put_head(uint8_t *p, uint16_t word)
{
	put_le32(p, HS_MAGIC);
	put_le16(p + 4, HS_VERSION);
	put_le16(p + 6, word);
}

static int check_head(const uint8_t *p)
{
	if (get_le32(p) != HS_MAGIC)
		return -EPROTO;
	return get_le16(p + 4) == HS_VERSION ? 0 : -EPROTONOSUPPORT;
}

static int client_proof(const struct handshake *hs, uint8_t *out)
{
	const uint8_t *job = hs->ask.purpose == HS_PURPOSE_RANK ? no_job : hs->job;
	const struct auth_part parts[] = {
		{ hs->greeting, HS_GREETING },
		{ hs->hello, HS_HELLO_BODY },
		{ job, AUTH_LEN },
	};

	return auth_mac(hs->secret->key, "coll handshake client", parts, 3, out);
}

static int server_mac(const struct handshake *hs, const char *label, uint8_t *out)
{
	const struct auth_part parts[] = {
		{ hs->greeting, HS_GREETING },
		{ hs->hello, HS_HELLO },
		{ hs->welcome, HS_WELCOME_BODY },
	};

	return auth_mac(hs->secret->key, label, parts, 3, out);
}

static void expect(struct handshake *hs, enum hs_state state, size_t bytes)
{
	hs->state = state;
	hs->want = bytes;
	hs->have = 0;
}

int hs_start_server(struct handshake *hs, int fd, const struct job_secret *secret,
		    const uint8_t *job)
{
	memset(hs, 0, sizeof(*hs));
	hs->fd = fd;
	hs->secret = secret;
	memcpy(hs->job, job, AUTH_LEN);
	put_head(hs->greeting, 0);
	expect(hs, HS_SEND_GREETING, HS_GREETING);
	return auth_random(hs->greeting + 8, AUTH_LEN);
}

void hs_start_client(struct handshake *hs, int fd, const struct job_secret *secret,
		     const struct hs_ask *ask, const uint8_t *job)
{
	memset(hs, 0, sizeof(*hs));
	hs->fd = fd;
	hs->secret = secret;
	hs->ask = *ask;
	if (job)
		memcpy(hs->job, job, AUTH_LEN);
	expect(hs, HS_RECV_GREETING, HS_GREETING);
}

/* Read more of a message. Return: 1: it is complete; 0: wait for more. */
static int hs_recv(struct handshake *hs, uint8_t *buf)
{
	while (hs->have < hs->want) {
		ssize_t n = recv(hs->fd, buf + hs->have, hs->want - hs->have, MSG_DONTWAIT);

		if (!n)
			return -ENODATA;
		if (n > 0)
			hs->have += (size_t)n;
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			return -errno;
	}
	return 1;
}

static int hs_send(struct handshake *hs, const uint8_t *buf)
{
	while (hs->have < hs->want) {
		ssize_t n = send(hs->fd, buf + hs->have, hs->want - hs->have,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n >= 0)
			hs->have += (size_t)n;
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			return -errno;
	}
	return 1;
}

/* A HELLO is whole: is it one of ours? */
static int check_hello(struct handshake *hs)
{
	uint8_t proof[AUTH_LEN];
	int ret;

	ret = check_head(hs->hello);
	if (ret)
		return ret;
	hs->ask.purpose = get_le16(hs->hello + 6);
	hs->ask.a = get_le32(hs->hello + 8);
	hs->ask.b = get_le32(hs->hello + 12);
	hs->ask.c = get_le32(hs->hello + 16);
	ret = client_proof(hs, proof);
	if (ret)
		return ret;
	return auth_equal(proof, hs->hello + HS_HELLO_BODY) ? 0 : -EKEYREJECTED;
}

/*
 * Tell a client with the wrong key so, once and without proof: it would only
 * try again otherwise. Whether this arrives does not matter to us.
 */
static void refuse_stranger(struct handshake *hs, int err)
{
	memset(hs->welcome, 0, sizeof(hs->welcome));
	put_head(hs->welcome, 0);
	put_le32(hs->welcome + 8, (uint32_t)-err);
	send(hs->fd, hs->welcome, HS_WELCOME, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int hs_answer(struct handshake *hs, int status)
{
	int ret;

	hs->status = status;
	put_head(hs->welcome, 0);
	put_le32(hs->welcome + 8, (uint32_t)status);
	memcpy(hs->welcome + 12, hs->job, AUTH_LEN);
	ret = server_mac(hs, "coll handshake server", hs->welcome + HS_WELCOME_BODY);
	expect(hs, HS_SEND_WELCOME, HS_WELCOME);
	return ret;
}

/* A GREETING is whole: make the HELLO. */
static int make_hello(struct handshake *hs)
{
	int ret;

	ret = check_head(hs->greeting);
	if (ret)
		return ret;
	put_head(hs->hello, hs->ask.purpose);
	put_le32(hs->hello + 8, hs->ask.a);
	put_le32(hs->hello + 12, hs->ask.b);
	put_le32(hs->hello + 16, hs->ask.c);
	ret = auth_random(hs->hello + 20, AUTH_LEN);
	if (ret)
		return ret;
	ret = client_proof(hs, hs->hello + HS_HELLO_BODY);
	expect(hs, HS_SEND_HELLO, HS_HELLO);
	return ret;
}

/* A WELCOME is complete: check it. Return: 0, or the error or refusal. */
static int check_welcome(struct handshake *hs)
{
	uint32_t status = get_le32(hs->welcome + 8);
	uint8_t proof[AUTH_LEN];
	int ret;

	ret = check_head(hs->welcome);
	if (ret)
		return ret;
	/* This status is not proved, but believing it can only end this attempt. */
	if (status == EKEYREJECTED)
		return -EKEYREJECTED;
	ret = server_mac(hs, "coll handshake server", proof);
	if (ret)
		return ret;
	if (!auth_equal(proof, hs->welcome + HS_WELCOME_BODY))
		return -EKEYREJECTED;
	if (status) {
		hs->status = status < 4096 ? (int)status : EPROTO;
		return -hs->status;
	}
	if (hs->ask.purpose != HS_PURPOSE_RANK) {
		if (memcmp(hs->job, hs->welcome + 12, AUTH_LEN))
			return -EPROTO;
	} else {
		memcpy(hs->job, hs->welcome + 12, AUTH_LEN);
	}
	return 0;
}

static int hs_finish(struct handshake *hs)
{
	int ret;

	hs->state = HS_OVER;
	if (hs->status)
		return -hs->status;
	ret = server_mac(hs, "coll session", hs->session);
	return ret ? ret : HS_DONE;
}

static int step_server(struct handshake *hs)
{
	int ret;

	switch (hs->state) {
	case HS_SEND_GREETING:
		ret = hs_send(hs, hs->greeting);
		if (ret <= 0)
			return ret;
		expect(hs, HS_RECV_HELLO, HS_HELLO);
		/* fall through */
	case HS_RECV_HELLO:
		ret = hs_recv(hs, hs->hello);
		if (ret <= 0)
			return ret;
		ret = check_hello(hs);
		if (ret) {
			refuse_stranger(hs, ret);
			return ret;
		}
		hs->state = HS_DECIDE;
		return HS_ASKED;
	case HS_SEND_WELCOME:
		ret = hs_send(hs, hs->welcome);
		return ret <= 0 ? ret : hs_finish(hs);
	default:
		return -EINVAL;
	}
}

static int step_client(struct handshake *hs)
{
	int ret;

	switch (hs->state) {
	case HS_RECV_GREETING:
		ret = hs_recv(hs, hs->greeting);
		if (ret <= 0)
			return ret;
		ret = make_hello(hs);
		if (ret)
			return ret;
		/* fall through */
	case HS_SEND_HELLO:
		ret = hs_send(hs, hs->hello);
		if (ret <= 0)
			return ret;
		expect(hs, HS_RECV_WELCOME, HS_WELCOME);
		/* fall through */
	case HS_RECV_WELCOME:
		ret = hs_recv(hs, hs->welcome);
		if (ret <= 0)
			return ret;
		ret = check_welcome(hs);
		return ret ? ret : hs_finish(hs);
	default:
		return -EINVAL;
	}
}

int hs_step(struct handshake *hs)
{
	return hs->state < HS_RECV_GREETING ? step_server(hs) : step_client(hs);
}

short hs_events(const struct handshake *hs)
{
	switch (hs->state) {
	case HS_SEND_GREETING:
	case HS_SEND_WELCOME:
	case HS_SEND_HELLO:
		return POLLOUT;
	default:
		return POLLIN;
	}
}

int hs_run(struct handshake *hs, struct deadline d)
{
	for (;;) {
		int ret = hs_step(hs);

		if (ret)
			return ret;
		ret = sock_wait(hs->fd, hs_events(hs), d);
		if (ret)
			return ret;
	}
}
