// SPDX-License-Identifier: GPL-2.0
/*
 * usage: tensor_rank orders|forms|unregistered|errors|threads|sets|names|left|stall|kill SEED [STEPS]
 *
 * Named tensors by the library, one of any number of ranks. All ranks get the same SEED. Rank 0
 * prints a line with what was done; status 0: 0 wrong.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coll/tensor.h>

#define NAMES	200
#define ROOM	4096
#define THREADS	4

static coll_tensors_t *ts;
static uint32_t me, size;
static uint64_t seed;
static uint32_t steps;
static uint64_t wrong;

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint32_t below(uint64_t *lots, uint32_t n)
{
	*lots = mix(*lots);
	return (uint32_t)(*lots >> 16) % n;
}

/* Say what is wrong, and count it. */
static void __attribute__((format(printf, 2, 3))) check(int good, const char *fmt, ...)
{
	va_list ap;

	if (good)
		return;
	wrong++;
	va_start(ap, fmt);
	fprintf(stderr, "rank %u, seed %llu: ", me, (unsigned long long)seed);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, " (%s)\n", coll_tensor_error());
	va_end(ap);
}

/* --- orders ------------------------------------------------------------------- */

enum { ALLREDUCE, BROADCAST, ALLGATHER, ALLGATHERV, ALLTOALL, REDUCE_SCATTER, BLOCKS, BARRIER,
	NR_FORMS };

/**
 * struct work - tensor @k in step @step
 * @counts: of the forms that have them
 */
struct work {
	coll_tensor_t *t;
	char name[24];
	uint32_t k, step;
	uint64_t counts[64];
	int32_t in[ROOM], out[ROOM];
};

static struct work works[NAMES];

static int32_t value(const struct work *w, uint32_t rank, uint64_t i)
{
	return (int32_t)(mix(seed + w->k * 7919 + w->step * 104729 + rank * 31 + i) % 20001) - 10000;
}

static int32_t sum(const struct work *w, uint64_t i)
{
	int32_t all = 0;
	uint32_t r;

	for (r = 0; r < size; r++)
		all += value(w, r, i);
	return all;
}

/* The count of a rank, or of every rank. */
static uint64_t count_of(const struct work *w, uint32_t rank)
{
	uint32_t form = w->k % NR_FORMS;
	uint64_t n = mix(seed ^ (w->k << 8)) % (ROOM / size);

	return form == ALLGATHERV || form == REDUCE_SCATTER ? (n + rank * 17) % (ROOM / size) : n;
}

static uint64_t before(const struct work *w, uint32_t rank)
{
	uint64_t n = 0;
	uint32_t r;

	for (r = 0; r < rank; r++)
		n += count_of(w, r);
	return n;
}

static uint32_t root_of(const struct work *w)
{
	return (w->k + w->step) % size;
}

static int post(struct work *w)
{
	uint64_t n = count_of(w, 0);

	switch (w->k % NR_FORMS) {
	case ALLREDUCE:
		return coll_tensor_allreduce(ts, w->name, w->in, w->out, n, COLL_I32,
					     COLL_OP_SUM, &w->t);
	case BROADCAST:
		memcpy(w->out, w->in, n * 4);
		return coll_tensor_broadcast(ts, w->name, w->out, n, COLL_I32, root_of(w), &w->t);
	case ALLGATHER:
		return coll_tensor_allgather(ts, w->name, w->in, w->out, n, COLL_I32, &w->t);
	case ALLGATHERV:
		return coll_tensor_allgatherv(ts, w->name, w->in, w->out, w->counts, NULL,
					      COLL_I32, &w->t);
	case ALLTOALL:
		return coll_tensor_alltoall(ts, w->name, w->in, w->out, n, COLL_I32, &w->t);
	case REDUCE_SCATTER:
		return coll_tensor_reduce_scatter(ts, w->name, w->in, w->out, w->counts, COLL_I32,
						  COLL_OP_SUM, &w->t);
	case BLOCKS:
		return coll_tensor_reduce_scatter_block(ts, w->name, w->in, w->out, n, COLL_I32,
							COLL_OP_SUM, &w->t);
	default:
		return coll_tensor_barrier(ts, w->name, &w->t);
	}
}

