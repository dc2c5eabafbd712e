// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Results in shared memory that are copied while other ranks still write their inputs. A rank waits
 * for a moment, again and again, with the other ranks at random points of their work. Its output
 * is compared byte by byte: nothing is read that has not been written, no input is lost that the
 * kernel may need. Then two threads do large collectives.
 *
 * usage: test_shm_copy [SEED]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "comm/buffers.h"
#include "comm/comm.h"
#include "comm/shm.h"
#include "shm/shm_copy.h"
#include "shm/shm_fold.h"
#include "shm/shm_move.h"
#include "shm/shm_op.h"
#include "shm/shm_wait.h"
#include "tap.h"

#define MOST	4
#define DATA	65536
/* Of a vector with a block for each rank. */
#define ROOM	(MOST * DATA)
#define POISON	0xee

/* The layout is that of the header, not that of a kernel. */
#define RANK_OFFSET	64
#define AREA_OFFSET	4096
#define SLOT_OFFSET	128
#define SLOT_SIZE	(sizeof(struct coll_shm_slot) + DATA)
#define AREA_SIZE	(SLOT_OFFSET + COLL_SHM_SLOTS * SLOT_SIZE)

/**
 * struct rank - a rank, and its op
 * @written: so many bytes of its input are in its slot
 * @in: its input
 * @out: its result
 * @before: @out before the op
 */
struct rank {
	struct coll_comm comm;
	struct shm shm;
	struct coll_cmd cmd;
	struct shm_fold fold;
	struct shm_move m;
	struct shm_op o;
	size_t written;
	unsigned char in[ROOM], out[ROOM], before[ROOM];
};

static uint32_t n;
static unsigned char memory[AREA_OFFSET + MOST * AREA_SIZE];
static unsigned char alive;
static struct rank ranks[MOST];
static uint64_t lot;
/* No buffers are registered. */
bool buffers_hold(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	(void)comm, (void)cmd;
	return true;
}

/* @nodes: as a communicator of several nodes */
static void world_setup(uint32_t size, bool nodes)
{
	struct coll_shm_header *h = (void *)memory;
	uint32_t r;

	n = size;
	alive = 1;
	memset(memory, 0, sizeof(memory));
	*h = (struct coll_shm_header){
		.magic = COLL_SHM_MAGIC, .version = COLL_SHM_VERSION, .nr_local = n,
		.rank_offset = RANK_OFFSET, .rank_size = sizeof(struct coll_shm_rank),
		.area_offset = AREA_OFFSET, .area_size = AREA_SIZE,
		.slot_offset = SLOT_OFFSET, .slot_size = SLOT_SIZE, .data_size = DATA,
		.active = 1,
	};
	for (r = 0; r < n; r++) {
		ranks[r].shm = (struct shm){
			.all = memory, .own = memory + AREA_OFFSET + r * AREA_SIZE,
			.n = n, .me = r, .ranks = n, .rank = r, .nodes = nodes,
			.h = h, .alive = &alive, .gave = ~0ULL, .ranked = true,
			.spins = 1ULL << 40, .crowd = 1, .limit = { DATA, DATA },
		};
		shm_read_header(&ranks[r].shm);
		ranks[r].comm = (struct coll_comm){ .size = n, .rank = r, .shm = &ranks[r].shm };
	}
}

/* ---- commands ---- */

