// SPDX-License-Identifier: GPL-2.0
/*
 * A rank writes random bytes over all the shared memory that it may write, round after round.
 * The others go on with small collectives: they get values or errors, and all of them come to an
 * end. In most rounds the rank says what another rank says, so that its bytes are taken for
 * an input.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "shm_job.h"
#include "util.h"

#define MS	1000000ULL
#define HANG_MS	60000
#define OPS	400

/**
 * struct view - the memory as the rank that scribbles has it
 */
struct view {
	struct coll_shm s;
	const uint8_t *all;
	uint8_t *own;
	const struct coll_shm_header *h;
};

struct scribbling {
	uint64_t seed;
	uint32_t victim;
};

static bool view_init(struct view *v, int fd)
{
	void *p;

	memset(v, 0, sizeof(*v));
	if (ioctl(fd, COLL_IOC_SHM, &v->s))
		return false;
	p = mmap(NULL, v->s.size, PROT_READ, MAP_SHARED, fd, 0);
	v->all = p;
	v->h = p;
	if (p == MAP_FAILED)
		return false;
	p = mmap(NULL, v->s.own_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, v->s.own_offset);
	v->own = p;
	return p != MAP_FAILED;
}

/* Say what @rank says. */
static void imitate(const struct view *v, uint32_t rank)
{
	const uint8_t *area = v->all + v->h->area_offset + rank * v->h->area_size;
	const uint64_t *from;
	uint64_t *to;
	uint32_t slot, i;

	for (slot = 0; slot < COLL_SHM_SLOTS; slot++) {
		from = (const void *)(area + v->h->slot_offset + slot * v->h->slot_size);
		to = (void *)(v->own + v->h->slot_offset + slot * v->h->slot_size);
		for (i = 4; i--;)
			__atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_ACQUIRE),
					 __ATOMIC_RELEASE);
	}
}

static bool others_go_on(const struct job *j, uint32_t rank)
{
	uint32_t r;

	for (r = 0; r < j->size; r++)
		if (r != rank && j->sh->rank[r].phase != JOB_ENDED)
			return true;
	return false;
}

static void scribble(struct job *j, uint32_t rank, uint64_t lot)
{
	uint32_t other = (rank + 1) % j->size, i;
	struct view v;

	if (!view_init(&v, coll_comm_fd(j->comm))) {
		job_note(j, rank, -EIO);
		return;
	}
	while (others_go_on(j, rank)) {
		/* Those that sleep look again. */
		for (i = test_below(&lot, 400); i--;)
			imitate(&v, other);
		ioctl(coll_comm_fd(j->comm), COLL_IOC_SHM_WAKE);
		for (i = 0; i < v.s.own_size / 8; i++)
			__atomic_store_n((uint64_t *)v.own + i, test_rand(&lot),
					 __ATOMIC_RELAXED);
		/* A word that others look at, near what is right. */
		((uint64_t *)v.own)[0] = test_below(&lot, OPS);
		job_note(j, rank, 0);
	}
}

static void run(struct job *j, uint32_t rank)
{
	const struct scribbling *s = j->arg;
	uint64_t lot = s->seed * 0x9e3779b97f4a7c15ULL | 1, own = lot + 2 * rank + 2;
	int ret = 0;
	uint32_t i;

	if (rank == s->victim) {
		scribble(j, rank, lot);
		return;
	}
	coll_comm_set_timeout(j->comm, 100 * MS);
	for (i = 0; i < OPS && !ret; i++) {
		ret = job_random_op(j, rank, &lot, 0, test_below(&own, 2), false);
		job_note(j, rank, ret);
	}
}

/**
 * struct tally - of all communicators
 * @rounds: of the rank that scribbles
 * @ops: of the others
 */
struct tally {
	uint64_t rounds, ops;
	unsigned int comms, timeouts, mismatches, bad;
};

static void judge(const struct job *j, const struct scribbling *s, struct tally *t)
{
	uint32_t r;

	for (r = 0; r < j->size; r++) {
		const struct job_rank *k = &j->sh->rank[r];
		bool error = r != s->victim && k->result;

		if (r != s->victim)
			t->ops += k->done;
		else
			t->rounds += k->done;
		t->timeouts += error && k->result == -ETIMEDOUT;
		t->mismatches += error && k->result == -EBADE;
		if (k->phase == JOB_ENDED && !k->wrong &&
		    (!k->result || (error && (k->result == -ETIMEDOUT || k->result == -EBADE))))
			continue;
		t->bad++;
		printf("# seed %" PRIu64 ": rank %u of %u, rank %u scribbles: %s, result %d, %" PRIu64
		       " bytes beyond the buffer hurt\n", s->seed, r, j->size, s->victim,
		       k->phase == JOB_ENDED ? "ended" : "HANGS", k->result, k->wrong);
	}
}

static int one(uint64_t seed, struct tally *t)
{
	struct job j = { .run = run, .size = 2 + seed % (JOB_MAX - 1) };
	struct scribbling s = { .seed = seed, .victim = seed / (JOB_MAX - 1) % j.size };
	int ret;

	j.arg = &s;
	ret = job_start(&j);
	if (ret)
		return ret;
	job_wait(&j, JOB_ENDED, HANG_MS);
	judge(&j, &s, t);
	t->comms++;
	job_stop(&j);
	return 0;
}

int shm_scribble(unsigned int rounds, uint64_t seed)
{
	struct tally t = { 0 };
	uint64_t i;

	for (i = 0; t.rounds < rounds && t.bad < 3 && !one(seed + i, &t); i++)
		;
	printf("%" PRIu64 " rounds in %u communicators, %" PRIu64
	       " ops of the others ended with a value, %u timed out, %u found that ranks disagree, %u bad\n",
	       t.rounds, t.comms, t.ops, t.timeouts, t.mismatches, t.bad);
	return t.rounds < rounds || t.bad || !t.ops;
}
