/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The rendezvous on every rank but 0; see rendezvous.h. */
#ifndef LIBCOLL_RDV_CLIENT_H
#define LIBCOLL_RDV_CLIENT_H

#include "rendezvous.h"

struct rdv_client;

int rdv_client_open(struct rdv_client **c, const struct rdv_config *cfg);
int rdv_client_round(struct rdv_client *c, int status, const uint8_t *in, uint8_t *out);
int rdv_client_fd(const struct rdv_client *c);
int rdv_client_check(struct rdv_client *c);
const struct sock_addr *rdv_client_here(const struct rdv_client *c);
const uint8_t *rdv_client_job(const struct rdv_client *c);
void rdv_client_close(struct rdv_client *c);

#endif
