/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/coll without the library: several ranks in one process, each an open
 * file, on one node or on several that are joined by TCP over loopback.
 */
#ifndef COLL_SELFTESTS_RAW_H
#define COLL_SELFTESTS_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/coll.h>

#define RAW_MAX	64

/**
 * struct raw_comm - a communicator whose ranks all live in this process
 * @size: ranks
 * @nodes: nodes
 * @fd: one file per rank
 * @node_of: node of each rank
 * @key: random
 * @flags: COLL_JOIN_*
 */
struct raw_comm {
	uint32_t size;
	uint32_t nodes;
	int fd[RAW_MAX];
	uint32_t node_of[RAW_MAX];
	uint8_t key[COLL_KEY_SIZE];
	uint32_t flags;
};

/* All of these return 0 or -errno. */
int raw_open(void);
int raw_join(int fd, const struct raw_comm *c, uint32_t rank);
int raw_submit(int fd, struct coll_cmd *cmd);
/* COLL_FEAT_* of the module; 0 if there is none. */
uint64_t raw_features(void);
int raw_status(int fd, struct coll_status *s);
/*
 * Wait until the communicator has failed, and get its status: an event on a socket makes it fail
 * some time later. -ETIMEDOUT if it has not failed in fifty times test_bound_ms().
 */
int raw_status_failed(int fd, struct coll_status *s);
#define RAW_INFLIGHT_FREE	64

/*
 * Set how many commands a user may have in flight, beyond the first RAW_INFLIGHT_FREE of each rank
 * (module parameter max_inflight).
 * Return: what it was before, or -errno.
 */
int raw_max_inflight(unsigned int max);
int raw_abort(int fd, uint32_t code);
int raw_cancel(int fd, uint64_t handle);
/* COLL_CANCEL_RECEIVES. Return: how many were cancelled, or -errno. */
int raw_cancel_receives(int fd);
int raw_link(int fd, uint32_t peer, int sock, uint32_t stripe);
int raw_share(int fd, uint32_t peer, int parent, uint32_t parent_peer);
int raw_stripe(int fd, uint32_t links, uint64_t least);

/* A connected pair of TCP sockets over loopback. */
int raw_tcp_pair(int sv[2]);

/* Block-wise placement of ranks on nodes, random key; nothing opened. */
void raw_plan(struct raw_comm *c, uint32_t size, uint32_t nodes);
/* Join all ranks, and link every pair of nodes. */
int raw_start(struct raw_comm *c, uint32_t size, uint32_t nodes);
/* After raw_stop(): once more, with the same key, and one link to each node. */
int raw_start_again(struct raw_comm *c);
/* As raw_start(), with several links to each node; they are not used before raw_stripes(). */
int raw_start_links(struct raw_comm *c, uint32_t size, uint32_t nodes, uint32_t links);
/* As raw_start(), for named collectives. */
int raw_start_named(struct raw_comm *c, uint32_t size, uint32_t nodes);
/* COLL_IOC_STRIPE on all ranks. */
int raw_stripes(struct raw_comm *c, uint32_t links, uint64_t least);
void raw_stop(struct raw_comm *c);

/* Let every rank submit its command at the same time; results by rank. */
int raw_all(struct raw_comm *c, struct coll_cmd *cmds, int *results);

void raw_allreduce(struct coll_cmd *cmd, const void *in, void *out,
		   uint64_t count, unsigned int dtype, unsigned int op);
void raw_broadcast(struct coll_cmd *cmd, void *buf, uint64_t count,
		   unsigned int dtype, uint32_t root);
void raw_barrier(struct coll_cmd *cmd);
void raw_send(struct coll_cmd *cmd, const void *buf, uint64_t count,
	      unsigned int dtype, uint32_t dest, uint32_t tag);
void raw_recv(struct coll_cmd *cmd, void *buf, uint64_t count, unsigned int dtype,
	      uint32_t source, uint32_t tag, struct coll_message *got);
/* @what: COLL_PROBE or COLL_MPROBE */
void raw_probe(struct coll_cmd *cmd, unsigned int what, uint32_t source, uint32_t tag,
	       struct coll_message *got);
void raw_mrecv(struct coll_cmd *cmd, void *buf, uint64_t count, unsigned int dtype,
	       uint64_t id, struct coll_message *got);
/* COLL_IOC_POST of one command. Return: 1 or -errno. */
int raw_post_cmd(int fd, const struct coll_cmd *cmd, uint64_t tag);
/* COLL_IOC_COLLECT. Return: completions there are, or -errno. */
int raw_collect_cmds(int fd, struct coll_completion *done, uint32_t nr, uint32_t min,
		     uint64_t timeout_ns);
void raw_tensor(struct coll_tensor *t, const char *name, const struct coll_cmd *cmd,
		uint64_t tag);
/* COLL_IOC_TENSOR_POST; @posted may be NULL. */
int raw_post(int fd, const struct coll_tensor *t, uint32_t nr, uint32_t *posted);
/* COLL_IOC_TENSOR_WAIT. Return: results there are, or -errno. */
int raw_collect(int fd, struct coll_tensor_result *r, uint32_t nr, uint32_t min,
		uint64_t timeout_ns);
/* @n results of each rank. Return: 0, or how many of them are errors, or -errno. */
int raw_collect_all(const struct raw_comm *c, uint32_t n);
/* COLL_IOC_TENSOR_FUSE by each rank */
int raw_set_fusion(const struct raw_comm *c, uint64_t threshold, uint32_t most, uint32_t ahead);
/* Turns a send into an exchange. */
void raw_and_recv(struct coll_cmd *cmd, void *buf, uint64_t count,
		  uint32_t source, uint32_t tag, struct coll_message *got);

#endif /* COLL_SELFTESTS_RAW_H */
