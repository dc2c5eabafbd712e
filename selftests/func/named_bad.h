/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two ranks and a named collective that is right, from which each case of a test differs in one
 * thing. After each test the name is free, and the communicator is as it was.
 */
#ifndef NAMED_BAD_H
#define NAMED_BAD_H

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "harness.h"
#include "raw.h"

#define SECOND	1000000000ULL

FIXTURE(named_bad) {
	struct raw_comm c;
	int32_t in[8], out[8];
	struct coll_cmd cmd;
	struct coll_tensor t;
	struct coll_tensor_post p;
	struct coll_tensor_result res[4];
	struct coll_tensor_wait w;
	void *hole;
};

FIXTURE_VARIANT(named_bad) {
	uint32_t nodes;
};

FIXTURE_VARIANT_ADD(named_bad, one_node) { .nodes = 1 };
FIXTURE_VARIANT_ADD(named_bad, two_nodes) { .nodes = 2 };

/* A right one, from which each case differs in one thing. */
static inline void make(FIXTURE_DATA(named_bad) *self)
{
	raw_allreduce(&self->cmd, self->in, self->out, 8, COLL_I32, COLL_OP_SUM);
	self->cmd.timeout_ns = 20 * SECOND;
	raw_tensor(&self->t, "right", &self->cmd, 1);
	self->p = (struct coll_tensor_post){
		.tensors = (uintptr_t)&self->t,
		.nr = 1,
		.size = sizeof(self->t),
	};
	self->w = (struct coll_tensor_wait){
		.results = (uintptr_t)self->res,
		.nr = 4,
	};
}

static inline int post(FIXTURE_DATA(named_bad) *self)
{
	return ioctl(self->c.fd[0], COLL_IOC_TENSOR_POST, &self->p) ? errno : 0;
}

static inline int wait_for(FIXTURE_DATA(named_bad) *self)
{
	return ioctl(self->c.fd[0], COLL_IOC_TENSOR_WAIT, &self->w) ? errno : 0;
}

FIXTURE_SETUP(named_bad)
{
	ASSERT_EQ(0, raw_start_named(&self->c, 2, variant->nodes));
	self->hole = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->hole);
	make(self);
}

/* After each refusal the name is free, and the communicator is as it was. */
FIXTURE_TEARDOWN(named_bad)
{
	uint32_t r;

	make(self);
	for (r = 0; r < 2; r++)
		EXPECT_EQ(0, raw_post(self->c.fd[r], &self->t, 1, NULL));
	for (r = 0; r < 2; r++) {
		EXPECT_EQ(1, raw_collect(self->c.fd[r], self->res, 4, 1, 10 * SECOND));
		EXPECT_EQ(0, self->res[0].result);
		EXPECT_EQ(0, raw_collect(self->c.fd[r], self->res, 4, 0, 0));
	}
	raw_stop(&self->c);
}

#define REFUSED(error, ...) do {				\
	make(self);						\
	__VA_ARGS__;						\
	EXPECT_EQ(error, post(self)) { TH_LOG("%s", #__VA_ARGS__); }	\
	EXPECT_EQ(0, self->p.posted);				\
} while (0)

#endif /* NAMED_BAD_H */