static int32_t wanted(const struct work *w, uint64_t i)
{
	uint64_t n = count_of(w, 0);
	uint32_t r = 0;

	switch (w->k % NR_FORMS) {
	case ALLREDUCE:
		return sum(w, i);
	case BROADCAST:
		return value(w, root_of(w), i);
	case ALLGATHER:
		return value(w, (uint32_t)(i / n), i % n);
	case ALLGATHERV:
		while (i >= count_of(w, r))
			i -= count_of(w, r++);
		return value(w, r, i);
	case ALLTOALL:
		return value(w, (uint32_t)(i / n), me * n + i % n);
	case REDUCE_SCATTER:
		return sum(w, before(w, me) + i);
	default:
		return sum(w, me * n + i);
	}
}

static uint64_t results_of(const struct work *w)
{
	switch (w->k % NR_FORMS) {
	case BARRIER:
		return 0;
	case ALLGATHER:
	case ALLTOALL:
		return count_of(w, 0) * size;
	case ALLGATHERV:
		return before(w, size);
	case REDUCE_SCATTER:
		return count_of(w, me);
	default:
		return count_of(w, 0);
	}
}

static void prepare(struct work *w, uint32_t k, uint32_t step)
{
	uint32_t i;

	w->k = k;
	w->step = step;
	snprintf(w->name, sizeof(w->name), "layer%u.grad", k);
	for (i = 0; i < size; i++)
		w->counts[i] = count_of(w, i);
	for (i = 0; i < ROOM; i++) {
		w->in[i] = value(w, me, i);
		w->out[i] = -1;
	}
}

static void verify(const struct work *w)
{
	uint64_t i;

	for (i = 0; i < results_of(w); i++)
		if (w->out[i] != wanted(w, i)) {
			check(0, "step %u, %s, element %llu: %d, not %d", w->step, w->name,
			      (unsigned long long)i, w->out[i], wanted(w, i));
			return;
		}
}

static void shuffle(uint32_t *order, uint32_t n, uint64_t *lots)
{
	uint32_t k, o, t;

	for (k = 0; k < n; k++)
		order[k] = k;
	for (k = n; k > 1; k--) {
		o = below(lots, k);
		t = order[k - 1];
		order[k - 1] = order[o];
		order[o] = t;
	}
}

/* Wait for all tensors: by waitany, by wait all, or one by one in another order. */
static void wait_somehow(uint64_t *lots)
{
	coll_tensor_t *t[NAMES];
	uint32_t order[NAMES], k, how = below(lots, 3);
	size_t index;
	int ret = 0;

	for (k = 0; k < NAMES; k++)
		t[k] = works[k].t;
	if (how == 0) {
		ret = coll_tensor_waitall(t, NAMES);
	} else if (how == 1) {
		do {
			ret = coll_tensor_waitany(t, NAMES, &index);
		} while (!ret && index != COLL_TENSOR_NONE);
	} else {
		shuffle(order, NAMES, lots);
		for (k = 0; k < NAMES && !ret; k++)
			ret = coll_tensor_wait(t[order[k]]);
	}
	check(!ret, "wait, way %u: %s", how, coll_strerror(ret));
}

static void test_orders(void)
{
	uint64_t lots = mix(seed) + me;
	uint32_t order[NAMES], step, k;
	int ret = 0;

	for (step = 0; step < steps && !wrong; step++) {
		shuffle(order, NAMES, &lots);
		for (k = 0; k < NAMES; k++)
			prepare(&works[k], k, step);
		for (k = 0; k < NAMES && !ret; k++)
			ret = post(&works[order[k]]);
		check(!ret, "post: %s", coll_strerror(ret));
		if (!wrong)
			wait_somehow(&lots);
		for (k = 0; k < NAMES && !wrong; k++)
			verify(&works[k]);
	}
}

/* --- types, as Horovod's test of fused allreduces --------------------------------- */

static const struct { enum coll_dtype dtype; size_t bytes; } types[] = {
	{ COLL_U8, 1 }, { COLL_I8, 1 }, { COLL_I32, 4 }, { COLL_I64, 8 }, { COLL_F32, 4 },
	{ COLL_F64, 8 },
};

/* A small number, so that the sum of all ranks fits an i8. */
static int form_value(uint32_t rank, uint32_t k, uint32_t i)
{
	return (int)((i * 7 + rank * 3 + k) % 13);
}