static const uint16_t kinds[] = {
	COLL_BROADCAST, COLL_GATHER, COLL_SCATTER, COLL_ALLGATHER, COLL_ALLTOALL, COLL_EXSCAN,
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool is_rooted(uint16_t what)
{
	return what == COLL_BROADCAST || what == COLL_GATHER || what == COLL_SCATTER;
}

/* Has each rank one block of the input, or one for each rank? */
static bool has_all_blocks(uint16_t what)
{
	return what == COLL_SCATTER || what == COLL_ALLTOALL;
}

static unsigned char input(uint32_t rank, size_t i)
{
	return (unsigned char)(rank * 71 + i * 13 + i / 251);
}

/* @unit: bytes of a block */
static void prepare(struct rank *k, uint16_t what, size_t unit, uint32_t root, bool inplace)
{
	struct coll_cmd *c = &k->cmd;
	uint32_t me = k->shm.me;
	size_t own = what == COLL_GATHER || what == COLL_ALLGATHER ? me * unit : 0, i;

	for (i = 0; i < ROOM; i++)
		k->in[i] = input(me, i);
	memset(k->out, POISON, ROOM);
	*c = (struct coll_cmd){
		.collective = what, .dtype = COLL_U8, .count = unit,
		.op = what == COLL_EXSCAN ? COLL_OP_SUM : 0, .root = is_rooted(what) ? root : 0,
	};
	if (inplace) {
		memcpy(k->out + own, k->in, has_all_blocks(what) ? n * unit : unit);
		c->flags = COLL_CMD_INPLACE;
	} else if (what != COLL_BROADCAST && (what != COLL_SCATTER || me == root)) {
		c->send_addr = (uintptr_t)k->in;
	}
	if (what != COLL_GATHER || me == root)
		c->recv_addr = (uintptr_t)(what == COLL_BROADCAST && me == root ? k->in : k->out);
	memcpy(k->before, k->out, ROOM);
}

static bool setup(struct rank *k)
{
	return shm_op_begin(&k->comm, &k->o, 0) && shm_move_setup(&k->shm, &k->cmd, &k->fold, &k->m);
}

/* Blocks of the result, if it is a copy: where they come from. Return: their number. */
static uint32_t blocks_of(const struct rank *k, uint32_t *first, size_t *offset)
{
	*first = is_rooted(k->cmd.collective) ? k->cmd.root : 0;
	*offset = has_all_blocks(k->cmd.collective) ? k->shm.me * k->cmd.count : 0;
	switch (k->cmd.collective) {
	case COLL_BROADCAST:
		return k->shm.me != k->cmd.root;
	case COLL_SCATTER:
		return 1;
	case COLL_EXSCAN:
		return k->shm.me == 1;
	case COLL_GATHER:
		*first = 0;
		return k->shm.me == k->cmd.root ? n : 0;
	default:
		return n;
	}
}

/* ---- step by step ---- */

/* Another rank has written @bytes of its input. What it has not written is left from another op. */
static void write_so_far(struct rank *k, size_t bytes)
{
	struct coll_shm_slot *slot = shm_own_slot(&k->shm, k->o.pos);
	struct coll_shm_area *area = shm_own_area(&k->shm);

	slot->collective = (uint8_t)k->cmd.collective;
	slot->op = (uint8_t)k->cmd.op;
	slot->dtype = (uint8_t)k->cmd.dtype;
	slot->flags = 0;
	slot->root = k->cmd.root;
	slot->count = k->cmd.count;
	memcpy(slot + 1, k->in, bytes);
	area->writing = k->o.pos;
	area->written = bytes;
	k->written = bytes;
}

static void write_all(struct rank *k)
{
	write_so_far(k, k->m.in_bytes);
	shm_own_slot(&k->shm, k->o.pos)->pos = k->o.pos;
	k->written = DATA;
}

static void poison_slots(void)
{
	uint32_t r;

	for (r = 0; r < n; r++) {
		memset(shm_own_slot(&ranks[r].shm, ranks[r].o.pos) + 1, POISON, DATA);
		ranks[r].written = 0;
	}
}

/* How many bytes of the result can be there, in order of blocks? */
static size_t can_be_there(const struct rank *k)
{
	size_t offset, unit = k->cmd.count, there = 0, written;
	uint32_t first, i, nr = blocks_of(k, &first, &offset);

	for (i = 0; i < nr; i++) {
		written = first + i == k->shm.me ? DATA : ranks[first + i].written;
		written = written > offset ? written - offset : 0;
		there += written < unit ? written : unit;
		if (written < unit)
			break;
	}
	return there;
}

/* Are the first @there bytes of the result right, and the others as before? */
static bool is_there(const struct rank *k, size_t there)
{
	size_t offset, unit = k->cmd.count, i;
	uint32_t first;
	unsigned char want;

	blocks_of(k, &first, &offset);
	for (i = 0; i < ROOM; i++) {
		want = i < there ? input(first + (uint32_t)(i / unit), offset + i % unit) :
				   k->before[i];
		if (k->out[i] == want)
			continue;
		printf("# collective %u, rank %u of %u, unit %zu, root %u: %zu bytes, byte %zu is %u, not %u\n",
		       k->cmd.collective, k->shm.me, n, unit, k->cmd.root, there, i, k->out[i],
		       want);
		return false;
	}
	return true;
}

/* One of the other ranks that has not written all goes on. */
static void go_on(const struct rank *reader)
{
	struct rank *k = &ranks[below(&lot, n)];
	size_t more;

	if (k == reader || k->written == DATA)
		return;
	more = below(&lot, (uint32_t)(k->m.in_bytes - k->written) + 1);
	if (below(&lot, 3))
		write_so_far(k, k->written + more);
	else
		write_all(k);
}

/* As a rank that waits, for a moment. */
static enum shm_outcome look(struct rank *k)
{
	k->shm.spins = 1;
	return shm_wait_awake(&k->shm, &k->o, &k->m);
}

/* A command of which a part of the result of @reader can be there early. */
static uint32_t draw_commands(void)
{
	uint16_t what = kinds[below(&lot, NR_KINDS)];
	uint32_t reader = below(&lot, n), root = below(&lot, n), r;
	size_t unit = DATA / 2 + n + below(&lot, DATA / 2 - n), offset;
	bool inplace = (what == COLL_GATHER || what == COLL_ALLGATHER) && below(&lot, 2);

	/* rounded down it is still large */
	if (has_all_blocks(what))
		unit /= n;
	for (r = 0; r < n; r++)
		prepare(&ranks[r], what, unit, root,
			inplace && (what == COLL_ALLGATHER || r == root));
	return blocks_of(&ranks[reader], &r, &offset) ? reader : draw_commands();
}

static bool in_steps_once(void)
{
	struct rank *k = &ranks[draw_commands()];
	bool good = true;
	uint32_t r, i;

	for (r = 0; r < n; r++)
		good &= setup(&ranks[r]);
	poison_slots();
	shm_op_write(&k->shm, &k->m, &k->o);
	good &= k->m.copy.early;
	for (i = 0; i < 8 && good && look(k) == SHM_LATE; i++) {
		good = is_there(k, can_be_there(k));
		go_on(k);
	}
	for (r = 0; r < n; r++)
		if (r != k->shm.me)
			write_all(&ranks[r]);
	good = good && shm_op_look(&k->shm, &k->o) == SHM_COMPLETE &&
	       shm_op_finish(&k->comm, &k->m, &k->o) == SHM_COMPLETE && is_there(k, can_be_there(k));
	/* The others end it, too. */
	for (r = 0; r < n; r++)
		ranks[r].shm.ops = k->shm.ops;
	return good;
}

static bool in_steps(uint32_t size)
{
	bool good = true;
	int i;

	world_setup(size, false);
	for (i = 0; i < 300 && good; i++)
		good = in_steps_once();
	return good;
}

/* Rank 1 waits for a broadcast of rank 0. */
static struct rank *await_broadcast(void)
{
	struct rank *k = &ranks[1];
	uint32_t r;

	world_setup(2, false);
	for (r = 0; r < 2; r++) {
		prepare(&ranks[r], COLL_BROADCAST, DATA, 0, false);
		setup(&ranks[r]);
	}
	poison_slots();
	shm_op_write(&k->shm, &k->m, &k->o);
	return k;
}

/* Rank 0 writes something else. */
static bool not_for_this_op(void)
{
	struct rank *k = await_broadcast();
	struct coll_shm_slot *slot = shm_own_slot(&ranks[0].shm, k->o.pos);
	bool good;

	write_so_far(&ranks[0], DATA / 2);
	slot->count--;
	good = look(k) == SHM_LATE && is_there(k, 0);
	slot->count++;
	slot->root = 1;
	good &= look(k) == SHM_LATE && is_there(k, 0);
	slot->root = 0;
	shm_own_area(&ranks[0].shm)->writing = k->o.pos - 1;
	good &= look(k) == SHM_LATE && is_there(k, 0);
	shm_own_area(&ranks[0].shm)->writing = k->o.pos;
	return good && look(k) == SHM_LATE && is_there(k, DATA / 2);
}

/* The number of bytes becomes less, and then nonsense. The sanitizer watches. */
static bool nonsense(void)
{
	struct rank *k = await_broadcast();
	bool good;

	write_so_far(&ranks[0], DATA);
	shm_own_area(&ranks[0].shm)->written = DATA / 2;
	good = look(k) == SHM_LATE && is_there(k, DATA / 2);
	shm_own_area(&ranks[0].shm)->written = 5;
	good &= look(k) == SHM_LATE && is_there(k, DATA / 2);
	shm_own_area(&ranks[0].shm)->written = ~0ULL;
	return good && look(k) == SHM_LATE && is_there(k, DATA);
}

/* The kernel may have to do the op after all: it reads the input, which is the output. */
static bool keeps_input(uint16_t what)
{
	struct rank *k = &ranks[1];
	bool good = true;
	uint32_t r;

	world_setup(2, false);
	for (r = 0; r < 2; r++) {
		prepare(&ranks[r], what, DATA / 2, 0, true);
		good &= setup(&ranks[r]);
	}
	poison_slots();
	shm_op_write(&k->shm, &k->m, &k->o);
	write_so_far(&ranks[0], DATA / 2);
	return good && k->m.copy.blocks && look(k) == SHM_LATE && is_there(k, 0);
}

/* A rank tells how much it has written. */
static bool tells(void)
{
	struct rank *k = &ranks[0];
	const struct coll_shm_area *area;
	bool good = true;
	uint32_t i;

	for (i = 0; i < NR_KINDS; i++) {
		world_setup(2, false);
		/* a root's input of a gather is not for others */
		prepare(k, kinds[i], DATA / 2, kinds[i] == COLL_GATHER, false);
		good &= setup(k);
		shm_op_write(&k->shm, &k->m, &k->o);
		area = shm_own_area(&k->shm);
		good &= area->writing == k->o.pos && area->written == k->m.in_bytes;
	}
	return good;
}

/* Of three ranks the second one keeps its own part, and writes all that is before and after it. */
static bool own_part_stays(void)
{
	static const uint16_t some[] = { COLL_GATHER, COLL_SCATTER, COLL_ALLTOALL };
	struct rank *k = &ranks[1];
	const unsigned char *slot;
	size_t i, b, from, to;
	bool good = true;

	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		world_setup(3, false);
		prepare(k, some[i], DATA / 3, 1, false);
		good &= setup(k);
		poison_slots();
		shm_op_write(&k->shm, &k->m, &k->o);
		slot = (unsigned char *)(shm_own_slot(&k->shm, k->o.pos) + 1);
		from = has_all_blocks(some[i]) ? DATA / 3 : 0;
		to = from + DATA / 3;
		for (b = 0; b < k->m.in_bytes; b++)
			good &= slot[b] == (b < from || b >= to ? k->in[b] : POISON);
	}
	return good;
}

