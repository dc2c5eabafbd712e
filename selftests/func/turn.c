// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that share CPUs, two to each, let one another run without falling asleep. Needs
 * two CPUs. How often a thread slept is the kernel's count of its voluntary switches.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "harness.h"
#include "procs.h"
#include "util.h"

#define SPIN_US		"/sys/module/coll/parameters/spin_us"
#define OPS		50
#define BATCHES		4000
#define BATCHES_S	150		/* no further batch after so many seconds */
#define SECOND		1000000000ULL

static long times_slept(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_nvcsw;
}

/*
 * The results of the ranks, in memory that all see.
 * @told: times slept when told to sleep, by rank
 * @slept: times slept else, by batch and rank
 * @found: there was a batch in which few slept
 * @end: no batch after this one, set by rank 0 before it begins
 */
struct told {
	long told[PROCS_MAX];
	long slept[BATCHES][PROCS_MAX];
	volatile bool found, end;
};

/* Return: times that this rank slept in OPS barriers, or -errno. */
static long batch(int fd, uint32_t flags, struct told *t, bool *end)
{
	struct coll_cmd cmd;
	long slept;
	int i, ret;

	raw_barrier(&cmd);
	cmd.flags |= flags;
	cmd.timeout_ns = 40 * SECOND;
	/* Gathers the ranks: rank 0 cannot change its mind before we have looked. */
	ret = raw_submit(fd, &cmd);
	if (t)
		*end = t->end;
	slept = times_slept();
	for (i = 0; !ret && i < OPS; i++)
		ret = raw_submit(fd, &cmd);
	return ret ?: times_slept() - slept;
}

static long sum_of(const long *slept, uint32_t ranks)
{
	long sum = 0;
	uint32_t r;

	for (r = 0; r < ranks; r++)
		sum += slept[r];
	return sum;
}

/*
 * After other threads have wanted a CPU, ranks sleep for a thousand ops. Repeat until none does.
 * That may take long on a machine on which something wants a CPU now and then.
 */
static void sleep_and_not(struct procs *p, uint32_t rank)
{
	uint64_t until = test_now_ns() + BATCHES_S * SECOND;
	int fd = p->c.fd[rank], i;
	struct told *t = p->arg;
	bool end = false;
	long slept;

	slept = batch(fd, COLL_CMD_SLEEP, NULL, NULL);
	t->told[rank] = slept;
	for (i = 0; slept >= 0 && !end && i < BATCHES; i++) {
		/* A rank that has begun the last batch has told the result of all earlier ones. */
		if (!rank && i >= 2 && sum_of(t->slept[i - 2], p->c.size) < OPS / 2)
			t->found = true;
		if (!rank)
			t->end = t->found || test_now_ns() > until;
		slept = batch(fd, 0, t, &end);
		t->slept[i][rank] = slept;
	}
	procs_result(p, rank, slept < 0 ? slept : 0);
}

static void once(struct procs *p, uint32_t rank)
{
	long slept = batch(p->c.fd[rank], 0, NULL, NULL);

	procs_result(p, rank, slept < 0 ? slept : 0);
}

FIXTURE(turn)
{
	struct procs p;
	uint32_t ranks;
	char spin_us[16];
};

FIXTURE_SETUP(turn)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	FILE *f = fopen(SPIN_US, "r");

	if (cpus < 2 || 2 * cpus > PROCS_MAX)
		SKIP(return, "one CPU, or more than ranks are for");
	ASSERT_TRUE(f && fgets(self->spin_us, sizeof(self->spin_us), f) && !fclose(f));
	ASSERT_TRUE(test_put(SPIN_US, "1000"));
	self->ranks = 2 * cpus;
}

FIXTURE_TEARDOWN(turn)
{
	procs_stop(&self->p);
	test_put(SPIN_US, self->spin_us);
}

TEST_F(turn, ranks_give_way_awake)
{
	struct told *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t r;

	ASSERT_NE(MAP_FAILED, t);
	self->p.ops = sleep_and_not;
	self->p.arg = t;
	ASSERT_EQ(0, procs_start(&self->p, self->ranks, 1));
	ASSERT_TRUE(procs_wait(&self->p, PROCS_JOINED, 10000));
	self->p.sh->go = 1;
	ASSERT_TRUE(procs_wait(&self->p, PROCS_ENDED, 220000));
	for (r = 0; r < self->ranks; r++)
		ASSERT_EQ(0, self->p.sh->rank[r].result);
	TH_LOG("%u ranks, %d barriers: slept %ld times when told to", self->ranks, OPS,
	       sum_of(t->told, self->ranks));
	/* All but the last rank, and ranks that see the end before they sleep. */
	EXPECT_LE(OPS, sum_of(t->told, self->ranks));
	EXPECT_TRUE(t->found);
}

/* Other threads use all CPUs: ops go on, as fast as ranks get a CPU. */
static void *hog(void *arg)
{
	volatile bool *stop = arg;

	while (!*stop)
		;
	return NULL;
}

TEST_F(turn, others_want_the_cpus)
{
	pthread_t hogs[PROCS_MAX / 2];
	volatile bool stop = false;
	uint64_t begin, took;
	uint32_t i;
	bool ended;

	self->p.ops = once;
	ASSERT_EQ(0, procs_start(&self->p, self->ranks, 1));
	ASSERT_TRUE(procs_wait(&self->p, PROCS_JOINED, 10000));
	self->p.sh->go = 1;
	begin = test_now_ns();
	for (i = 0; i < self->ranks / 2; i++)
		pthread_create(&hogs[i], NULL, hog, (void *)&stop);
	ended = procs_wait(&self->p, PROCS_ENDED, 50000);
	took = (test_now_ns() - begin) / 1000000;
	stop = true;
	for (i = 0; i < self->ranks / 2; i++)
		pthread_join(hogs[i], NULL);
	ASSERT_TRUE(ended);
	for (i = 0; i < self->ranks; i++)
		EXPECT_EQ(0, self->p.sh->rank[i].result);
	TH_LOG("%d barriers beside others: %lu ms", OPS, took);
	EXPECT_LT(took, 40000);
}

TEST_HARNESS_MAIN
