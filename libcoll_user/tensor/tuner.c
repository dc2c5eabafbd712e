// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The first name that is posted a second time is the anchor: a step begins with each of its posts.
 * A step ends when the next one begins. So the time of a step includes what the program computes,
 * and shows what fusion is worth to the program.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "kernel.h"
#include "name.h"
#include "optable.h"
#include "text.h"
#include "tune.h"
#include "tuner.h"

/* An anchor that has not been posted again after this many posts is dropped. */
#define POSTS_MAX	65536
/* Names that are remembered while there is no anchor. */
#define NAMES		1024

/* The initial setting of the kernel: see struct coll_tensor_fuse. */
static const struct tune_point first = { 4 << 20, COLL_TENSOR_FUSE_MAX };

/**
 * struct tuner - the search of a communicator
 * @tune: the search
 * @log: a line for each step; or NULL
 * @began: when this step began, in seconds
 * @bytes: of this step, of what can be fused
 * @posts: of this step
 * @anchor: the name that begins a step; "": none has come twice
 * @names: digests of names that have come, each at the place that its digest says
 */
struct tuner {
	struct tune tune;
	FILE *log;
	double began;
	uint64_t bytes;
	uint32_t posts;
	char anchor[COLL_TENSOR_NAME_MAX + 1];
	uint64_t names[NAMES];
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int open_log(struct tuner *t)
{
	const char *name = env_get("COLL_TENSOR_TUNE_LOG");
	struct stat st;
	int err;

	if (!name)
		return 0;
	/* Other communicators may write to it as well, also of other processes. */
	t->log = fopen(name, "ae");
	if (!t->log) {
		err = errno;
		tensor_explain("COLL_TENSOR_TUNE_LOG: %s: %s", name, strerror(err));
		return -err;
	}
	if (!fstat(fileno(t->log), &st) && !st.st_size)
		fprintf(t->log, "step,seconds,bytes,phase,threshold,most,best_threshold,best_most,"
			"process\n");
	/* A forked child closes its copy: nothing may be left for it to write. */
	fflush(t->log);
	return 0;
}

int tuner_new(const coll_comm_t *comm, struct tuner **out)
{
	uint32_t on = 0, steps = 0;
	struct tuner *t;
	int ret;

	*out = NULL;
	ret = env_u32("COLL_TENSOR_TUNE", 0, 1, &on);
	if (ret != -EINVAL)
		ret = env_u32("COLL_TENSOR_TUNE_STEPS", 0, UINT32_MAX, &steps);
	if (ret == -EINVAL) {
		tensor_explain("%s", coll_init_error());
		return ret;
	}
	if (!on || comm->rank)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	tune_init(&t->tune, first, steps);
	ret = open_log(t);
	if (ret)
		free(t);
	else
		*out = t;
	return ret;
}

void tuner_free(struct tuner *t)
{
	if (!t)
		return;
	if (t->log)
		fclose(t->log);
	free(t);
}

static void write_log(struct tuner *t, double seconds)
{
	const struct tune *s = &t->tune;
	uint64_t us;

	if (!t->log)
		return;
	/* Whole numbers: "%f" would write a comma in some locales. */
	us = (uint64_t)(seconds * 1e6 + 0.5);
	fprintf(t->log, "%" PRIu64 ",%" PRIu64 ".%06" PRIu64 ",%" PRIu64 ",%s,%" PRIu64 ",%u,%"
		PRIu64 ",%u,%ld\n", s->steps, us / 1000000, us % 1000000, t->bytes,
		tune_phase_name(s->phase), s->now.threshold, s->now.most, s->best.threshold,
		s->best.most, (long)getpid());
	fflush(t->log);
}

static void begin(struct tuner *t, const char *name, double when)
{
	memcpy(t->anchor, name, strlen(name) + 1);
	t->began = when;
	t->bytes = 0;
	t->posts = 0;
}

/* A step has ended at @when: the kernel gets the setting of the next one. */
static void end(coll_tensors_t *ts, double when)
{
	struct tuner *t = ts->tuner;
	double seconds = when - t->began;

	write_log(t, seconds);
	if (tune_step(&t->tune, seconds, (double)t->bytes))
		tensors_set_fusion(ts->comm, t->tune.now.threshold, t->tune.now.most);
}

/* Has this name been posted before? Remember the name. */
static bool has_come(struct tuner *t, const char *name)
{
	uint64_t h = tensor_digest_name(0, name), *place = &t->names[h % NAMES];
	bool come = *place == h;

	*place = h;
	return come;
}

void tuner_see(coll_tensors_t *ts, const coll_tensor_t *tensor)
{
	const struct coll_cmd *c = &tensor->spec.cmd;
	struct tuner *t = ts->tuner;
	double when;

	if (tensor->joins)
		return;
	if (t->posts == POSTS_MAX) {
		begin(t, "", 0);
		memset(t->names, 0, sizeof(t->names));
	}
	if (*t->anchor ? !strcmp(t->anchor, tensor->name) : has_come(t, tensor->name)) {
		when = now();
		if (*t->anchor)
			end(ts, when);
		begin(t, tensor->name, when);
	}
	t->posts++;
	/* What can be fused. */
	if (c->collective == COLL_ALLREDUCE || c->collective == COLL_ALLGATHER)
		t->bytes += c->count * coll_dtype_size(c->dtype);
}