static void draw_bytes(unsigned char *to, size_t n_bytes)
{
	size_t i;

	/* many ones: NaNs */
	for (i = 0; i < n_bytes; i++)
		to[i] = (unsigned char)(below(&lot, 3) ? below(&lot, 256) : 0x7f + 0x80 * below(&lot, 2));
}

/* An exscan's second rank copies only if the fold of one vector is a copy, whatever its bits. */
static bool keeps_one(void)
{
	unsigned char in[32 * 5], out[sizeof(in)];
	const void *from = in;
	uint32_t op, dtype, i, nr = 0;
	struct shm_fold f;
	bool good = true;

	for (i = 0; i < 200 * COLL_NR_OPS * COLL_NR_DTYPES && good; i++) {
		op = i % COLL_NR_OPS;
		dtype = i / COLL_NR_OPS % COLL_NR_DTYPES;
		f = (struct shm_fold){ 0 };
		if (!shm_fold_setup(&f, COLL_EXSCAN, op, dtype, below(&lot, 2), true, 2) ||
		    !shm_fold_keeps_one(&f))
			continue;
		draw_bytes(in, sizeof(in));
		shm_fold_run(&f, out, &from, 1, NULL, 2, 5);
		nr++;
		good = !memcmp(in, out, 5 * f.elem);
		if (!good)
			printf("# operator %u on type %u\n", op, dtype);
	}
	return good && nr;
}

