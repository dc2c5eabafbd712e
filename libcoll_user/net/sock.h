/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Nonblocking, close-on-exec TCP sockets, and I/O bounded by deadlines. */
#ifndef LIBCOLL_SOCK_H
#define LIBCOLL_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/deadline.h"

/* Room for any address we take: IPv4 or IPv6. */
struct sock_addr {
	struct sockaddr_storage sa;
	socklen_t len;
};

/* Listen at @a (its port may be 0); return the fd or -errno. */
int sock_listen(const struct sock_addr *a);

/* Listen at @port (0: any) of all addresses of this host, of both families. */
int sock_listen_all(uint16_t port);

/* Begin to connect; return the fd, connected or not yet, or -errno. */
int sock_connect_start(const struct sock_addr *a);

/* The result of sock_connect_start(), once the socket is writable. */
int sock_connect_result(int fd);

/* TCP_NODELAY and keepalive, before anything is sent. */
void sock_tune(int fd);

/*
 * End a connection, or stop listening, also if a forked child has a copy of the descriptor. Not for a
 * socket that the kernel module has taken.
 */
void sock_close(int fd);

/* Wait for @events; 0, -ETIMEDOUT or -errno. Hang-ups count as an event. */
int sock_wait(int fd, short events, struct deadline d);

/* Whole buffers; 0, -ETIMEDOUT, -EPIPE/-ECONNRESET..., -ENODATA at end of stream. */
int sock_send_all(int fd, const void *buf, size_t len, struct deadline d);
int sock_recv_all(int fd, void *buf, size_t len, struct deadline d);

int sock_local(int fd, struct sock_addr *a);
/* IPv4 in the form of IPv6, as accepted sockets have it, becomes plain IPv4. */
void sock_unmap(struct sock_addr *a);
int sock_peer(int fd, struct sock_addr *a);
void sock_set_port(struct sock_addr *a, uint16_t port);
uint16_t sock_port(const struct sock_addr *a);

bool sock_is_loopback(const struct sock_addr *a);

/* Are the addresses equal? Ports are not compared. */
bool sock_same_host(const struct sock_addr *a, const struct sock_addr *b);

/*
 * Append the addresses of this host's interfaces to the @nr addresses in @addrs. Interfaces that
 * are down, loopback, link-local addresses, and addresses that are in @addrs already are left
 * out. Return: how many are in @addrs then, @max at most.
 */
int sock_interfaces(struct sock_addr *addrs, int nr, int max);

#define SOCK_TEXT	64	/* with its NUL */

/* "address:port"; @text has SOCK_TEXT bytes. */
const char *sock_text(const struct sock_addr *a, char *text);

#endif
