// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Named tensors: posts, results in any order, callbacks, threads and errors, over a kernel
 * made up here that ends tensors in a random order.
 *
 * usage: test_tensor [SEED]
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/relax.h"
#include "comm/buffers.h"
#include "setup/split.h"
#include "tensor/kernel.h"
#include "tensor/tensors.h"
#include "tap.h"

#define MANY	200
#define THREADS	8

/* --- a kernel ---------------------------------------------------------------- */

/**
 * struct kernel - what has been posted and has not been collected
 * @hold: nothing ends meanwhile
 * @fusions: how often it was told what to fuse
 * @refuse: the post of this name is refused with @error
 * @broken: collecting fails with this error; 0: it does not fail
 * @separate: it cannot post and collect in one call
 * @both: calls that did both
 * @next: the next result to be told is this one, but for its tag
 * @told: digest of the last group that could not be posted at all
 * @nr_told: number of tensors in the post of that group
 */
static struct kernel {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct {
		uint64_t tag;
		char name[COLL_TENSOR_NAME_MAX + 1];
		struct coll_cmd cmd;
		struct coll_tensor post;
	} posted[THREADS * MANY];
	uint32_t nr;
	uint64_t lots;
	uint64_t calls, posts, fusions;
	bool hold, separate, whole;
	uint64_t both;
	const char *refuse;
	int error, broken;
	struct coll_tensor_result next;
	struct coll_tensor last;
	struct coll_cmd last_cmd;
	uint64_t told;
	uint32_t nr_told;
} kernel = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static atomic_int aborted, finalized;

static uint32_t draw(uint32_t n)
{
	return below(&kernel.lots, n);
}

static int post(const struct coll_tensor *t)
{
	/* A join has none. */
	const char *name = t->name_len ? (const char *)(uintptr_t)t->name : "";
	uint32_t k;

	if (t->name_len && !t->cmd)
		return -EINVAL;
	if (kernel.refuse && !strcmp(kernel.refuse, name))
		return kernel.error;
	for (k = 0; k < kernel.nr; k++)
		if (!strcmp(kernel.posted[k].name, name))
			return -EEXIST;
	memcpy(kernel.posted[kernel.nr].name, name, t->name_len);
	kernel.posted[kernel.nr].name[t->name_len] = 0;
	kernel.posted[kernel.nr++].tag = t->tag;
	kernel.last = *t;
	if (t->cmd_len)
		memcpy(&kernel.last_cmd, (const void *)(uintptr_t)t->cmd, t->cmd_len);
	return 0;
}

int tensors_post(coll_comm_t *comm, const struct coll_tensor *tensors, uint32_t nr,
		 uint32_t *posted)
{
	int ret = 0;

	pthread_mutex_lock(&kernel.lock);
	kernel.calls++;
	if (nr && tensors->group && !tensors->cmd) {
		kernel.told = tensors->group;
		kernel.nr_told = nr;
	}
	for (*posted = 0; *posted < nr && !ret; ) {
		ret = post(&tensors[*posted]);
		*posted += !ret;
	}
	kernel.posts += *posted;
	pthread_cond_broadcast(&kernel.changed);
	pthread_mutex_unlock(&kernel.lock);
	return ret;
}

int tensors_set_fusion(coll_comm_t *comm, uint64_t threshold, uint32_t most)
{
	kernel.fusions += most > 0;
	return 0;
}

int tensors_collect(coll_comm_t *comm, struct coll_tensor_result *to, uint32_t nr,
		    uint64_t ns)
{
	uint64_t start = relax_now_ns();
	uint32_t got = 0, k;
	bool late = false;

	pthread_mutex_lock(&kernel.lock);
	while (ns && kernel.hold && kernel.nr && !kernel.broken && !late) {
		/* looks again every millisecond */
		pthread_mutex_unlock(&kernel.lock);
		usleep(1000);
		pthread_mutex_lock(&kernel.lock);
		late = !relax_left_ns(start, ns);
	}
	while (!kernel.hold && !kernel.broken && kernel.nr && got < nr &&
	       (!got || kernel.whole || draw(4))) {
		k = draw(kernel.nr);
		to[got] = kernel.next;
		to[got++].tag = kernel.posted[k].tag;
		kernel.next = (struct coll_tensor_result){ 0 };
		kernel.posted[k] = kernel.posted[--kernel.nr];
	}
	pthread_mutex_unlock(&kernel.lock);
	if (!kernel.broken && !got && late)
		return -ETIMEDOUT;
	return kernel.broken ? kernel.broken : (int)got;
}

bool tensors_can_post_collect(const coll_comm_t *comm)
{
	return !kernel.separate;
}

int tensors_post_collect(coll_comm_t *comm, const struct coll_tensor *tensor, uint32_t *posted,
			 struct coll_tensor_result *to, uint32_t nr)
{
	int ret = tensors_post(comm, tensor, 1, posted);

	__atomic_add_fetch(&kernel.both, 1, __ATOMIC_RELAXED);
	return *posted ? tensors_collect(comm, to, nr, TENSORS_FOREVER) : ret;
}

static void hold(bool on)
{
	pthread_mutex_lock(&kernel.lock);
	kernel.hold = on;
	pthread_cond_broadcast(&kernel.changed);
	pthread_mutex_unlock(&kernel.lock);
}

/* --- the rest of the library --------------------------------------------------- */

uint32_t coll_comm_rank(const coll_comm_t *comm)
{
	return comm->rank;
}

void buffers_apply(coll_comm_t *comm, struct coll_cmd *cmd)
{
}

uint64_t buffers_as_of(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	return 0;
}

void buffers_renew(coll_comm_t *comm, struct coll_cmd *cmd, uint64_t *as_of)
{
}

int coll_submit(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	return -EOPNOTSUPP;
}

int coll_isubmit(coll_comm_t *comm, const struct coll_cmd *cmd, coll_request_t **req)
{
	return -EOPNOTSUPP;
}

