// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>

#include "bytes.h"
#include "rdv_internal.h"

#define RDV_MAGIC	0x31565243U	/* "CRV1" */

struct rendezvous {
	struct rdv_server *server;	/* rank 0 */
	struct rdv_client *client;	/* the others */
};

void rdv_put_head(uint8_t *p, const struct rdv_head *h)
{
	put_le32(p, RDV_MAGIC);
	put_le16(p + 4, h->type);
	put_le16(p + 6, h->round);
	put_le32(p + 8, h->status);
	put_le32(p + 12, h->length);
}

int rdv_get_head(const uint8_t *p, uint16_t type, uint16_t round, struct rdv_head *h)
{
	h->type = get_le16(p + 4);
	h->round = get_le16(p + 6);
	h->status = get_le32(p + 8);
	h->length = get_le32(p + 12);
	if (get_le32(p) != RDV_MAGIC || h->type != type || h->round != round)
		return -EPROTO;
	return h->status < 4096 ? 0 : -EPROTO;
}

int rdv_proof(const uint8_t *session, const uint8_t *head, const uint8_t *digest,
	      uint8_t *out)
{
	const struct auth_part parts[] = {
		{ head, RDV_HDR },
		{ digest, AUTH_LEN },
	};

	return auth_mac(session, "coll rendezvous", parts, 2, out);
}

int rdv_open(struct rendezvous **out, const struct rdv_config *cfg)
{
	struct rendezvous *rdv;
	int ret;

	if (cfg->size < 2 || cfg->rank >= cfg->size)
		return -EINVAL;
	rdv = calloc(1, sizeof(*rdv));
	if (!rdv)
		return -ENOMEM;
	if (cfg->rank)
		ret = rdv_client_open(&rdv->client, cfg);
	else
		ret = rdv_server_open(&rdv->server, cfg);
	if (ret) {
		free(rdv);
		return ret;
	}
	*out = rdv;
	return 0;
}

int rdv_round(struct rendezvous *rdv, int status, const uint8_t *in, uint8_t *out)
{
	if (rdv->server)
		return rdv_server_round(rdv->server, status, in, out);
	return rdv_client_round(rdv->client, status, in, out);
}

int rdv_fd(const struct rendezvous *rdv)
{
	return rdv->server ? rdv_server_fd(rdv->server) : rdv_client_fd(rdv->client);
}

int rdv_check(struct rendezvous *rdv)
{
	return rdv->server ? rdv_server_check(rdv->server) : rdv_client_check(rdv->client);
}

const uint8_t *rdv_job(const struct rendezvous *rdv)
{
	return rdv->server ? rdv_server_job(rdv->server) : rdv_client_job(rdv->client);
}

int rdv_local_address(const struct rendezvous *rdv, struct sock_addr *a)
{
	if (rdv->server)
		return -EADDRNOTAVAIL;
	*a = *rdv_client_here(rdv->client);
	sock_set_port(a, 0);
	return 0;
}

void rdv_close(struct rendezvous *rdv)
{
	if (!rdv)
		return;
	if (rdv->server)
		rdv_server_close(rdv->server);
	else
		rdv_client_close(rdv->client);
	free(rdv);
}
