// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* A rendezvous, whichever side this rank is on. */
#include <errno.h>
#include <stdlib.h>

#include "net/sock.h"
#include "rdv_client.h"
#include "rdv_server.h"
#include "rendezvous.h"

struct rendezvous {
	struct rdv_server *server;	/* rank 0 */
	struct rdv_client *client;	/* the others */
};

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
	*a = *(rdv->server ? rdv_server_here(rdv->server) : rdv_client_here(rdv->client));
	if (!a->len)
		return -EADDRNOTAVAIL;
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
