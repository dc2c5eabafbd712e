// SPDX-License-Identifier: GPL-2.0
/*
 * A 32-bit program, without a C library of its own (nolibc of the kernel's source): structs
 * have the same layout, addresses 32 bits. Exit status: 0, or the number of what went wrong.
 */
#include <linux/coll.h>

#define COUNT	2000

static __u32 nodes[2];
static int in[2][COUNT], out[2][COUNT];

static int do_ioctl(int fd, unsigned long nr, void *arg)
{
	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

static int join(int fd, __u32 rank)
{
	struct coll_join j = {
		.rank = rank, .size = 2, .nr_nodes = 1, .node_of = (unsigned long)nodes,
	};

	memset(j.key, 0x32, sizeof(j.key));
	return do_ioctl(fd, COLL_IOC_JOIN, &j);
}

static int sum(int fd, __u32 rank, int count)
{
	struct coll_cmd cmd = {
		.collective = COLL_ALLREDUCE, .op = COLL_OP_SUM, .dtype = COLL_I32, .count = count,
		.send_addr = (unsigned long)in[rank], .recv_addr = (unsigned long)out[rank],
		.timeout_ns = 10000000000ULL,
	};

	return do_ioctl(fd, COLL_IOC_SUBMIT, &cmd);
}

/* Calls that are refused to a 64-bit program are refused here, too. */
static int refused(int fd)
{
	struct coll_register r = { .addr = 0xfffff000, .len = 4096 };
	struct coll_cmd cmd = { .collective = COLL_BARRIER, .flags = 1U << 31 };

	if (do_ioctl(fd, COLL_IOC_REGISTER, &r) != -EFAULT)
		return 20;
	r.addr = 1ULL << 32 | (unsigned long)in;
	if (do_ioctl(fd, COLL_IOC_REGISTER, &r) != -EFAULT)
		return 21;
	if (do_ioctl(fd, COLL_IOC_SUBMIT, &cmd) != -EINVAL)
		return 22;
	return do_ioctl(fd, COLL_IOC_SUBMIT, (void *)-4096) == -EFAULT ? 0 : 23;
}

static int child(void)
{
	int fd = open("/dev/coll", O_RDWR), ret, i;

	for (i = 0; i < COUNT; i++)
		in[1][i] = 2 * i;
	if (fd < 0 || join(fd, 1))
		return 1;
	ret = sum(fd, 1, 10);
	return ret ? ret : sum(fd, 1, COUNT);
}

int main(void)
{
	int fd = open("/dev/coll", O_RDWR), i, status = 0;
	struct coll_version v;
	struct coll_status s;
	struct coll_register r = { .addr = (unsigned long)in, .len = sizeof(in[0]) };
	pid_t pid;

	if (fd < 0)
		return 10;
	if (do_ioctl(fd, COLL_IOC_VERSION, &v) || v.abi != COLL_ABI)
		return 11;
	if (join(fd, 0))
		return 12;
	pid = fork();
	if (!pid)
		return child() != 0;
	for (i = 0; i < COUNT; i++)
		in[0][i] = i;
	/* small by a slot, large by pinned pages */
	if (sum(fd, 0, 10) || sum(fd, 0, COUNT))
		return 13;
	for (i = 0; i < COUNT; i++)
		if (out[0][i] != 3 * i)
			return 14;
	if (waitpid(pid, &status, 0) != pid || status)
		return 15;
	if (do_ioctl(fd, COLL_IOC_STATUS, &s) || s.posted != 2 || s.rank != 0)
		return 16;
	if (do_ioctl(fd, COLL_IOC_REGISTER, &r) || !r.id)
		return 17;
	return refused(fd);
}
