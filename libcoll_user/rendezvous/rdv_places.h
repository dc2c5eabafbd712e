/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Decides which ranks have a connection to rank 0. */
#ifndef LIBCOLL_RDV_PLACES_H
#define LIBCOLL_RDV_PLACES_H

#include "rdv_server.h"

/* Limit the number of connections to the number of descriptors. Return: 0 or -errno. */
int rdv_places_init(struct rdv_server *s);

/*
 * A rank asks for a connection. Return: 0: it is counted; -EBUSY: there is no place now, and no
 * rank that has one can leave.
 */
int rdv_place_take(struct rdv_server *s, struct member *m);

/* The connection of a rank has ended, or was not made. */
void rdv_place_free(struct rdv_server *s, struct member *m);

/* Must the rank leave when it has its result? */
bool rdv_must_leave(const struct rdv_server *s, const struct member *m);

/* Close the socket of a rank. */
void rdv_hang_up(struct rdv_server *s, struct member *m);

/* Close the connection of a rank. The rank comes back by itself. */
void rdv_depart(struct rdv_server *s, struct member *m);

/* If the connection of the rank breaks, may the rank come back once more? */
bool rdv_can_come_back(const struct rdv_server *s, const struct member *m);

/* A rank that is AWAY has connected: start its time limit anew. */
void rdv_is_alive(struct member *m);

/* A rank that was AWAY is given up: its message and its result do not count any more. */
void rdv_forget(struct rdv_server *s, struct member *m);

/* Rank 0 was busy between rounds: start the time limits of all ranks that are AWAY anew. */
void rdv_excuse_all(struct rdv_server *s);

/* Return: a rank that should have come back by now, or NULL. */
struct member *rdv_overdue(struct rdv_server *s);

#endif