/* A little-endian integer, or a float, of that type. */
static void form_set(uint8_t *at, uint32_t type, int value)
{
	memset(at, 0, types[type].bytes);
	if (types[type].dtype == COLL_F32)
		*(float *)at = (float)value;
	else if (types[type].dtype == COLL_F64)
		*(double *)at = value;
	else
		*at = (uint8_t)value;
}

static void test_forms(void)
{
	static uint8_t in[18][17 * 17 * 17 * 8], out[18][17 * 17 * 17 * 8];
	uint8_t want[8] __attribute__((aligned(8)));
	coll_tensor_t *t[18];
	uint32_t k, i, n, r;
	char name[32];
	int ret = 0, sum;

	for (k = 0; k < 18; k++) {
		n = k / 6 == 0 ? 17 : k / 6 == 1 ? 17 * 17 : 17 * 17 * 17;
		memset(out[k], 0xee, sizeof(out[k]));
		for (i = 0; i < n; i++)
			form_set(in[k] + i * types[k % 6].bytes, k % 6, form_value(me, k, i));
		snprintf(name, sizeof(name), "type%u", k);
		ret = ret ? ret : coll_tensor_allreduce(ts, name, in[k], out[k], n,
							types[k % 6].dtype, COLL_OP_SUM, &t[k]);
	}
	check(!ret, "post");
	ret = coll_tensor_waitall(t, ret ? 0 : 18);
	check(!ret, "wait");
	for (k = 0; k < 18; k++) {
		n = k / 6 == 0 ? 17 : k / 6 == 1 ? 17 * 17 : 17 * 17 * 17;
		for (i = 0; i < n; i++) {
			for (r = 0, sum = 0; r < size; r++)
				sum += form_value(r, k, i);
			form_set(want, k % 6, sum);
			check(!memcmp(out[k] + i * types[k % 6].bytes, want, types[k % 6].bytes),
			      "type %u, element %u", k % 6, i);
		}
	}
}

/* A tensor outlives the registration of its buffers. */
static void test_unregistered(void)
{
	coll_comm_t *comm = coll_tensors_comm(ts);
	uint64_t mem[2] = { me, 0 };
	struct coll_tensor_spec spec;
	coll_tensor_t *t;
	uint32_t id, i;
	int ret;

	check(!coll_register_buffer(comm, mem, sizeof(mem), COLL_REG_WRITE, &id), "register");
	coll_tensor_spec_init(&spec, "registered");
	coll_cmd_allreduce(comm, &spec.cmd, &mem[0], &mem[1], 1, COLL_U64, COLL_OP_SUM);
	check(!coll_tensor_create(ts, &spec, &t), "create");
	for (i = 0; i < 3; i++) {
		ret = coll_tensor_post(t);
		ret = ret ? ret : coll_tensor_wait(t);
		check(!ret, "post %u of registered memory: %s", i, coll_strerror(ret));
		check(mem[1] == (uint64_t)size * (size - 1) / 2, "sum in registered memory");
		mem[1] = 0;
		if (!i)
			check(!coll_unregister_buffer(comm, id), "unregister");
	}
	check(!coll_tensor_free(t), "free");
}

/* --- errors of one tensor --------------------------------------------------------- */

static float x[17 * 23 * 60], y[17 * 23 * 60 * 8];

static void shaped(struct coll_tensor_spec *spec, const char *name, uint32_t ndim, uint64_t a,
		   uint64_t b, uint64_t c)
{
	uint64_t dims[3] = { a, b, c }, n = 1;
	uint32_t k;

	coll_tensor_spec_init(spec, name);
	spec->ndim = ndim;
	for (k = 0; k < ndim; k++) {
		spec->dims[k] = dims[k];
		n *= dims[k];
	}
	coll_cmd_allreduce(coll_tensors_comm(ts), &spec->cmd, x, y, n, COLL_F32, COLL_OP_SUM);
}

/* It ends with EBADE on all ranks, the text has @text, and a barrier works. */
static void refused(const char *what, int ret, coll_tensor_t *t, const char *text)
{
	check(!ret, "%s: post: %s", what, coll_strerror(ret));
	ret = coll_tensor_wait(t);
	check(ret == -EBADE && strstr(coll_tensor_error(), text), "%s: %s", what,
	      coll_strerror(ret));
	ret = coll_tensor_barrier(ts, "after", NULL);
	check(!ret, "%s: the barrier after it: %s", what, coll_strerror(ret));
}

