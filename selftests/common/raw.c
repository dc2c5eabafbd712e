// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util.h"
#include "raw.h"

static int raw_ioctl(int fd, unsigned long nr, void *arg)
{
	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

int raw_open(void)
{
	int fd = open("/dev/coll", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int raw_join(int fd, const struct raw_comm *c, uint32_t rank)
{
	struct coll_join j = {
		.rank = rank,
		.size = c->size,
		.node = c->node_of[rank],
		.nr_nodes = c->nodes,
		.node_of = (uintptr_t)c->node_of,
		.flags = c->flags,
	};

	memcpy(j.key, c->key, sizeof(j.key));
	return raw_ioctl(fd, COLL_IOC_JOIN, &j);
}

int raw_submit(int fd, struct coll_cmd *cmd)
{
	return raw_ioctl(fd, COLL_IOC_SUBMIT, cmd);
}

uint64_t raw_features(void)
{
	struct coll_version v = { };
	int fd = raw_open();

	if (fd < 0)
		return 0;
	ioctl(fd, COLL_IOC_VERSION, &v);
	close(fd);
	return v.features;
}

int raw_status(int fd, struct coll_status *s)
{
	return raw_ioctl(fd, COLL_IOC_STATUS, s);
}

int raw_status_failed(int fd, struct coll_status *s)
{
	uint64_t end = test_now_ns() + test_bound_ms() * 50000000ULL;
	int ret;

	for (;;) {
		bool late = test_now_ns() > end;

		ret = raw_status(fd, s);
		if (ret || s->state == COLL_STATE_FAILED)
			return ret;
		if (late)
			return -ETIMEDOUT;
		test_sleep_us(1000);
	}
}

int raw_max_inflight(unsigned int max)
{
	FILE *f = fopen("/sys/module/coll/parameters/max_inflight", "r+");
	int before = -EIO;

	if (!f)
		return -errno;
	if (fscanf(f, "%d", &before) == 1) {
		rewind(f);
		if (fprintf(f, "%u", max) < 0)
			before = -EIO;
	}
	return fclose(f) ? -errno : before;
}

int raw_abort(int fd, uint32_t code)
{
	struct coll_abort a = { .code = code };

	return raw_ioctl(fd, COLL_IOC_ABORT, &a);
}

int raw_cancel(int fd, uint64_t handle)
{
	struct coll_cancel c = { .handle = handle };

	return raw_ioctl(fd, COLL_IOC_CANCEL, &c);
}

int raw_cancel_receives(int fd)
{
	struct coll_cancel c = { .flags = COLL_CANCEL_RECEIVES };
	int ret = raw_ioctl(fd, COLL_IOC_CANCEL, &c);

	return ret ? ret : (int)c.cancelled;
}

int raw_link(int fd, uint32_t peer, int sock, uint32_t stripe)
{
	struct coll_link_add l = {
		.peer = peer, .fd = sock, .stripe = stripe,
	};

	return raw_ioctl(fd, COLL_IOC_LINK, &l);
}

int raw_share(int fd, uint32_t peer, int parent, uint32_t parent_peer)
{
	struct coll_link_add l = {
		.peer = peer, .fd = parent, .flags = COLL_LINK_SHARE,
		.parent_peer = parent_peer,
	};

	return raw_ioctl(fd, COLL_IOC_LINK, &l);
}

int raw_stripe(int fd, uint32_t links, uint64_t least)
{
	struct coll_stripe s = { .links = links, .least = least };

	return raw_ioctl(fd, COLL_IOC_STRIPE, &s);
}

int raw_tcp_pair(int sv[2])
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(a);
	int l, err;

	sv[0] = -1;
	l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l < 0)
		return -errno;
	if (bind(l, (struct sockaddr *)&a, sizeof(a)) || listen(l, 1) ||
	    getsockname(l, (struct sockaddr *)&a, &len))
		goto fail;
	sv[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sv[0] < 0 || connect(sv[0], (struct sockaddr *)&a, sizeof(a)))
		goto fail;
	sv[1] = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	if (sv[1] < 0)
		goto fail;
	close(l);
	return 0;
fail:
	err = -errno;
	if (sv[0] >= 0)
		close(sv[0]);
	close(l);
	return err;
}

void raw_plan(struct raw_comm *c, uint32_t size, uint32_t nodes)
{
	uint32_t r;

	memset(c, 0, sizeof(*c));
	c->size = size;
	c->nodes = nodes;
	for (r = 0; r < RAW_MAX; r++)
		c->fd[r] = -1;
	for (r = 0; r < size; r++)
		c->node_of[r] = (uint64_t)r * nodes / size;
	if (getrandom(c->key, sizeof(c->key), 0) != sizeof(c->key))
		memset(c->key, 0x5a, sizeof(c->key));
}

/* Any rank of a node may hand its sockets over: the first one does. */
static int raw_first_fd(const struct raw_comm *c, uint32_t node)
{
	uint32_t r = 0;

	while (c->node_of[r] != node)
		r++;
	return c->fd[r];
}

static int raw_connect(struct raw_comm *c, uint32_t a, uint32_t b, uint32_t links)
{
	uint32_t stripe;
	int sv[2], ret;

	for (stripe = 0; stripe < 2 * links; stripe++) {
		ret = raw_tcp_pair(sv);
		if (ret)
			return ret;
		ret = raw_link(raw_first_fd(c, a), b, sv[0], stripe);
		if (!ret)
			ret = raw_link(raw_first_fd(c, b), a, sv[1], stripe);
		close(sv[0]);
		close(sv[1]);
		if (ret)
			return ret;
	}
	return 0;
}

/* Join the ranks of a plan, and link the nodes. */
static int raw_join_all(struct raw_comm *c, uint32_t links)
{
	uint32_t r, a, b;
	int ret;

	for (r = 0; r < c->size; r++) {
		c->fd[r] = raw_open();
		if (c->fd[r] < 0)
			return c->fd[r];
		ret = raw_join(c->fd[r], c, r);
		if (ret)
			return ret;
	}
	for (a = 0; a < c->nodes; a++) {
		for (b = a + 1; b < c->nodes; b++) {
			ret = raw_connect(c, a, b, links);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static int raw_start_as(struct raw_comm *c, uint32_t size, uint32_t nodes, uint32_t links,
			uint32_t flags)
{
	raw_plan(c, size, nodes);
	c->flags = flags;
	return raw_join_all(c, links);
}

int raw_start_again(struct raw_comm *c)
{
	return raw_join_all(c, 1);
}

int raw_start_links(struct raw_comm *c, uint32_t size, uint32_t nodes, uint32_t links)
{
	return raw_start_as(c, size, nodes, links, 0);
}

int raw_start_named(struct raw_comm *c, uint32_t size, uint32_t nodes)
{
	return raw_start_as(c, size, nodes, 1, COLL_JOIN_NAMED);
}

int raw_start(struct raw_comm *c, uint32_t size, uint32_t nodes)
{
	return raw_start_links(c, size, nodes, 1);
}

int raw_stripes(struct raw_comm *c, uint32_t links, uint64_t least)
{
	uint32_t r;
	int ret = 0;

	for (r = 0; !ret && r < c->size; r++)
		ret = raw_stripe(c->fd[r], links, least);
	return ret;
}

void raw_stop(struct raw_comm *c)
{
	uint32_t r;

	for (r = 0; r < c->size; r++) {
		if (c->fd[r] >= 0)
			close(c->fd[r]);
		c->fd[r] = -1;
	}
}

struct raw_thread {
	pthread_t thread;
	int fd;
	struct coll_cmd *cmd;
	int *result;
};

static void *raw_thread(void *arg)
{
	struct raw_thread *t = arg;

	*t->result = raw_submit(t->fd, t->cmd);
	return NULL;
}

int raw_all(struct raw_comm *c, struct coll_cmd *cmds, int *results)
{
	struct raw_thread t[RAW_MAX];
	uint32_t r, started = 0;
	int ret = 0;

	for (r = 0; r < c->size && !ret; r++) {
		t[r].fd = c->fd[r];
		t[r].cmd = &cmds[r];
		t[r].result = &results[r];
		ret = -pthread_create(&t[r].thread, NULL, raw_thread, &t[r]);
		started += !ret;
	}
	for (r = 0; r < started; r++)
		pthread_join(t[r].thread, NULL);
	return ret;
}

void raw_allreduce(struct coll_cmd *cmd, const void *in, void *out,
		   uint64_t count, unsigned int dtype, unsigned int op)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = COLL_ALLREDUCE;
	cmd->op = op;
	cmd->dtype = dtype;
	cmd->count = count;
	cmd->recv_addr = (uintptr_t)out;
	if (in)
		cmd->send_addr = (uintptr_t)in;
	else
		cmd->flags = COLL_CMD_INPLACE;
}

void raw_broadcast(struct coll_cmd *cmd, void *buf, uint64_t count,
		   unsigned int dtype, uint32_t root)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = COLL_BROADCAST;
	cmd->dtype = dtype;
	cmd->count = count;
	cmd->root = root;
	cmd->recv_addr = (uintptr_t)buf;
}

void raw_barrier(struct coll_cmd *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = COLL_BARRIER;
}

void raw_send(struct coll_cmd *cmd, const void *buf, uint64_t count,
	      unsigned int dtype, uint32_t dest, uint32_t tag)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = COLL_SEND;
	cmd->dtype = dtype;
	cmd->count = count;
	cmd->send_addr = (uintptr_t)buf;
	cmd->root = dest;
	cmd->send_tag = tag;
}

void raw_recv(struct coll_cmd *cmd, void *buf, uint64_t count, unsigned int dtype,
	      uint32_t source, uint32_t tag, struct coll_message *got)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = COLL_RECV;
	cmd->dtype = dtype;
	cmd->count = count;
	cmd->recv_addr = (uintptr_t)buf;
	cmd->source = source;
	cmd->recv_tag = tag;
	cmd->message_addr = (uintptr_t)got;
}