int coll_persist(coll_comm_t *comm, const struct coll_cmd *cmd, coll_request_t **req)
{
	return -EOPNOTSUPP;
}

int coll_abort(coll_comm_t *comm, uint32_t code)
{
	aborted++;
	return 0;
}

int coll_init(const struct coll_config *cfg, coll_comm_t **comm)
{
	*comm = calloc(1, sizeof(**comm));
	return *comm ? 0 : -ENOMEM;
}

int coll_finalize(coll_comm_t *comm)
{
	finalized += !!comm;
	free(comm);
	return 0;
}

int split_named(coll_comm_t *comm, int status, coll_comm_t **newcomm)
{
	return status ? status : coll_init(NULL, newcomm);
}

int coll_comm_split(coll_comm_t *comm, int32_t color, int32_t key, coll_comm_t **newcomm)
{
	return coll_init(NULL, newcomm);
}

/* --- tests -------------------------------------------------------------------- */

static coll_tensors_t *start(uint32_t flags)
{
	coll_tensors_t *ts;

	kernel.nr = 0;
	kernel.posts = 0;
	kernel.hold = false;
	kernel.refuse = NULL;
	kernel.broken = 0;
	if (coll_tensors_init(NULL, flags, &ts))
		exit(2);
	return ts;
}

static void stop(coll_tensors_t *ts, const char *name)
{
	int before = finalized;

	ok(!coll_tensors_finalize(ts) && finalized == before + 2, name);
}

/* Did the last post ask for this? */
static bool last_is(uint16_t collective, const char *name, uint64_t count)
{
	return kernel.last_cmd.collective == collective && kernel.last_cmd.count == count &&
	       kernel.last.name_len == strlen(name) &&
	       kernel.last.cmd_len == sizeof(struct coll_cmd);
}

static void test_forms(void)
{
	coll_tensors_t *ts = start(0);
	uint64_t counts[1] = { 5 };
	float x[8], y[8];

	ok(!coll_tensor_allreduce(ts, "a", x, y, 5, COLL_F32, COLL_OP_SUM, NULL) &&
	   last_is(COLL_ALLREDUCE, "a", 5), "allreduce by name");
	ok(!coll_tensor_broadcast(ts, "bb", x, 6, COLL_F32, 0, NULL) &&
	   last_is(COLL_BROADCAST, "bb", 6), "broadcast by name");
	ok(!coll_tensor_allgather(ts, "c", x, y, 7, COLL_F32, NULL) &&
	   last_is(COLL_ALLGATHER, "c", 7), "allgather by name");
	ok(!coll_tensor_allgatherv(ts, "c", x, y, counts, NULL, COLL_F32, NULL) &&
	   last_is(COLL_ALLGATHERV, "c", 0) && kernel.last_cmd.counts_addr == (uintptr_t)counts,
	   "allgatherv by name");
	ok(!coll_tensor_alltoall(ts, "d", x, y, 8, COLL_F32, NULL) &&
	   last_is(COLL_ALLTOALL, "d", 8), "alltoall by name");
	ok(!coll_tensor_reduce_scatter(ts, "e", x, y, counts, COLL_F32, COLL_OP_MAX, NULL) &&
	   last_is(COLL_REDUCE_SCATTER, "e", 0) && kernel.last_cmd.op == COLL_OP_MAX,
	   "reduce_scatter by name");
	ok(!coll_tensor_reduce_scatter_block(ts, "e", x, y, 3, COLL_F32, COLL_OP_MIN, NULL) &&
	   last_is(COLL_REDUCE_SCATTER_BLOCK, "e", 3), "reduce_scatter_block by name");
	ok(!coll_tensor_barrier(ts, "f", NULL) && last_is(COLL_BARRIER, "f", 0),
	   "barrier by name");
	ok(coll_tensor_allreduce(ts, "a", x, y, 5, COLL_F32, COLL_OP_PREMULSUM, NULL) == -EINVAL &&
	   kernel.posts == 8, "a factor has no place in a call by name");
	stop(ts, "finalize after calls by name");
}

static void make_specs(struct coll_tensor_spec *specs, char (*names)[24], size_t n)
{
	size_t k;

	for (k = 0; k < n; k++) {
		snprintf(names[k], sizeof(names[k]), "grad.%u", (uint32_t)k);
		coll_tensor_spec_init(&specs[k], names[k]);
	}
}

static struct coll_tensor_spec specs[MANY];
static char names[MANY][24];
static coll_tensor_t *tensors[MANY];

static void test_many(void)
{
	coll_tensors_t *ts = start(0);
	size_t posted, k, index, seen = 0;
	bool once = true, got[MANY] = { false };
	uint64_t calls = kernel.calls;

	make_specs(specs, names, MANY);
	ok(!coll_tensor_submitall(ts, specs, MANY, tensors, &posted) && posted == MANY &&
	   kernel.calls == calls + 1, "many posted in one call");
	ok(!coll_tensor_waitall(tensors, MANY) && !kernel.nr && !ts->all,
	   "all of them end, in any order");
	coll_tensor_submitall(ts, specs, MANY, tensors, NULL);
	for (;;) {
		if (coll_tensor_waitany(tensors, MANY, &index) || index == COLL_TENSOR_NONE)
			break;
		once &= !got[index] && !tensors[index];
		got[index] = true;
		seen++;
	}
	ok(once && seen == MANY && index == COLL_TENSOR_NONE, "waitany tells each of them once");
	coll_tensor_submitall(ts, specs, MANY, tensors, NULL);
	for (k = 0; coll_tensors_poll(ts, 1) > 0; k++)
		;
	ok(!kernel.nr && k, "polling takes what is there");
	kernel.whole = true;
	coll_tensor_submitall(ts, specs, MANY, tensors, NULL);
	ok(!coll_tensors_poll(ts, 0), "polling once takes all that is there");
	kernel.whole = false;
	stop(ts, "finalize frees what nobody has waited for");
}