static void test_errors(void)
{
	struct coll_tensor_spec spec;
	coll_tensor_t *t, *twice;
	int ret;

	shaped(&spec, "shape", 3, 17, me ? 17 : 23, 17);
	ret = coll_tensor_submit(ts, &spec, &t);
	refused("shapes", ret, t, "dimension 1: ");
	if (me)
		shaped(&spec, "ndim", 3, 17, 23, 57);
	else
		shaped(&spec, "ndim", 2, 17, 23 * 57, 0);
	ret = coll_tensor_submit(ts, &spec, &t);
	refused("dimensions", ret, t, "the number of dimensions: ");
	ret = coll_tensor_allreduce(ts, "dtype", x, y, 17, me % 2 ? COLL_F32 : COLL_I32,
				    COLL_OP_SUM, &t);
	refused("types", ret, t, "the type: ");
	ret = coll_tensor_allreduce(ts, "op", x, y, 17, COLL_F32, me ? COLL_OP_SUM : COLL_OP_MIN, &t);
	refused("operators", ret, t, "the operator: ");
	ret = me ? coll_tensor_allgather(ts, "kind", x, y, 17, COLL_F32, &t) :
	      coll_tensor_allreduce(ts, "kind", x, y, 17, COLL_F32, COLL_OP_SUM, &t);
	refused("collectives", ret, t, "the collective: ");
	ret = coll_tensor_broadcast(ts, "root", x, 17, COLL_F32, me ? 0 : 1, &t);
	refused("roots", ret, t, "the root: ");
	ret = coll_tensor_broadcast(ts, "btype", x, 17, me ? COLL_F32 : COLL_I32, 0, &t);
	refused("types of a broadcast", ret, t, "the type: ");
	ret = coll_tensor_allgather(ts, "gtype", x, y, 17, me ? COLL_F32 : COLL_I32, &t);
	refused("types of an allgather", ret, t, "the type: ");
	ret = coll_tensor_alltoall(ts, "atype", x, y, 17, me ? COLL_F32 : COLL_I32, &t);
	refused("types of an alltoall", ret, t, "the type: ");
	ret = coll_tensor_reduce_scatter_block(ts, "rtype", x, y, 17, me ? COLL_F32 : COLL_I32,
					       COLL_OP_SUM, &t);
	refused("types of a reduce_scatter", ret, t, "the type: ");
	/* Rank 0 is last: no other one sees its tensor started. */
	if (!me)
		check(!coll_tensor_barrier(ts, "late", NULL), "late");
	ret = coll_tensor_allreduce(ts, "twice", x, y, 17, COLL_F32, COLL_OP_SUM, &t);
	check(!ret, "a name");
	if (me) {
		ret = coll_tensor_allreduce(ts, "twice", x, y, 17, COLL_F32, COLL_OP_SUM, &twice);
		check(ret == -EEXIST, "a name that is pending: %s", coll_strerror(ret));
		check(!coll_tensor_barrier(ts, "late", NULL), "late");
	}
	check(!coll_tensor_wait(t), "the first of that name");
	/* A deadline ends this tensor only; the last rank never posts in time. */
	coll_tensor_spec_init(&spec, "deadline");
	spec.cmd.timeout_ns = 50000000;
	if (me == size - 1)
		usleep(2000000);
	ret = coll_tensor_submit(ts, &spec, &t);
	ret = ret ? ret : coll_tensor_wait(t);
	check(ret == -ETIMEDOUT && strstr(coll_tensor_error(), "the deadline of rank "),
	      "deadline: %s", coll_strerror(ret));
	check(!coll_tensor_barrier(ts, "after", NULL), "the barrier after it");
}

/* --- threads and callbacks ---------------------------------------------------------- */

static atomic_uint called;
static pthread_t caller;
static atomic_int strangers;

static void count_call(coll_tensor_t *t, int result, void *arg)
{
	(void)t;
	(void)arg;
	if (!called)
		caller = pthread_self();
	else if (!pthread_equal(caller, pthread_self()))
		strangers++;
	called += !result;
}