void raw_probe(struct coll_cmd *cmd, unsigned int what, uint32_t source, uint32_t tag,
	       struct coll_message *got)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = what;
	cmd->source = source;
	cmd->recv_tag = tag;
	cmd->message_addr = (uintptr_t)got;
}

void raw_mrecv(struct coll_cmd *cmd, void *buf, uint64_t count, unsigned int dtype,
	       uint64_t id, struct coll_message *got)
{
	raw_recv(cmd, buf, count, dtype, 0, 0, got);
	cmd->collective = COLL_MRECV;
	cmd->matched = id;
}

void raw_and_recv(struct coll_cmd *cmd, void *buf, uint64_t count,
		  uint32_t source, uint32_t tag, struct coll_message *got)
{
	cmd->collective = COLL_SENDRECV;
	cmd->recv_addr = (uintptr_t)buf;
	cmd->recv_count = count;
	cmd->source = source;
	cmd->recv_tag = tag;
	cmd->message_addr = (uintptr_t)got;
}

int raw_post_cmd(int fd, const struct coll_cmd *cmd, uint64_t tag)
{
	struct coll_post_entry e = {
		.arg = (uintptr_t)cmd, .len = sizeof(*cmd), .tag = tag,
	};
	struct coll_post p = { .entries = (uintptr_t)&e, .nr = 1 };
	int ret = ioctl(fd, COLL_IOC_POST, &p);

	return ret < 0 ? -errno : ret;
}