static coll_tensor_t *group_of(coll_tensors_t *ts, const char *name, double factor)
{
	struct coll_tensor_spec spec;
	coll_tensor_t *t = NULL;

	coll_tensor_spec_init(&spec, name);
	spec.prescale = factor;
	spec.postscale = 2 * factor;
	spec.flags = COLL_TENSOR_AVG_PRESENT;
	coll_tensor_create(ts, &spec, &t);
	return t;
}

/* Post a group of these. Return: its digest; 0: that has failed. */
static uint64_t digest(coll_tensor_t *a, coll_tensor_t *b, coll_tensor_t *c)
{
	coll_tensor_t *t[3] = { a, b, c };
	size_t n = c ? 3 : 2, posted;

	if (coll_tensor_postgroup(t, n, &posted) || posted != n || coll_tensor_waitall(t, n))
		return 0;
	return kernel.last.members == n ? kernel.last.group : 0;
}

static void test_groups(void)
{
	coll_tensors_t *ts = start(0), *more = NULL;
	coll_tensor_t *a = group_of(ts, "a", 1), *b = group_of(ts, "b", 0.5);
	coll_tensor_t *c = group_of(ts, "ab", 0), *t[2] = { a, b };
	uint64_t abc = digest(a, b, c), ab = digest(a, b, NULL), posts;
	double pre = 0.5, post = 1;
	size_t posted = 9;

	ok(abc && digest(b, c, a) == abc && digest(c, a, b) == abc,
	   "a group is the same in any order");
	ok(digest(a, b, NULL) && digest(a, b, NULL) != abc && digest(a, c, NULL) != abc &&
	   digest(a, c, NULL) != digest(a, b, NULL), "other groups have other digests");
	ok(kernel.last.flags == COLL_TENSOR_AVG_PRESENT && !memcmp(&kernel.last.prescale, &pre, 8) &&
	   !memcmp(&kernel.last.postscale, &post, 8), "factors and flags are passed on");
	posts = kernel.posts;
	ok(coll_tensor_postgroup(t, 0, &posted) == -EINVAL && !posted, "an empty group");
	t[1] = a;
	ok(coll_tensor_postgroup(t, 2, &posted) == -EINVAL && !posted && kernel.posts == posts,
	   "a member twice: nothing is posted");
	t[1] = b;
	hold(true);
	coll_tensor_post(b);
	posts = kernel.posts;
	ok(coll_tensor_postgroup(t, 2, &posted) == -EBUSY && !posted && kernel.posts == posts &&
	   !coll_tensor_wait(a), "a member that is posted: nothing is posted");
	ok(!kernel.nr_told, "and other ranks are not told");
	coll_tensors_create(ts->base, 0, &more);
	t[1] = group_of(more, "b", 0.5);
	ok(coll_tensor_postgroup(t, 2, &posted) == -EINVAL && !posted && kernel.posts == posts &&
	   kernel.nr_told == 2 && kernel.told == ab,
	   "a member of another communicator: the kernel is told, for the other ranks");
	coll_tensors_finalize(more);
	hold(false);
	ok(!coll_tensor_wait(b) && !coll_tensor_post(a) && !kernel.last.group &&
	   !kernel.last.members && !coll_tensor_wait(a), "it may be posted alone again");
	make_specs(specs, names, MANY);
	ok(!coll_tensor_submitgroup(ts, specs, MANY, tensors, &posted) && posted == MANY &&
	   kernel.last.members == MANY && !coll_tensor_waitall(tensors, MANY),
	   "a group is made and posted");
	kernel.nr_told = 0;
	specs[7].priority = COLL_TENSOR_PRIORITY_MAX + 1;
	ok(coll_tensor_submitgroup(ts, specs, MANY, tensors, &posted) == -EINVAL && !posted &&
	   kernel.nr_told == MANY && kernel.told == kernel.last.group,
	   "a member that cannot be made: the kernel is told");
	specs[7].priority = 0;
	kernel.refuse = "grad.5";
	kernel.error = -ENOMEM;
	ok(coll_tensor_submitgroup(ts, specs, MANY, tensors, &posted) == -ENOMEM && posted == 5 &&
	   tensors[4] && !tensors[5] && !coll_tensor_waitall(tensors, posted),
	   "a member is refused: those before it are there to be waited for");
	stop(ts, "finalize after groups");
}

static uint32_t joined_last;

static void on_join(coll_tensor_t *t, int result, void *arg)
{
	/* It has been written before. */
	*(int *)arg = result ? 1 : joined_last == 3 ? 2 : 3;
	if (coll_tensors_join(t->ts, NULL) != -EDEADLK)
		*(int *)arg = 4;
}

static void test_join(void)
{
	coll_tensors_t *ts = start(0);
	uint32_t last = 7;
	coll_tensor_t *t;
	int called = 0;

	kernel.next = (struct coll_tensor_result){ .rank = { 5, 0 } };
	ok(!coll_tensors_join(ts, &last) && last == 5 && kernel.last.flags == COLL_TENSOR_JOIN &&
	   !kernel.last.name_len && !kernel.last.cmd, "join tells which rank was the last one");
	kernel.next = (struct coll_tensor_result){ .result = -EHOSTDOWN, .rank = { 6, 0 } };
	ok(coll_tensors_join(ts, &last) == -EHOSTDOWN && last == 5,
	   "a join that fails tells no rank");
	kernel.next = (struct coll_tensor_result){ .rank = { 3, 0 } };
	ok(!coll_tensors_ijoin(ts, &joined_last, on_join, &called, &t) && !coll_tensor_wait(t) &&
	   called == 2, "a callback of a join");
	kernel.refuse = "";
	kernel.error = -EBUSY;
	ok(coll_tensors_ijoin(ts, NULL, NULL, NULL, &t) == -EBUSY && !t &&
	   strstr(coll_tensor_error(), "this rank has joined") && !ts->all,
	   "joining twice is refused, and leaves nothing");
	stop(ts, "finalize after joining");
}

