/* SPDX-License-Identifier: GPL-2.0 */
/* Ranks that post by io_uring, with memory that is registered with their ring. */
#ifndef COLL_SELFTESTS_FIXED_H
#define COLL_SELFTESTS_FIXED_H

#include <stddef.h>
#include <stdint.h>

#include "raw.h"
#include "ring.h"

/**
 * struct fixed - one rank
 * @fd: its file
 * @ring: its ring
 * @mem: its memory, buffer 0 of the ring
 * @view: the same pages at another address, or @mem
 * @bytes: of @mem
 * @cmd: the command to post
 */
struct fixed {
	int fd;
	struct io_uring ring;
	char *mem;
	char *view;
	size_t bytes;
	struct coll_cmd cmd;
};

/* Make the ring, by IORING_SETUP_* of @setup, and register new memory. Return: 0 or -errno. */
int fixed_init(struct fixed *f, int fd, size_t bytes, unsigned int setup);
void fixed_exit(struct fixed *f);
/* Register @mem. Return: 0 or -errno. */
int fixed_register(struct fixed *f);

/* The SQE of @cmd, with buffer @index of the ring. */
struct io_uring_sqe *fixed_sqe(struct fixed *f, unsigned int index);
/* Post fixed_sqe(). Return: 0 or -errno. */
int fixed_post(struct fixed *f, unsigned int index);
/* Wait 20 seconds for the result of a command. Return: the result, or -ETIME. */
int fixed_result(struct fixed *f);
/* Post the commands of all ranks and wait for them. Return: 0, or the first error. */
int fixed_run(struct fixed *f, uint32_t size);

/* Write the i32 input of @rank at offset @at. */
void fixed_fill(struct fixed *f, uint32_t rank, size_t at, uint64_t count);
/* Count the elements at offset @at that are not the sum over all ranks. */
uint64_t fixed_wrong(const struct fixed *f, uint32_t size, size_t at, uint64_t count);
/*
 * Run an allreduce, from offset @in to offset @out of each rank. Return: 0, the first error, or
 * the number of wrong elements.
 */
int64_t fixed_sum(struct fixed *f, uint32_t size, size_t in, size_t out, uint64_t count);

#endif /* COLL_SELFTESTS_FIXED_H */
