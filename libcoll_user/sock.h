/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Nonblocking, close-on-exec TCP sockets, and I/O bounded by deadlines. */
#ifndef LIBCOLL_SOCK_H
#define LIBCOLL_SOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "deadline.h"

/* Room for any address we take: IPv4 or IPv6. */
struct sock_addr {
	struct sockaddr_storage sa;
	socklen_t len;
};

/**
 * sock_resolve() - addresses of "host:port" or "[v6]:port"
 * @max: room in @addrs
 *
 * A host name may take as long as the resolver takes; numbers do not wait.
 * Return: how many, or -EINVAL (no port, port 0, no such syntax),
 * -EHOSTUNREACH (no such host).
 */
int sock_resolve(const char *spec, struct sock_addr *addrs, int max);

/* Listen at @a (its port may be 0); return the fd or -errno. */
int sock_listen(const struct sock_addr *a);

/* Begin to connect; return the fd, connected or not yet, or -errno. */
int sock_connect_start(const struct sock_addr *a);

/* How that went, once the socket is writable. */
int sock_connect_result(int fd);

/* TCP_NODELAY and keepalive, before anything is sent. */
void sock_tune(int fd);

/* Wait for @events; 0, -ETIMEDOUT or -errno. Hang-ups count as an event. */
int sock_wait(int fd, short events, struct deadline d);

/* Whole buffers; 0, -ETIMEDOUT, -EPIPE/-ECONNRESET..., -ENODATA at end of stream. */
int sock_send_all(int fd, const void *buf, size_t len, struct deadline d);
int sock_recv_all(int fd, void *buf, size_t len, struct deadline d);

int sock_local(int fd, struct sock_addr *a);
int sock_peer(int fd, struct sock_addr *a);
void sock_set_port(struct sock_addr *a, uint16_t port);
uint16_t sock_port(const struct sock_addr *a);

#endif