/* An array of specs of a program that knows the first @size bytes of each. */
static void test_old_specs(coll_tensors_t *ts, size_t size)
{
	static const char *const older[] = { "older.0", "older.1", "older.2" };
	struct coll_tensor_spec spec, specs[3];
	coll_tensor_t *t[3];
	size_t k, posted;

	memset(specs, 0xff, sizeof(specs));
	for (k = 0; k < 3; k++) {
		coll_tensor_spec_init(&spec, older[k]);
		spec.struct_size = size;
		memcpy((char *)specs + k * size, &spec, size);
	}
	ok(!coll_tensor_submitall(ts, specs, 3, t, &posted) && posted == 3 &&
	   !strcmp(coll_tensor_name(t[2]), older[2]) && !coll_tensor_waitall(t, 3),
	   "an array of specs of an older program");
	ok(!coll_tensor_submitgroup(ts, specs, 3, t, &posted) && posted == 3 &&
	   !strcmp(coll_tensor_name(t[1]), older[1]) && !coll_tensor_waitall(t, 3),
	   "a group of them");
	for (k = 0; k < 3; k++)
		coll_tensor_spec_init(&specs[k], older[k]);
	specs[2].struct_size = size;
	ok(coll_tensor_submitall(ts, specs, 3, t, &posted) == -EINVAL && !posted &&
	   coll_tensor_submitgroup(ts, specs, 3, t, &posted) == -EINVAL && !posted,
	   "specs of two sizes");
}

/* A program that knows the first fields of a spec only. */
static void test_old_spec(void)
{
	const size_t v0 = offsetof(struct coll_tensor_spec, prescale);
	coll_tensors_t *ts = start(0);
	struct coll_tensor_spec spec;
	coll_tensor_t *t;

	coll_tensor_spec_init(&spec, "old");
	spec.struct_size = v0;
	memset((char *)&spec + v0, 0xff, sizeof(spec) - v0);
	ok(!coll_tensor_submit(ts, &spec, &t) && !coll_tensor_wait(t) && !kernel.last.flags &&
	   !kernel.last.prescale && !kernel.last.postscale, "a spec of an older program");
	test_old_specs(ts, v0);
	coll_tensor_spec_init(&spec, "flags");
	spec.flags = 1;
	ok(coll_tensor_submit(ts, &spec, &t) == -EINVAL, "flags that nobody knows");
	stop(ts, "finalize after old specs");
}

static void test_test(void)
{
	coll_tensors_t *ts = start(0);
	coll_tensor_t *t;
	int done = 5;

	hold(true);
	coll_tensor_barrier(ts, "late", &t);
	ok(!coll_tensor_test(t, &done) && !done, "test: not yet");
	ok(coll_tensor_barrier(ts, "late", &t) == -EEXIST && !t &&
	   strstr(coll_tensor_error(), "'late': this rank has posted that name already"),
	   "a name that is pending is refused");
	hold(false);
	coll_tensor_barrier(ts, "other", &t);
	while (!done && !coll_tensor_test(t, &done))
		;
	ok(done, "test: done");
	stop(ts, "finalize waits for what is pending");
}

static void test_made(void)
{
	coll_tensors_t *ts = start(0);
	coll_tensor_t *t, *shot;
	struct coll_tensor_spec spec;
	bool good = true;
	int k;

	coll_tensor_spec_init(&spec, "made");
	spec.priority = 7;
	spec.ndim = 2;
	spec.dims[0] = 3;
	spec.dims[1] = 4;
	ok(!coll_tensor_create(ts, &spec, &t) && !kernel.posts &&
	   !strcmp(coll_tensor_name(t), "made"), "a tensor is made, and not posted");
	ok(!coll_tensor_wait(t), "there is nothing to wait for");
	for (k = 0; k < 100; k++)
		good &= !coll_tensor_post(t) && !coll_tensor_wait(t);
	ok(good && kernel.posts == 100 && kernel.last.priority == 7 && kernel.last.ndim == 2 &&
	   kernel.last.dims[1] == 4, "it is posted 100 times");
	hold(true);
	coll_tensor_post(t);
	ok(coll_tensor_post(t) == -EBUSY && kernel.posts == 101, "not while it is posted");
	ok(coll_tensor_free(t) == -EBUSY, "nor freed then");
	coll_tensor_barrier(ts, "shot", &shot);
	ok(coll_tensor_free(shot) == -EINVAL && coll_tensor_post(shot) == -EINVAL,
	   "what a call has made is freed by waiting, and posted once");
	hold(false);
	ok(!coll_tensor_wait(t) && !coll_tensor_wait(shot) && !coll_tensor_free(t) && !ts->all,
	   "and freed after that");
	stop(ts, "finalize");
}

static bool bad(coll_tensors_t *ts, const struct coll_tensor_spec *spec, int err)
{
	coll_tensor_t *t = (void *)1;

	return coll_tensor_submit(ts, spec, &t) == err && !t && !ts->all && !kernel.posts &&
	       coll_tensor_create(ts, spec, &t) == err && !t && *coll_tensor_error();
}

/* Types between nodes: @what of @cmd is refused, and the text has @text. */
static void refuses(coll_tensors_t *ts, const struct coll_tensor_spec *spec, const char *text)
{
	ok(bad(ts, spec, -EINVAL) && strstr(coll_tensor_error(), text), text);
}