static void *post_part(void *arg)
{
	uint32_t part = (uint32_t)(uintptr_t)arg, order[NAMES], k;
	uint64_t lots = mix(seed + part) + me;
	struct coll_tensor_spec spec;

	shuffle(order, NAMES, &lots);
	for (k = 0; k < NAMES; k++) {
		struct work *w = &works[order[k]];

		if (order[k] % THREADS != part)
			continue;
		coll_tensor_spec_init(&spec, w->name);
		coll_cmd_allreduce(coll_tensors_comm(ts), &spec.cmd, w->in, w->out,
				   count_of(w, 0), COLL_I32, COLL_OP_SUM);
		spec.fn = count_call;
		if (coll_tensor_submit(ts, &spec, NULL))
			return (void *)1;
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[THREADS];
	uint32_t step, k;
	uint64_t i;
	void *ret;

	for (step = 0; step < steps && !wrong; step++) {
		called = 0;
		for (k = 0; k < NAMES; k++)
			prepare(&works[k], k, step);
		for (k = 0; k < THREADS; k++)
			pthread_create(&threads[k], NULL, post_part, (void *)(uintptr_t)k);
		for (k = 0; k < THREADS; k++) {
			pthread_join(threads[k], &ret);
			check(!ret, "a thread could not post");
		}
		while (called < NAMES && !wrong)
			usleep(100);
		for (k = 0; k < NAMES; k++)
			for (i = 0; i < count_of(&works[k], 0); i++)
				check(works[k].out[i] == sum(&works[k], i), "element");
	}
	check(!strangers, "several threads called back");
}

/* --- two communicators at the same time ------------------------------------------------ */

static void test_sets(coll_comm_t *base)
{
	coll_tensors_t *other;
	coll_tensor_t *t;
	int ret, done = 0;

	ret = coll_tensors_create(base, 0, &other);
	check(!ret, "a second one: %s", coll_strerror(ret));
	if (ret)
		return;
	/* In the second set rank 0 is late. The first one does not wait for it. */
	ret = me ? coll_tensor_barrier(other, "x", &t) : 0;
	check(!ret, "post");
	check(!coll_tensor_barrier(ts, "x", NULL), "the set that nobody is late in");
	if (me) {
		check(!coll_tensor_test(t, &done) && !done, "it did not wait for rank 0");
		check(!coll_tensor_barrier(ts, "go", NULL), "go");
		check(!coll_tensor_wait(t), "the set with a late rank");
	} else {
		check(!coll_tensor_barrier(ts, "go", NULL), "go");
		check(!coll_tensor_barrier(other, "x", NULL), "the set with a late rank");
	}
	check(coll_barrier(coll_tensors_comm(other)) == -EOPNOTSUPP, "a numbered collective");
	check(!coll_barrier(base), "a numbered collective of the parent");
	check(!coll_tensors_finalize(other), "finalize");
}

/* --- many names, in arrays of tensors made once ---------------------------------------- */

#define MORE_NAMES	1500

static void test_names(void)
{
	static coll_tensor_t *t[MORE_NAMES], *shuffled[MORE_NAMES];
	static int32_t in[MORE_NAMES], out[MORE_NAMES];
	static uint32_t order[MORE_NAMES];
	struct coll_tensor_spec spec;
	uint64_t lots = mix(seed) + me;
	uint32_t k, step;
	char name[32];
	size_t posted;

	for (k = 0; k < MORE_NAMES; k++) {
		snprintf(name, sizeof(name), "made%u", k);
		coll_tensor_spec_init(&spec, name);
		coll_cmd_allreduce(coll_tensors_comm(ts), &spec.cmd, &in[k], &out[k], 1, COLL_I32,
				   COLL_OP_SUM);
		check(!coll_tensor_create(ts, &spec, &t[k]), "create");
	}
	for (step = 0; step < steps && !wrong; step++) {
		shuffle(order, MORE_NAMES, &lots);
		for (k = 0; k < MORE_NAMES; k++) {
			in[k] = (int32_t)(k + me + step);
			shuffled[k] = t[order[k]];
		}
		check(!coll_tensor_postall(shuffled, MORE_NAMES, &posted) &&
		      posted == MORE_NAMES, "post all: %zu", posted);
		check(!coll_tensor_waitall(shuffled, wrong ? 0 : MORE_NAMES), "wait all");
		for (k = 0; k < MORE_NAMES; k++)
			check(out[k] == (int32_t)(size * (k + step) + size * (size - 1) / 2),
			      "made%u: %d", k, out[k]);
	}
}

/* --- ranks that end ---------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Steps until somebody is gone; then every pending tensor ends, and soon. */
static void until_the_end(int want)
{
	uint64_t lots = mix(seed) + me, since = now_ms();
	uint32_t order[NAMES], step, k, ended = 0, posted = 0;
	int ret = 0;

	for (step = 0; !ret; step++) {
		shuffle(order, NAMES, &lots);
		posted = ended = 0;
		for (k = 0; k < NAMES; k++)
			prepare(&works[k], k, step);
		since = now_ms();
		for (k = 0; k < NAMES && !ret; k++) {
			ret = post(&works[order[k]]);
			posted += !ret;
		}
		for (k = 0; k < posted; k++) {
			int one = coll_tensor_wait(works[order[k]].t);

			ret = one ? one : ret;
			ended++;
		}
	}
	check(ret == want, "the end: %s", coll_strerror(ret));
	check(ended == posted && now_ms() - since < 20000, "%u of %u ended, after %llu ms", ended,
	      posted, (unsigned long long)(now_ms() - since));
}

static void test_kill(void)
{
	uint64_t lots = mix(seed ^ 0x6b696c6c);
	uint32_t victim = below(&lots, size), us = 1 + below(&lots, 60000);
	struct coll_status st;
	pid_t pid;

	check(!coll_tensor_barrier(ts, "begin", NULL), "begin");
	if (me == victim) {
		pid = fork();
		if (!pid) {
			usleep(us);
			kill(getppid(), SIGKILL);
			_exit(0);
		}
	}
	until_the_end(-EHOSTDOWN);
	check(!coll_comm_status(coll_tensors_comm(ts), &st) && st.cause.rank == victim,
	      "the cause names rank %u, not %u", st.cause.rank, victim);
	if (me != victim && !wrong)
		printf("rank %u: told\n", me);
}

/*
 * The last rank stops itself before it posts a tensor that all have posted before. When somebody
 * lets it go on, all is well.
 */
static void test_stall(void)
{
	check(!coll_tensor_allreduce(ts, "fc1.grad", x, y, 9, COLL_F32, COLL_OP_SUM, NULL), "first");
	if (me == size - 1)
		raise(SIGSTOP);
	check(!coll_tensor_allreduce(ts, "fc1.grad", x, y, 9, COLL_F32, COLL_OP_SUM, NULL), "second");
}

/* One rank leaves in order; the others have posted what it has not. */
static void test_left(void)
{
	coll_tensor_t *t;
	int ret;

	check(!coll_tensor_barrier(ts, "begin", NULL), "begin");
	if (me == size - 1)
		return;
	ret = coll_tensor_allreduce(ts, "alone", x, y, 9, COLL_F32, COLL_OP_SUM, &t);
	ret = ret ? ret : coll_tensor_wait(t);
	check(ret == -EHOSTDOWN || ret == -ESHUTDOWN, "left: %s", coll_strerror(ret));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint32_t flags = strcmp(what, "threads") ? 0 : COLL_TENSORS_THREAD;
	int ret;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	steps = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 0) : 10;
	ret = coll_tensors_init(NULL, flags, &ts);
	if (ret) {
		fprintf(stderr, "init: %s\n", coll_tensor_error());
		return 1;
	}
	me = coll_comm_rank(coll_tensors_comm(ts));
	size = coll_comm_size(coll_tensors_comm(ts));
	if (!strcmp(what, "orders"))
		test_orders();
	else if (!strcmp(what, "forms"))
		test_forms();
	else if (!strcmp(what, "unregistered"))
		test_unregistered();
	else if (!strcmp(what, "errors"))
		test_errors();
	else if (!strcmp(what, "threads"))
		test_threads();
	else if (!strcmp(what, "sets"))
		test_sets(coll_tensors_base(ts));
	else if (!strcmp(what, "names"))
		test_names();
	else if (!strcmp(what, "left"))
		test_left();
	else if (!strcmp(what, "stall"))
		test_stall();
	else if (!strcmp(what, "kill"))
		test_kill();
	else
		wrong++;
	coll_tensors_finalize(ts);
	if (!me || wrong)
		printf("%s: rank %u, seed %llu: %llu wrong\n", what, me, (unsigned long long)seed,
		       (unsigned long long)wrong);
	return wrong > 0;
}
