// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The blob of rank 0; the blobs of the other ranks are zeros:
 *
 *	0	magic (u32)
 *	4	status (u32): 0 or a positive errno
 *	8	secret, zeros if coll_config has a key
 *	40	number of addresses (u16)
 *	42	port (u16)
 *	44	addresses: family (u8: 4 or 6) and 16 bytes each
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/debug.h"
#include "net/ports.h"
#include "invite.h"

#define MAGIC		0x31495643U	/* "CVI1" */
#define AT_SECRET	8
#define AT_NR		40
#define AT_PORT		42
#define AT_ADDRS	44
#define ADDR_LEN	17
#define BLOB_LEN	(AT_ADDRS + INVITE_ADDRS * ADDR_LEN)

static void put_addr(uint8_t *p, const struct sock_addr *a)
{
	if (a->sa.ss_family == AF_INET) {
		p[0] = 4;
		memcpy(p + 1, &((const struct sockaddr_in *)&a->sa)->sin_addr, 4);
	} else {
		p[0] = 6;
		memcpy(p + 1, &((const struct sockaddr_in6 *)&a->sa)->sin6_addr, 16);
	}
}

static int get_addr(const uint8_t *p, uint16_t port, struct sock_addr *a)
{
	memset(a, 0, sizeof(*a));
	if (p[0] == 4) {
		struct sockaddr_in *in = (struct sockaddr_in *)&a->sa;

		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, p + 1, 4);
		a->len = sizeof(*in);
	} else if (p[0] == 6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a->sa;

		in6->sin6_family = AF_INET6;
		memcpy(&in6->sin6_addr, p + 1, 16);
		a->len = sizeof(*in6);
	} else {
		return -EPROTO;
	}
	sock_set_port(a, port);
	return 0;
}

/* Addresses of the interfaces, and the loopback address, for ranks of the same host. */
static int find_addresses(struct sock_addr *addrs)
{
	struct sockaddr_in *in;
	int nr;

	nr = sock_interfaces(addrs, 0, INVITE_ADDRS - 1);
	memset(&addrs[nr], 0, sizeof(addrs[nr]));
	in = (struct sockaddr_in *)&addrs[nr].sa;
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	addrs[nr].len = sizeof(*in);
	return nr + 1;
}

/* Rank 0. */
static int write_invitation(uint8_t *blob, struct invitation *inv, const struct coll_config *cfg,
			    struct job_secret *secret)
{
	struct sock_addr local, addrs[INVITE_ADDRS];
	int ret, i;

	inv->lfd = ports_listen();
	if (inv->lfd < 0)
		return inv->lfd;
	ret = sock_local(inv->lfd, &local);
	if (!ret && !cfg->key)
		ret = auth_random(secret->key, AUTH_LEN);
	if (ret)
		return ret;
	if (!cfg->key)
		memcpy(blob + AT_SECRET, secret->key, AUTH_LEN);
	inv->nr = find_addresses(addrs);
	put_le16(blob + AT_NR, (uint16_t)inv->nr);
	put_le16(blob + AT_PORT, sock_port(&local));
	for (i = 0; i < inv->nr; i++)
		put_addr(blob + AT_ADDRS + i * ADDR_LEN, &addrs[i]);
	return 0;
}

/* The other ranks. */
static int read_invitation(const uint8_t *blob, struct invitation *inv,
			   const struct coll_config *cfg, struct job_secret *secret)
{
	uint32_t status = get_le32(blob + 4), i;
	int ret = 0;

	if (get_le32(blob) != MAGIC || status >= 4096 || get_le16(blob + AT_NR) > INVITE_ADDRS) {
		coll_explain("coll_config.exchange returned wrong data: it must be an allgather");
		return -EPROTO;
	}
	if (status) {
		coll_explain("rank 0: %s", coll_strerror((int)status));
		return -(int)status;
	}
	if (!cfg->key)
		memcpy(secret->key, blob + AT_SECRET, AUTH_LEN);
	inv->nr = get_le16(blob + AT_NR);
	for (i = 0; i < (uint32_t)inv->nr && !ret; i++)
		ret = get_addr(blob + AT_ADDRS + i * ADDR_LEN, get_le16(blob + AT_PORT),
			       &inv->addrs[i]);
	return ret;
}

int invite(const struct coll_config *cfg, struct deadline d, struct invitation *inv,
	   struct job_secret *secret)
{
	uint8_t mine[BLOB_LEN] = { 0 }, *all;
	int ret, status;

	inv->lfd = -1;
	/* After an error, too, there is an exchange: the other ranks wait for it. */
	status = cfg->key ? auth_secret(secret, cfg->key) : 0;
	all = calloc(cfg->size, BLOB_LEN);
	if (!all)
		return -ENOMEM;
	if (!cfg->rank) {
		if (!status)
			status = write_invitation(mine, inv, cfg, secret);
		put_le32(mine, MAGIC);
		put_le32(mine + 4, (uint32_t)-status);
	}
	ret = cfg->exchange(cfg->exchange_ctx, mine, all, BLOB_LEN, (uint32_t)deadline_left(d));
	if (ret > 0)
		ret = -EPROTO;
	if (ret && !*coll_last_error())
		coll_explain("coll_config.exchange: %s", strerror(-ret));
	if (!ret)
		ret = status;
	if (!ret && cfg->rank)
		ret = read_invitation(all, inv, cfg, secret);
	auth_wipe(mine, sizeof(mine));
	auth_wipe(all, BLOB_LEN);
	free(all);
	if (ret && inv->lfd >= 0) {
		sock_close(inv->lfd);
		inv->lfd = -1;
	}
	return ret;
}