static void test_wire(coll_tensors_t *ts)
{
	struct coll_tensor_spec good, spec;
	float x[4] = { 0 };

	coll_tensor_spec_init(&good, "wire");
	coll_cmd_allreduce(ts->comm, &good.cmd, COLL_IN_PLACE, x, 4, COLL_F32, COLL_OP_SUM);
	good.wire = COLL_BF16;
	spec = good;
	spec.wire = COLL_F64;
	refuses(ts, &spec, "f16 or bf16");
	spec = good;
	spec.cmd.dtype = COLL_F64;
	refuses(ts, &spec, "only f32");
	spec = good;
	spec.cmd.op = COLL_OP_PROD;
	refuses(ts, &spec, "only sum, avg, min, max");
	spec = good;
	spec.cmd.collective = COLL_BROADCAST;
	refuses(ts, &spec, "only allreduce");
	spec = good;
	spec.cmd.algorithm = COLL_ALG_KNOMIAL | COLL_ALG_RADIX(3);
	refuses(ts, &spec, "in one place");
	spec.cmd.algorithm = COLL_ALG_TREE;
	spec.cmd.flags |= COLL_CMD_WIRE_F16;
	ok(!coll_tensor_submit(ts, &spec, &tensors[0]) && !coll_tensor_wait(tensors[0]) &&
	   (kernel.last_cmd.flags & COLL_CMD_WIRE) == COLL_CMD_WIRE_BF16,
	   "a type between nodes becomes a flag");
	ts->comm->wire = COLL_F16;
	coll_cmd_allreduce(ts->comm, &spec.cmd, COLL_IN_PLACE, x, 4, COLL_F32, COLL_OP_AVG);
	ok((spec.cmd.flags & COLL_CMD_WIRE) == COLL_CMD_WIRE_F16, "that of the communicator");
	coll_cmd_allreduce(ts->comm, &spec.cmd, COLL_IN_PLACE, x, 4, COLL_F64, COLL_OP_AVG);
	ok(!(spec.cmd.flags & COLL_CMD_WIRE), "but not where it cannot be");
	ts->comm->wire = COLL_DTYPE_NONE;
}

static void test_bad(void)
{
	coll_tensors_t *ts = start(0), *none;
	struct coll_tensor_spec good, spec;
	char name[COLL_TENSOR_NAME_MAX + 2];

	memset(name, 'n', sizeof(name));
	name[COLL_TENSOR_NAME_MAX + 1] = 0;
	coll_tensor_spec_init(&good, "good");
	spec = good;
	spec.name = "";
	ok(bad(ts, &spec, -EINVAL), "an empty name");
	spec.name = NULL;
	ok(bad(ts, &spec, -EINVAL), "no name");
	spec.name = name;
	ok(bad(ts, &spec, -EINVAL), "a name of 256 bytes");
	spec = good;
	spec.priority = COLL_TENSOR_PRIORITY_MAX + 1;
	ok(bad(ts, &spec, -EINVAL), "a priority out of range");
	spec = good;
	spec.ndim = COLL_TENSOR_DIMS + 1;
	ok(bad(ts, &spec, -EINVAL), "9 dimensions");
	spec = good;
	spec.ndim = 2;
	spec.dims[0] = spec.dims[1] = 1ULL << 32;
	ok(bad(ts, &spec, -EOVERFLOW), "a shape whose product overflows");
	spec = good;
	spec.struct_size++;
	ok(bad(ts, &spec, -EINVAL), "a larger struct");
	spec.struct_size = offsetof(struct coll_tensor_spec, prescale) - 1;
	ok(bad(ts, &spec, -EINVAL), "a smaller struct than any");
	test_wire(ts);
	ok(coll_tensor_submit(ts, &good, NULL) == -EINVAL && !ts->all,
	   "nobody waits, and there is no callback");
	ok(coll_tensors_create(ts->base, 1U << 31, &none) == -EINVAL && !none, "an unknown flag");
	name[COLL_TENSOR_NAME_MAX] = 0;
	ok(!coll_tensor_barrier(ts, name, NULL), "a name of 255 bytes is none too long");
	stop(ts, "finalize after bad input");
}

static void test_refused(void)
{
	coll_tensors_t *ts = start(0);
	bool rest = true;
	size_t posted, k;

	make_specs(specs, names, MANY);
	kernel.refuse = names[50];
	kernel.error = -ENOSPC;
	ok(coll_tensor_submitall(ts, specs, MANY, tensors, &posted) == -ENOSPC && posted == 50 &&
	   strstr(coll_tensor_error(), "'grad.50': too many names"),
	   "the first one that is refused ends the call");
	for (k = 50; k < MANY; k++)
		rest &= !tensors[k];
	ok(rest && !coll_tensor_waitall(tensors, MANY) && !ts->all,
	   "those before it are posted, those after it are not");
	for (k = 0; k < MANY; k++)
		coll_tensor_create(ts, &specs[k], &tensors[k]);
	ok(coll_tensor_postall(tensors, MANY, &posted) == -ENOSPC && posted == 50,
	   "the same of tensors that have been made");
	kernel.refuse = NULL;
	ok(!coll_tensor_waitall(tensors, MANY) &&
	   !coll_tensor_postall(tensors, MANY, &posted) && posted == MANY &&
	   !coll_tensor_waitall(tensors, MANY), "which can be posted again");
	stop(ts, "finalize frees what has been made");
}

static bool told(coll_tensors_t *ts, struct coll_tensor_result how, const char *text)
{
	kernel.next = how;
	return coll_tensor_barrier(ts, "w", NULL) == how.result &&
	       !strcmp(coll_tensor_error(), text);
}

