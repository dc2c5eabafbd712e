/* SPDX-License-Identifier: GPL-2.0 */
/* Sockets that user space hands over: what is accepted, claimed and tuned. */
#ifndef COLL_XPORT_SOCK_H
#define COLL_XPORT_SOCK_H

#include <linux/net.h>
#include <linux/types.h>

struct coll_stream;

/* Seconds without a sign of life after which a peer counts as dead. */
unsigned int coll_dead_after(void);

/* Only plain, established TCP over IP. Return: 0, -EPROTOTYPE, -ENOTCONN. */
int coll_sock_check(const struct socket *sock);

/* Set options of a stripe: send without delay, and how soon a dead peer is noticed. */
void coll_sock_tune(struct sock *sk, u32 stripe);

/*
 * Clear SO_LINGER before a worker puts the socket: the last put must not wait for the peer. User
 * space may have set the option at any time.
 */
void coll_sock_no_wait(struct sock *sk);

/**
 * coll_sock_is_direct() - do its packets go straight to hardware?
 * @sk: connected socket
 *
 * Then only the administrator of the machine can delay them: by the queues of that device. A
 * packet that goes through a veth, or out of a network namespace of a user namespace, may be held
 * by another user for ever. Return: false if that is possible.
 */
bool coll_sock_is_direct(struct sock *sk);

/* Has the peer's TCP confirmed all that was sent? Return true also if the connection has ended. */
bool coll_sock_is_confirmed(const struct sock *sk);

/**
 * coll_stream_claim() - make the socket of a stream ours
 * @st: with its socket and conn; the callbacks queue the work of the conn from now on
 *
 * Return: 0, -EBUSY if it is in use, -ENOTCONN if it is not connected.
 */
int coll_stream_claim(struct coll_stream *st);

/* Undo the first half of coll_stream_claim(). No callback comes after the return. */
void coll_stream_unhook(struct coll_stream *st);

/* Undo the rest. The stream must not use the socket any more: another protocol may claim it. */
void coll_stream_disclaim(struct coll_stream *st);

#endif /* COLL_XPORT_SOCK_H */
