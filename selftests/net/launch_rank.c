// SPDX-License-Identifier: GPL-2.0
/*
 * A rank whose ranks meet by coll_config.exchange, over files.
 *
 * usage: launch_rank DIRECTORY RANK SIZE [KEY]		twice in a row; prints "ok"
 *	  launch_rank DIRECTORY RANK SIZE --fail	the exchange fails
 *	  launch_rank DIRECTORY RANK SIZE --garble	the exchange brings something else
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coll/coll.h>

static const char *dir, *mode = "";
static uint32_t rank, size, serial;

static void name(char *path, size_t len, const char *kind, uint32_t of)
{
	snprintf(path, len, "%s/%s.%u.%u", dir, kind, serial, of);
}

static int put(const void *data, size_t len)
{
	char temporary[256], path[256];
	int fd, ret;

	name(temporary, sizeof(temporary), "new", rank);
	name(path, sizeof(path), "blob", rank);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return -errno;
	ret = write(fd, data, len) == (ssize_t)len ? 0 : -EIO;
	close(fd);
	if (!ret && rename(temporary, path))
		ret = -errno;
	return ret;
}

static int get(uint32_t of, void *data, size_t len, uint32_t timeout_ms)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	char path[256];
	int fd, ret;

	name(path, sizeof(path), "blob", of);
	while ((fd = open(path, O_RDONLY)) < 0) {
		if (!timeout_ms--)
			return -ETIMEDOUT;
		nanosleep(&nap, NULL);
	}
	ret = read(fd, data, len) == (ssize_t)len ? 0 : -EIO;
	close(fd);
	return ret;
}

static int exchange(void *ctx, const void *mine, void *all, size_t len, uint32_t timeout_ms)
{
	uint32_t r;
	int ret;

	if (ctx != &serial || !timeout_ms)
		return -EINVAL;
	if (!strcmp(mode, "--fail"))
		return -ENETDOWN;
	serial++;
	ret = put(mine, len);
	for (r = 0; r < size && !ret; r++)
		ret = get(r, (char *)all + r * len, len, timeout_ms);
	if (!strcmp(mode, "--garble"))
		memset(all, 0x5a, len);
	return ret;
}

static int once(void)
{
	struct coll_config cfg;
	int64_t one = 1, sum = 0;
	coll_comm_t *comm;
	int ret;

	coll_config_init(&cfg);
	cfg.rank = rank;
	cfg.size = size;
	cfg.timeout_ms = 30000;
	cfg.node = getenv("COLL_NODE");
	cfg.key = *mode && *mode != '-' ? mode : NULL;
	cfg.exchange = exchange;
	cfg.exchange_ctx = &serial;
	ret = coll_init(&cfg, &comm);
	if (ret) {
		printf("error %d: %s\n", ret, coll_last_error());
		return 1;
	}
	ret = coll_allreduce(comm, &one, &sum, 1, COLL_I64, COLL_OP_SUM);
	coll_finalize(comm);
	if (!ret && sum == size)
		return 0;
	printf("error %d, sum %lld\n", ret, (long long)sum);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	dir = argv[1];
	rank = (uint32_t)atoi(argv[2]);
	size = (uint32_t)atoi(argv[3]);
	if (argc > 4)
		mode = argv[4];
	if (once() || once())
		return 1;
	printf("ok\n");
	return 0;
}