static void test_texts(void)
{
	coll_tensors_t *ts = start(0);

	ok(told(ts, (struct coll_tensor_result){ .result = -EBADE, .cause = COLL_BAD_MISMATCH,
		.field = COLL_FIELD_DTYPE, .rank = { 0, 2 }, .value = { COLL_F32, COLL_F64 } },
		"tensor 'w': the ranks disagree about the type: f32 on rank 0, f64 on rank 2"),
	   "text: types differ");
	ok(told(ts, (struct coll_tensor_result){ .result = -EBADE, .cause = COLL_BAD_MISMATCH,
		.field = COLL_FIELD_DIM0 + 1, .rank = { 1, 3 }, .value = { 17, 23 } },
		"tensor 'w': the ranks disagree about dimension 1: 17 on rank 1, 23 on rank 3"),
	   "text: shapes differ");
	ok(told(ts, (struct coll_tensor_result){ .result = -EBADE, .cause = COLL_BAD_MISMATCH,
		.field = 999, .rank = { 1, 3 }, .value = { 17, 23 } },
		"tensor 'w': the ranks disagree about something: 17 on rank 1, 23 on rank 3"),
	   "text: a field that this library does not know");
	ok(told(ts, (struct coll_tensor_result){ .result = -ETIMEDOUT, .cause = COLL_BAD_TIMEOUT,
		.rank = { 1, COLL_RANK_NONE } },
		"tensor 'w': the deadline of rank 1 passed before all ranks had posted it"),
	   "text: a deadline");
	ok(told(ts, (struct coll_tensor_result){ .result = -EHOSTDOWN },
		"tensor 'w': a rank or its host is dead"), "text: a dead rank");
	stop(ts, "finalize after errors");
}

/* --- callbacks and threads ------------------------------------------------------ */

static struct {
	atomic_int calls;
	atomic_int again;
	pthread_t caller;
	int wait, result;
	char text[128];
} back;

static void callback(coll_tensor_t *t, int result, void *arg)
{
	coll_tensors_t *ts = arg;

	back.calls++;
	back.caller = pthread_self();
	back.result = result;
	snprintf(back.text, sizeof(back.text), "%s", result ? coll_tensor_error() : "");
	back.wait = coll_tensor_wait(t);
	if (coll_tensors_finalize(ts) != -EDEADLK || coll_tensors_poll(ts, 1) != -EDEADLK)
		back.wait = 0;
	if (back.again && back.again--)
		coll_tensor_post(t);
}

/* Wait up to 20 seconds until there is no tensor. */
static bool is_empty(coll_tensors_t *ts)
{
	bool empty = false;
	int k;

	for (k = 0; !empty && k < 20000; k++) {
		pthread_mutex_lock(&ts->lock);
		empty = !ts->all;
		pthread_mutex_unlock(&ts->lock);
		usleep(1000 * !empty);
	}
	return empty;
}

static void test_callbacks(uint32_t flags)
{
	coll_tensors_t *ts = start(flags);
	struct coll_tensor_spec spec;
	coll_tensor_t *t;
	bool inside;

	memset(&back, 0, sizeof(back));
	coll_tensor_spec_init(&spec, "call");
	spec.fn = callback;
	spec.arg = ts;
	hold(true);
	coll_tensor_submit(ts, &spec, &t);
	usleep(1000);
	ok(!back.calls, "a callback: not before the end");
	hold(false);
	ok(!coll_tensor_wait(t) && back.calls == 1 && back.wait == -EDEADLK,
	   "it is called once, and must not wait");
	inside = pthread_equal(back.caller, pthread_self());
	ok(inside == !(flags & COLL_TENSORS_THREAD), "by the thread that is said to call");
	kernel.next = (struct coll_tensor_result){ .result = -EHOSTDOWN };
	ok(!coll_tensor_submit(ts, &spec, NULL), "nobody waits but the callback");
	while (!flags && coll_tensors_poll(ts, 1) > 0)
		;
	while (back.calls < 2)
		usleep(100);
	ok(back.result == -EHOSTDOWN && !strcmp(back.text, "tensor 'call': a rank or its host is dead"),
	   "it is told error and text");
	ok(is_empty(ts), "the tensor that nobody waits for is freed then");
	coll_tensor_create(ts, &spec, &t);
	back.again = 9;
	coll_tensor_post(t);
	coll_tensor_wait(t);
	ok(back.calls == 12, "it may post the tensor again");
	ok(!coll_tensor_free(t), "and then it may be freed");
	coll_tensor_submit(ts, &spec, NULL);
	stop(ts, "finalize calls the callbacks of what was pending");
	ok(back.calls == 13, "it did");
}

/* Posts the second stage late: finalize would not have waited so long for nothing. */
static void first_stage(coll_tensor_t *t, int result, void *arg)
{
	coll_tensors_t *ts = arg;
	struct coll_tensor_spec spec;
	int k;

	back.calls++;
	for (k = 0; k < 100; k++) {
		usleep(1000);
		pthread_mutex_lock(&ts->lock);
		if (ts->stop)
			k = 100;
		pthread_mutex_unlock(&ts->lock);
	}
	coll_tensor_spec_init(&spec, "second");
	spec.fn = callback;
	spec.arg = ts;
	coll_tensor_submit(ts, &spec, NULL);
}

static void test_stages(uint32_t flags)
{
	coll_tensors_t *ts = start(flags);
	struct coll_tensor_spec spec;

	memset(&back, 0, sizeof(back));
	coll_tensor_spec_init(&spec, "first");
	spec.fn = first_stage;
	spec.arg = ts;
	coll_tensor_submit(ts, &spec, NULL);
	while (flags && !back.calls)
		usleep(100);
	stop(ts, "finalize during a callback");
	ok(back.calls == 2 && !kernel.nr, "what the callback posts ends, too");
}

/* In its callback a tensor is refused. It stays what it was. */
static void refused_again(coll_tensor_t *t, int result, void *arg)
{
	back.result = result;
	kernel.refuse = "call";
	kernel.error = -ENOMEM;
	back.wait = coll_tensor_post(t);
	kernel.refuse = NULL;
	back.again = -coll_tensor_free(t);
}

static void test_refused_again(uint32_t flags)
{
	coll_tensors_t *ts = start(flags);
	struct coll_tensor_spec spec;
	coll_tensor_t *t;

	memset(&back, 0, sizeof(back));
	coll_tensor_spec_init(&spec, "call");
	spec.fn = refused_again;
	coll_tensor_create(ts, &spec, &t);
	kernel.next = (struct coll_tensor_result){ .result = -EBADE };
	coll_tensor_post(t);
	ok(coll_tensor_wait(t) == -EBADE && back.result == -EBADE,
	   "a tensor that could not be posted again in its callback keeps its result");
	ok(back.wait == -ENOMEM && back.again == EBUSY, "it cannot be freed there");
	ok(!coll_tensor_free(t), "and can be afterwards");
	stop(ts, "finalize after a callback that was refused");
}

