/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The communicator object, and what it owns. */
#ifndef LIBCOLL_COMM_H
#define LIBCOLL_COMM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <coll/coll.h>

#include "base/forks.h"
#include "net/auth.h"
#include "net/sock.h"
#include "select/stripes.h"

struct async;
struct buffer;
struct select_host;
struct select_tables;
struct shm;
struct topology;

/**
 * struct coll_comm - one rank
 * @fd: /dev/coll, joined
 * @node_of: node of each rank
 * @timeout_ns: timeout of commands that have none of their own
 * @version: answer of the module to COLL_IOC_VERSION
 * @flags: COLL_CONFIG_*
 * @buffers_lock: protects @buffers
 * @buffers: registered memory, see buffers.c
 * @async: nonblocking calls, see async.c; made by the first of them, under
 *	@async_once_lock
 * @device: path of the device that was opened; owned
 * @timeout_ms: time limit for making it, and for making a part of it
 * @family: secret of its ranks, for its parts; never sent. See comm_join().
 * @here: address at which other hosts reach this rank; length 0: not known, as with a size
 *	of 1
 * @select: tables of algorithms that the kernel was given, see select.c; NULL: none
 * @hosts: of each node, how files of tables identify it; NULL: no tables; owned
 * @origin: of each node its number in the communicator of coll_init(); owned
 * @stripes: setting that the kernel was given
 * @shm: memory that the ranks share, see shm.h; NULL: none
 * @narrow: see coll_comm_set_narrow()
 * @wire: see coll_comm_set_wire()
 * @idle: see coll_comm_set_idle(); with @idle_arg
 * @settles: the ways of small ops are being timed: commands of other communicators have to wait
 * @named: its collectives have names: see coll/tensor.h
 * @forks: forks_count() in the process that made it
 */
struct coll_comm {
	int fd;
	uint32_t rank, size, node, nr_nodes;
	uint32_t *node_of;
	_Atomic uint64_t timeout_ns;
	struct coll_version version;
	uint32_t flags;
	pthread_mutex_t buffers_lock;
	struct buffer *buffers;
	pthread_mutex_t async_once_lock;
	_Atomic(struct async *) async;
	char *device;
	uint32_t timeout_ms;
	struct job_secret family;
	struct sock_addr here;
	struct select_tables *select;
	struct select_host *hosts;
	uint32_t *origin;
	struct stripes stripes;
	struct shm *shm;
	_Atomic bool narrow;
	_Atomic uint32_t wire;
	coll_idle_fn *idle;
	void *idle_arg;
	bool settles;
	bool named;
	uint32_t forks;
};

/**
 * comm_is_forked() - is this process a forked child of the one that made @comm?
 *
 * The kernel refuses its commands. Locks of the library may be held by threads that the child does
 * not have, so it must not take one.
 */
static inline bool comm_is_forked(const coll_comm_t *comm)
{
	return comm->forks != forks_count();
}

/**
 * comm_new() - make an object that has no file yet
 *
 * Return: 0 or -ENOMEM.
 */
int comm_new(coll_comm_t **comm, uint32_t rank, uint32_t size);

/** comm_free() - undo comm_new() and everything that followed */
void comm_free(coll_comm_t *comm);

/** comm_open() - open @device and read the version; explains a failure */
int comm_open(coll_comm_t *comm, const char *device);

/** comm_set_nodes() - copy the numbers of nodes from @t */
int comm_set_nodes(coll_comm_t *comm, const struct topology *t);

/**
 * comm_join() - join in the kernel
 * @secret: the job's
 * @job: a nonce of AUTH_LEN bytes that belongs to this communicator alone
 *
 * The communicator's key and @comm->family are made from @secret and @job. The kernel proves to
 * peers that it knows the key, without sending it. No other secret can be made from the key.
 */
int comm_join(coll_comm_t *comm, const struct job_secret *secret, const uint8_t *job);

/** comm_link() - hand a stream over to the kernel, for links_connect(); closes @fd */
int comm_link(void *comm, uint32_t peer, uint32_t stripe, int fd);

#endif
