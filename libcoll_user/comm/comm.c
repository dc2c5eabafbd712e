// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The communicator object: its life, its entry into the kernel, and questions about it. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/debug.h"
#include "buffers.h"
#include "comm.h"
#include "shm.h"
#include "topology.h"

int comm_new(coll_comm_t **out, uint32_t rank, uint32_t size)
{
	coll_comm_t *comm;

	if (forks_watch())
		return -ENOMEM;
	comm = calloc(1, sizeof(*comm));
	if (!comm)
		return -ENOMEM;
	comm->forks = forks_count();
	comm->fd = -1;
	comm->rank = rank;
	comm->size = size;
	pthread_mutex_init(&comm->buffers_lock, NULL);
	pthread_mutex_init(&comm->async_once_lock, NULL);
	comm->node_of = calloc(size, sizeof(*comm->node_of));
	comm->origin = calloc(size, sizeof(*comm->origin));
	if (!comm->node_of || !comm->origin) {
		comm_free(comm);
		return -ENOMEM;
	}
	*out = comm;
	return 0;
}

void comm_free(coll_comm_t *comm)
{
	buffers_free(comm);
	shm_free(comm);
	if (comm->fd >= 0)
		close(comm->fd);
	pthread_mutex_destroy(&comm->buffers_lock);
	pthread_mutex_destroy(&comm->async_once_lock);
	auth_wipe(&comm->family, sizeof(comm->family));
	free(comm->device);
	free(comm->select);
	free(comm->hosts);
	free(comm->origin);
	free(comm->node_of);
	free(comm);
}

/* Explain why the device cannot be opened. Leaves errno as it was. */
static void explain_device(const char *device, int err)
{
	char buf[1024];
	struct group g, *found = NULL;
	struct stat st;

	if (err == ENOENT || err == ENXIO || err == ENODEV) {
		coll_explain("%s: %s; is the module coll loaded?", device, strerror(err));
	} else if (err == EACCES && !stat(device, &st)) {
		getgrgid_r(st.st_gid, &g, buf, sizeof(buf), &found);
		coll_explain("%s: %s; its mode is %04o, its group %s (%u)", device, strerror(err),
			     st.st_mode & 07777, found ? g.gr_name : "?", st.st_gid);
	} else {
		coll_explain("%s: %s", device, strerror(err));
	}
	errno = err;
}

int comm_open(coll_comm_t *comm, const char *device)
{
	comm->device = strdup(device);
	if (!comm->device)
		return -ENOMEM;
	comm->fd = open(device, O_RDWR | O_CLOEXEC);
	if (comm->fd < 0) {
		explain_device(device, errno);
		return -errno;
	}
	if (ioctl(comm->fd, COLL_IOC_VERSION, &comm->version))
		return -errno;
	return 0;
}

int comm_set_nodes(coll_comm_t *comm, const struct topology *t)
{
	if (t->size != comm->size)
		return -EINVAL;
	comm->node = t->node;
	comm->nr_nodes = t->nr_nodes;
	memcpy(comm->node_of, t->node_of, t->size * sizeof(uint32_t));
	memcpy(comm->origin, t->origin, t->nr_nodes * sizeof(uint32_t));
	return 0;
}

static int join(coll_comm_t *comm, const uint8_t *key)
{
	struct coll_join j = {
		.rank = comm->rank,
		.size = comm->size,
		.node = comm->node,
		.nr_nodes = comm->nr_nodes,
		.node_of = (uint64_t)(uintptr_t)comm->node_of,
		.flags = comm->named ? COLL_JOIN_NAMED : 0,
	};
	int ret;

	memcpy(j.key, key, COLL_KEY_SIZE);
	ret = ioctl(comm->fd, COLL_IOC_JOIN, &j) ? -errno : 0;
	auth_wipe(&j, sizeof(j));
	coll_debug("join rank %u of %u, node %u of %u: %s", comm->rank, comm->size,
		   comm->node, comm->nr_nodes, ret ? strerror(-ret) : "ok");
	return ret;
}

int comm_join(coll_comm_t *comm, const struct job_secret *secret, const uint8_t *job)
{
	const struct auth_part part = { job, AUTH_LEN };
	uint8_t key[AUTH_LEN];
	int ret;

	ret = auth_mac(secret->key, "coll family", &part, 1, comm->family.key);
	if (!ret)
		ret = auth_mac(secret->key, "coll comm", &part, 1, key);
	if (!ret)
		ret = join(comm, key);
	auth_wipe(key, sizeof(key));
	return ret;
}

int comm_link(void *ctx, uint32_t peer, uint32_t stripe, int fd)
{
	coll_comm_t *comm = ctx;
	struct coll_link_add l = { .peer = peer, .fd = fd, .stripe = stripe };
	int ret;

	ret = ioctl(comm->fd, COLL_IOC_LINK, &l) ? -errno : 0;
	close(fd);
	if (ret)
		coll_debug("link to node %u stripe %u refused: %s", peer, stripe,
			   strerror(-ret));
	return ret;
}

uint32_t coll_comm_rank(const coll_comm_t *comm)
{
	return comm ? comm->rank : COLL_RANK_NONE;
}

uint32_t coll_comm_size(const coll_comm_t *comm)
{
	return comm ? comm->size : 0;
}

uint32_t coll_comm_node(const coll_comm_t *comm)
{
	return comm ? comm->node : COLL_RANK_NONE;
}

uint32_t coll_comm_nodes(const coll_comm_t *comm)
{
	return comm ? comm->nr_nodes : 0;
}

uint32_t coll_comm_node_of(const coll_comm_t *comm, uint32_t rank)
{
	return rank < coll_comm_size(comm) ? comm->node_of[rank] : COLL_RANK_NONE;
}

int coll_comm_fd(const coll_comm_t *comm)
{
	return comm ? comm->fd : -EINVAL;
}

int coll_comm_set_timeout(coll_comm_t *comm, uint64_t ns)
{
	if (!comm)
		return -EINVAL;
	comm->timeout_ns = ns;
	return 0;
}

int coll_comm_set_narrow(coll_comm_t *comm, bool narrow)
{
	if (!comm)
		return -EINVAL;
	if (!(comm->version.features & COLL_FEAT_NARROW))
		return -EOPNOTSUPP;
	comm->narrow = narrow;
	return 0;
}

int coll_comm_set_wire(coll_comm_t *comm, enum coll_dtype type)
{
	if (!comm || (type != COLL_DTYPE_NONE && type != COLL_F16 && type != COLL_BF16))
		return -EINVAL;
	if (!(comm->version.features & COLL_FEAT_WIRE_TYPES))
		return -EOPNOTSUPP;
	comm->wire = type;
	return 0;
}

void coll_comm_set_idle(coll_comm_t *comm, coll_idle_fn *fn, void *arg)
{
	if (!comm)
		return;
	comm->idle = fn;
	comm->idle_arg = arg;
}

int coll_abort(coll_comm_t *comm, uint32_t code)
{
	struct coll_abort a = { .code = code };

	if (!comm)
		return -EINVAL;
	return ioctl(comm->fd, COLL_IOC_ABORT, &a) ? -errno : 0;
}