static void run_in_callback(coll_tensor_t *t, int result, void *arg)
{
	back.calls++;
	back.wait = coll_tensor_run(t);
	back.result = coll_tensor_barrier(t->ts, "inside", NULL);
}

/* A post and a wait in one call of the kernel, unless another thread takes the results. */
static void test_run(uint32_t flags, bool separate)
{
	coll_tensors_t *ts = start(flags);
	uint64_t both = kernel.both, one = !flags && !separate;
	struct coll_tensor_spec spec;
	coll_tensor_t *t, *shot;

	memset(&back, 0, sizeof(back));
	kernel.separate = separate;
	coll_tensor_spec_init(&spec, "run");
	coll_tensor_create(ts, &spec, &t);
	ok(!coll_tensor_run(t) && !coll_tensor_run(t) && kernel.posts == 2 &&
	   kernel.both == both + 2 * one, "a tensor is run twice");
	ok(!coll_tensor_barrier(ts, "name", NULL) && kernel.both == both + 3 * one,
	   "a blocking call by name");
	kernel.next = (struct coll_tensor_result){ .result = -EBADE };
	ok(coll_tensor_run(t) == -EBADE && !coll_tensor_run(t), "a result that is an error");
	kernel.refuse = "run";
	kernel.error = -ENOSPC;
	ok(coll_tensor_run(t) == -ENOSPC && *coll_tensor_error(), "a post that is refused");
	kernel.refuse = NULL;
	ok(!coll_tensor_run(t) && !coll_tensor_free(t), "and that is tried again");
	coll_tensor_barrier(ts, "shot", &shot);
	ok(coll_tensor_run(shot) == -EINVAL && coll_tensor_run(NULL) == -EINVAL &&
	   !coll_tensor_wait(shot), "what a call has made is not run");
	spec.fn = run_in_callback;
	coll_tensor_create(ts, &spec, &t);
	ok(!coll_tensor_run(t) && back.calls == 1 && back.wait == -EDEADLK &&
	   back.result == -EDEADLK && !kernel.nr, "a callback cannot run tensors");
	ok(!coll_tensor_free(t) && !ts->all, "nothing is left of that");
	kernel.separate = false;
	stop(ts, "finalize after runs");
}

/* Results of other tensors may come first. */
static void test_run_others(void)
{
	coll_tensors_t *ts = start(0);
	struct coll_tensor_spec spec;
	coll_tensor_t *t;

	make_specs(specs, names, MANY);
	coll_tensor_submitall(ts, specs, MANY, tensors, NULL);
	coll_tensor_spec_init(&spec, "run");
	coll_tensor_create(ts, &spec, &t);
	ok(!coll_tensor_run(t) && !coll_tensor_waitall(tensors, MANY) && !kernel.nr,
	   "a tensor is run while others are pending");
	kernel.broken = -EHOSTDOWN;
	aborted = 0;
	ok(coll_tensor_run(t) == -EHOSTDOWN && aborted && coll_tensor_run(t) == -EHOSTDOWN,
	   "the wait fails: no result will come");
	ok(!coll_tensor_free(t), "the tensor can be freed");
	stop(ts, "finalize after a failure");
}

static void *run_made(void *t)
{
	return (void *)(intptr_t)coll_tensor_run(t);
}

/* A tensor that another thread runs counts for coll_tensors_poll() and for finalize. */
static void test_run_counts(void)
{
	coll_tensors_t *ts = start(0);
	struct coll_tensor_spec spec;
	pthread_t other;
	coll_tensor_t *t;
	void *ret;
	int open;

	coll_tensor_spec_init(&spec, "run");
	coll_tensor_create(ts, &spec, &t);
	hold(true);
	pthread_create(&other, NULL, run_made, t);
	while (!__atomic_load_n(&kernel.posts, __ATOMIC_RELAXED))
		usleep(100);
	open = coll_tensors_poll(ts, 0);
	hold(false);
	pthread_join(other, &ret);
	ok(!ret && open == 1 && !ts->open, "a tensor that another thread runs is open");
	ok(!coll_tensors_poll(ts, 1) && !coll_tensor_free(t), "and then it is not");
	stop(ts, "finalize after a run by another thread");
}

static void *runner(void *arg)
{
	struct coll_tensor_spec spec;
	coll_tensor_t *t;
	char name[32];
	int k, ret = 0;

	snprintf(name, sizeof(name), "%lx", (unsigned long)pthread_self());
	coll_tensor_spec_init(&spec, name);
	if (coll_tensor_create(arg, &spec, &t))
		return (void *)1;
	for (k = 0; k < MANY * 4 && !ret; k++)
		ret = coll_tensor_run(t);
	return (void *)(intptr_t)(ret ? ret : coll_tensor_free(t));
}

static void *waiter(void *t)
{
	return (void *)(intptr_t)coll_tensor_wait(t);
}

/* A thread waits for a limited time: alone, and while another thread takes the results. */
static void test_wait_for(uint32_t flags)
{
	const uint64_t ms = 1000000, start_ns = relax_now_ns();
	coll_tensors_t *ts = start(flags);
	coll_tensor_t *t[2];
	pthread_t other;
	int done = 1;
	void *ret;

	hold(true);
	ok(!coll_tensor_barrier(ts, "one", &t[0]) && !coll_tensor_barrier(ts, "two", &t[1]) &&
	   !coll_tensor_wait_for(t[0], 0, &done) && !done, "no time: it has not ended");
	ok(!coll_tensor_wait_for(t[0], 20 * ms, &done) && !done &&
	   relax_now_ns() - start_ns >= 20 * ms && !ts->broken, "the time passes");
	pthread_create(&other, NULL, waiter, t[0]);
	usleep(5000);
	ok(!coll_tensor_wait_for(t[1], 20 * ms, &done) && !done,
	   "the time passes while another thread waits without a limit");
	hold(false);
	ok(!coll_tensor_wait_for(t[1], 10000 * ms, &done) && done, "it ends in time");
	pthread_join(other, &ret);
	ok(!ret && !coll_tensor_wait_for(NULL, 1, &done) && done, "nothing: done");
	coll_tensor_barrier(ts, "three", &t[0]);
	ok(!coll_tensor_wait_for(t[0], UINT64_MAX, &done) && done, "no limit");
	stop(ts, "finalize after waits with a limit");
}

