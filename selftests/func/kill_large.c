// SPDX-License-Identifier: GPL-2.0
/*
 * A rank that uses much memory is killed. Its files are closed only after its memory has
 * been given back, which takes long. The others must hear before that.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "procs.h"
#include "util.h"

#define LARGE		(256UL << 20)
#define SMALL		(64UL << 10)
#define SETUP_MS	60000
#define ROUNDS		5
#define LARGE_ROUNDS	20
/* Less than this says nothing: then memory is given back too fast to tell. */
#define LEAST_NS	8000000ULL

/* Rank 0 uses the memory, and waits to be killed. The others wait for it. */
static void use_and_wait(struct procs *p, uint32_t rank)
{
	size_t bytes = *(size_t *)p->arg;
	struct coll_cmd cmd;
	char *mem;

	if (rank) {
		raw_barrier(&cmd);
		procs_result(p, rank, raw_submit(p->c.fd[rank], &cmd));
		return;
	}
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return;
	memset(mem, 1, bytes);
	p->sh->rank[0].done = 1;
	for (;;)
		pause();
}

/* Kill once: ns until rank 1 heard of it, and until the process was gone. */
static void kill_once(struct __test_metadata *_metadata, uint32_t nodes, size_t bytes,
		      uint64_t *heard, uint64_t *gone)
{
	struct procs p = { .ops = use_and_wait, .arg = &bytes };
	const struct coll_cause *c = NULL;
	uint64_t when;
	unsigned int i;

	ASSERT_EQ(0, procs_start(&p, 2, nodes));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, SETUP_MS));
	p.sh->go = 1;
	for (i = 0; !p.sh->rank[0].done && i < SETUP_MS; i++)
		test_sleep_us(1000);
	ASSERT_EQ(1, p.sh->rank[0].done);
	test_sleep_us(20000);		/* rank 1 waits by now */
	when = test_now_ns();
	ASSERT_EQ(0, kill(p.pid[0], SIGKILL));
	EXPECT_EQ(SIGKILL, procs_reap(&p, 0, SETUP_MS));
	*gone = test_now_ns() - when;
	EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, SETUP_MS));
	*heard = p.sh->rank[1].when - when;
	c = &p.sh->rank[1].status.cause;
	EXPECT_EQ(-EHOSTDOWN, p.sh->rank[1].result);
	EXPECT_EQ(COLL_CAUSE_EXIT, c->kind);
	EXPECT_EQ(SIGKILL, c->signal);
	EXPECT_FALSE(test_late(when, p.sh->rank[1].when));
	procs_stop(&p);
}

/* The least times of a few rounds. */
struct best {
	uint64_t heard, gone;
};

static void one_round(struct __test_metadata *_metadata, uint32_t nodes, size_t bytes,
		      struct best *b)
{
	uint64_t heard = 0, gone = 0;

	kill_once(_metadata, nodes, bytes, &heard, &gone);
	if (heard < b->heard)
		b->heard = heard;
	if (gone < b->gone)
		b->gone = gone;
}

/*
 * On a busy machine a round may be late, so one good round of many is enough: if the others heard
 * only when the memory had been given back, no round would be good.
 */
static void kill_large(struct __test_metadata *_metadata, uint32_t nodes)
{
	struct best few = { UINT64_MAX, UINT64_MAX }, much = few;
	int i;

	for (i = 0; i < ROUNDS; i++)
		one_round(_metadata, nodes, SMALL, &few);
	for (i = 0; i < LARGE_ROUNDS && much.heard >= few.heard + much.gone / 4; i++)
		one_round(_metadata, nodes, LARGE, &much);
	TH_LOG("heard after %llu us, with %lu MiB after %llu us, the process gone after %llu us",
	       (unsigned long long)few.heard / 1000, LARGE >> 20,
	       (unsigned long long)much.heard / 1000, (unsigned long long)much.gone / 1000);
	if (much.gone < LEAST_NS)
		SKIP_REST(return, "memory is given back too fast to tell");
	EXPECT_LT(much.heard, few.heard + much.gone / 4) {
		TH_LOG("heard only when its memory was given back");
	}
}

TEST(one_node)	{ kill_large(_metadata, 1); }
TEST(two_nodes)	{ kill_large(_metadata, 2); }

TEST_HARNESS_MAIN