int raw_collect_cmds(int fd, struct coll_completion *done, uint32_t nr, uint32_t min,
		     uint64_t timeout_ns)
{
	struct coll_collect c = {
		.completions = (uintptr_t)done, .nr = nr, .min = min, .timeout_ns = timeout_ns,
	};
	int ret = ioctl(fd, COLL_IOC_COLLECT, &c);

	return ret < 0 ? -errno : ret;
}

void raw_tensor(struct coll_tensor *t, const char *name, const struct coll_cmd *cmd,
		uint64_t tag)
{
	*t = (struct coll_tensor){
		.name = (uintptr_t)name,
		.name_len = strlen(name),
		.cmd = (uintptr_t)cmd,
		.cmd_len = sizeof(*cmd),
		.tag = tag,
	};
}

int raw_post(int fd, const struct coll_tensor *t, uint32_t nr, uint32_t *posted)
{
	struct coll_tensor_post p = {
		.tensors = (uintptr_t)t,
		.nr = nr,
		.size = sizeof(*t),
	};
	int ret = raw_ioctl(fd, COLL_IOC_TENSOR_POST, &p);

	if (posted)
		*posted = p.posted;
	return ret;
}

int raw_collect(int fd, struct coll_tensor_result *r, uint32_t nr, uint32_t min,
		uint64_t timeout_ns)
{
	struct coll_tensor_wait w = {
		.results = (uintptr_t)r,
		.nr = nr,
		.min = min,
		.timeout_ns = timeout_ns,
	};
	int ret = raw_ioctl(fd, COLL_IOC_TENSOR_WAIT, &w);

	return ret ? ret : (int)w.got;
}

int raw_collect_all(const struct raw_comm *c, uint32_t n)
{
	struct coll_tensor_result *res = calloc(n, sizeof(*res));
	int got = res ? 0 : -ENOMEM, bad = 0;
	uint32_t r, k;

	for (r = 0; r < c->size && got >= 0; r++) {
		got = raw_collect(c->fd[r], res, n, n, 60000000000ULL);
		if (got >= 0 && got != (int)n)
			got = -ENODATA;
		for (k = 0; got >= 0 && k < n; k++)
			bad += res[k].result != 0;
	}
	free(res);
	return got < 0 ? got : bad;
}

int raw_set_fusion(const struct raw_comm *c, uint64_t threshold, uint32_t most, uint32_t ahead)
{
	struct coll_tensor_fuse f = { .threshold = threshold, .most = most, .ahead = ahead };
	int ret = 0;
	uint32_t r;

	for (r = 0; r < c->size && !ret; r++)
		ret = raw_ioctl(c->fd[r], COLL_IOC_TENSOR_FUSE, &f);
	return ret;
}