static void *poster(void *arg)
{
	coll_tensors_t *ts = arg;
	coll_tensor_t *t[4];
	char name[32];
	int k, i;

	for (k = 0; k < MANY; k++) {
		for (i = 0; i < 4; i++) {
			snprintf(name, sizeof(name), "%lx.%d", (unsigned long)pthread_self(), i);
			if (coll_tensor_barrier(ts, name, &t[i]))
				return (void *)1;
		}
		if (coll_tensor_waitall(t, 4))
			return (void *)1;
	}
	return NULL;
}

static void test_threads(uint32_t flags, void *(*body)(void *arg), const char *name)
{
	coll_tensors_t *ts = start(flags);
	pthread_t threads[THREADS];
	bool good = true;
	void *ret;
	int k;

	for (k = 0; k < THREADS; k++)
		pthread_create(&threads[k], NULL, body, ts);
	for (k = 0; k < THREADS; k++) {
		pthread_join(threads[k], &ret);
		good &= !ret;
	}
	ok(good && kernel.posts == THREADS * MANY * 4 && !ts->all && !ts->open, name);
	stop(ts, "finalize after threads");
}

/* Steps of three tensors: a setting for each of the tuner's steps, and a line in the log. */
static void test_tuner(const char *log)
{
	uint32_t k, i, lines = 0, errors = 0;
	coll_tensor_t *t[3];
	coll_comm_t base = { 0 };
	coll_tensors_t *ts;
	char name[32], line[256];
	float x[64];
	FILE *f;

	setenv("COLL_TENSOR_TUNE", "1", 1);
	setenv("COLL_TENSOR_TUNE_LOG", log, 1);
	ts = start(0);
	for (k = 0; k < 120; k++) {
		for (i = 0; i < 3; i++) {
			/* Some names are for once. */
			snprintf(name, sizeof(name), i ? "t%u" : "t%u.%u", (k + i) % 3, k);
			errors += !!coll_tensor_allreduce(ts, name, NULL, x, 64, COLL_F32,
							  COLL_OP_SUM, &t[i]);
		}
		errors += !!coll_tensor_waitall(t, 3);
	}
	ok(!errors && kernel.fusions > 3, "the tuner sets what is fused");
	stop(ts, "finalize with a tuner");
	f = fopen(log, "re");
	while (f && fgets(line, sizeof(line), f))
		lines++;
	if (f)
		fclose(f);
	/* The name that begins a step comes in every third round. */
	unlink(log);
	ok(lines == 79, "and logs a line for each step");
	setenv("COLL_TENSOR_TUNE", "yes", 1);
	ok(coll_tensors_create(&base, 0, &ts) == -EINVAL &&
	   strstr(coll_tensor_error(), "COLL_TENSOR_TUNE"), "a wrong variable is named");
	setenv("COLL_TENSOR_TUNE", "1", 1);
	setenv("COLL_TENSOR_TUNE_LOG", "/nowhere/log", 1);
	ok(coll_tensors_create(&base, 0, &ts) == -ENOENT &&
	   strstr(coll_tensor_error(), "/nowhere/log"), "and a log that cannot be written");
	unsetenv("COLL_TENSOR_TUNE");
	unsetenv("COLL_TENSOR_TUNE_LOG");
}

static void test_broken(uint32_t flags)
{
	coll_tensors_t *ts = start(flags);
	coll_tensor_t *t;

	hold(true);
	aborted = 0;
	make_specs(specs, names, MANY);
	coll_tensor_submitall(ts, specs, MANY, tensors, NULL);
	pthread_mutex_lock(&kernel.lock);
	kernel.broken = -EIO;
	pthread_cond_broadcast(&kernel.changed);
	pthread_mutex_unlock(&kernel.lock);
	ok(coll_tensor_waitall(tensors, MANY) == -EIO && aborted,
	   "no result can be had any more: all end");
	ok(coll_tensor_barrier(ts, "z", &t) == -EIO && !t, "and nothing can be posted");
	kernel.nr = 0;
	stop(ts, "finalize after that");
}

int main(int argc, char **argv)
{
	kernel.lots = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)getpid();
	printf("# test_tensor: seed %llu\n", (unsigned long long)kernel.lots);
	test_forms();
	test_many();
	test_test();
	test_groups();
	test_join();
	test_old_spec();
	test_made();
	test_bad();
	test_refused();
	test_texts();
	test_run(0, false);
	test_run(0, true);
	test_run(COLL_TENSORS_THREAD, false);
	test_run_others();
	test_run_counts();
	test_wait_for(0);
	test_wait_for(COLL_TENSORS_THREAD);
	test_callbacks(0);
	test_callbacks(COLL_TENSORS_THREAD);
	test_stages(0);
	test_stages(COLL_TENSORS_THREAD);
	test_refused_again(0);
	test_refused_again(COLL_TENSORS_THREAD);
	test_threads(0, poster, "8 threads post and wait");
	test_threads(COLL_TENSORS_THREAD, poster, "8 threads post and wait, one of the library takes results");
	test_threads(0, runner, "8 threads run tensors");
	test_threads(COLL_TENSORS_THREAD, runner, "8 threads run tensors, one of the library takes results");
	test_broken(0);
	test_broken(COLL_TENSORS_THREAD);
	test_tuner("/dev/shm/test_tensor.log");
	return ok_done();
}