/* With several nodes the kernel reads all of the slot, and writes the result. */
static bool nodes_write_all(void)
{
	struct rank *k = &ranks[1];
	bool good = true;
	uint32_t i;

	for (i = 0; i < NR_KINDS; i++) {
		if (kinds[i] == COLL_EXSCAN)
			continue;
		world_setup(2, true);
		prepare(k, kinds[i], DATA / 2, 1, false);
		good &= setup(k) && !k->m.copy.early && !k->m.own_bytes;
		shm_op_write(&k->shm, &k->m, &k->o);
		good &= !memcmp(shm_own_slot(&k->shm, k->o.pos) + 1, k->in, k->m.in_bytes);
	}
	return good;
}

/* ---- threads ---- */

#define OPS	2000

/**
 * struct job - what a thread does
 * @lot: the same draws on all ranks
 */
struct job {
	pthread_t thread;
	struct rank *k;
	uint64_t lot;
	bool good;
};

static bool run_one(struct rank *k, uint64_t *draw)
{
	uint16_t what = kinds[below(draw, NR_KINDS)];
	uint32_t root = below(draw, n), first, nr;
	bool inplace = (what == COLL_GATHER || what == COLL_ALLGATHER) && below(draw, 2);
	size_t unit = 1 + below(draw, DATA), offset;

	if (has_all_blocks(what))
		unit = (unit + n - 1) / n;
	prepare(k, what, unit, root, inplace && (what == COLL_ALLGATHER || k->shm.me == root));
	if (!setup(k))
		return false;
	shm_op_write(&k->shm, &k->m, &k->o);
	if (shm_wait_awake(&k->shm, &k->o, &k->m) != SHM_COMPLETE ||
	    shm_op_finish(&k->comm, &k->m, &k->o) != SHM_COMPLETE)
		return false;
	nr = blocks_of(k, &first, &offset);
	return is_there(k, nr * unit);
}

static void *run_thread(void *arg)
{
	struct job *j = arg;
	int i;

	for (i = 0; i < OPS && j->good; i++)
		j->good = run_one(j->k, &j->lot);
	/* Else the other one waits for ever. */
	if (!j->good) {
		printf("# rank %u: op %d failed\n", j->k->shm.me, i);
		exit(1);
	}
	return NULL;
}

static bool threads(void)
{
	struct job job[2];
	bool good = true;
	uint32_t r;

	world_setup(2, false);
	for (r = 0; r < 2; r++) {
		job[r] = (struct job){ .k = &ranks[r], .lot = lot, .good = true };
		pthread_create(&job[r].thread, NULL, run_thread, &job[r]);
	}
	for (r = 0; r < 2; r++) {
		pthread_join(job[r].thread, NULL);
		good &= job[r].good;
	}
	return good;
}

int main(int argc, char **argv)
{
	char name[64];
	uint32_t size;

	lot = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	printf("# seed %llu\n", (unsigned long long)lot);
	/* A rank that waits forever is a failure, too. */
	alarm(600);
	for (size = 2; size <= MOST; size++) {
		snprintf(name, sizeof(name), "what %u ranks have written so far", size);
		ok(in_steps(size), name);
	}
	ok(not_for_this_op(), "a rank writes its input of another op");
	ok(nonsense(), "a rank tells nonsense about what it has written");
	ok(keeps_input(COLL_ALLTOALL) && keeps_input(COLL_EXSCAN),
	   "in place, no input is lost before the op is complete");
	ok(tells(), "a rank tells how much it has written");
	ok(keeps_one(), "the fold of a single vector is a copy");
	ok(own_part_stays(), "what no other rank reads is not in the slot");
	ok(nodes_write_all(), "with several nodes the whole input is in the slot");
	ok(threads(), "two threads");
	return ok_done();
}
