// SPDX-License-Identifier: GPL-2.0
/*
 * Tensors of a fusion end one by one. Where the test plays the other node, it sends all that a
 * small tensor needs, and holds back what a large one needs: the small one ends, and its
 * memory is its rank's again, while the large one cannot end.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/coll_nl.h>

#include "harness.h"
#include "pure/schedule.h"
#include "say.h"
#include "stalls.h"

#define SECOND		1000000000ULL
#define MODE		"/sys/module/coll/parameters/send_mode"
/* Elements. A fusion between nodes has no tensor of more than 512 KiB. */
#define SLOT		100
#define PAGES		3000
#define LARGE		100001
#define FRAME		65536
#define STREAM		(4 * LARGE * 4)

enum { SMALL_TAG = 1, LARGE_TAG };

/**
 * struct pair - a fusion of two tensors of a real rank and the one that the test plays
 * @small: elements of the small one
 * @in: inputs of the real rank, of both
 * @out: results
 * @part: the vector of the fusion, cut into chunks: chunk c has @part[c] to @part[c + 1], and of
 *	these @small_part[c] elements of the small tensor
 * @sig: signature of its frames
 * @got: what the real rank has sent on the data stream
 * @nr_got: bytes of it
 */
struct pair {
	struct peer p;
	uint32_t small, part[3], small_part[2];
	int32_t in[2][LARGE], out[2][LARGE], sent[2 * LARGE];
	uint64_t sig;
	pthread_t reader;
	uint8_t got[STREAM];
	size_t nr_got;
};

/* --- the other node -------------------------------------------------------------------------- */

static void *read_all(void *arg)
{
	struct pair *j = arg;
	ssize_t n;

	while (j->nr_got < sizeof(j->got)) {
		n = recv(j->p.sock[1], j->got + j->nr_got, sizeof(j->got) - j->nr_got, 0);
		if (n <= 0)
			break;
		__atomic_add_fetch(&j->nr_got, n, __ATOMIC_RELEASE);
	}
	return NULL;
}

static struct coll_coord_rec ready(const char *name, uint32_t count)
{
	struct coll_coord_rec r = say_record(COLL_READY, 0, 0);

	say_sum(&r, count);
	say_rename(&r, name);
	r.params.field[COLL_FIELD_DTYPE] = COLL_I32;
	r.params.field[COLL_FIELD_ALGORITHM] = COLL_ALG_RING;
	return r;
}

static int post(struct pair *j)
{
	struct coll_tensor t[2];
	struct coll_cmd cmds[2];
	uint32_t k;

	for (k = 0; k < 2; k++) {
		raw_allreduce(&cmds[k], j->in[k], j->out[k], k ? LARGE : j->small, COLL_I32,
			      COLL_OP_SUM);
		cmds[k].algorithm = COLL_ALG_RING;
		raw_tensor(&t[k], k ? "large" : "small", &cmds[k], k ? LARGE_TAG : SMALL_TAG);
	}
	return raw_post(j->p.c.fd[0], t, 2, NULL);
}

/* Two orders come: of one fusion, with the small tensor first. */
static bool is_fused(struct pair *j)
{
	struct coll_coord_rec a, b;
	struct coll_frame f;
	int n;

	if (!peer_read(&j->p, 0, &f, 10000) || f.type != COLL_FRAME_TENSOR)
		return false;
	n = coll_coord_get(j->p.payload, f.length, &a);
	return n > 0 && coll_coord_get(j->p.payload + n, f.length - n, &b) > 0 &&
	       a.kind == COLL_ORDER_START && !a.last && a.name_len == 5 && *a.name == 's' &&
	       b.kind == COLL_ORDER_START && b.last;
}

/* The vector of the fusion has first the small tensor's part of each chunk, then the large one's. */
static void lay_out(struct pair *j)
{
	uint64_t large[3];
	uint32_t c;

	for (c = 0; c < 3; c++) {
		large[c] = coll_chunk_start(LARGE, 2, c);
		j->part[c] = large[c] + coll_chunk_start(j->small, 2, c);
	}
	for (c = 0; c < 2; c++)
		j->small_part[c] = coll_chunk_start(j->small, 2, c + 1) -
				   coll_chunk_start(j->small, 2, c);
}

/* Element @i of chunk @c: which tensor's, and which one there? */
static uint32_t tensor_of(const struct pair *j, uint32_t c, uint32_t i, uint32_t *at)
{
	bool large = i >= j->small_part[c];

	*at = large ? i - j->small_part[c] + coll_chunk_start(LARGE, 2, c) :
		      i + coll_chunk_start(j->small, 2, c);
	return large;
}

static int32_t value(uint32_t rank, uint32_t tensor, uint32_t i)
{
	return test_value(rank, i + 1000000 * tensor);
}

static int32_t sum(uint32_t tensor, uint32_t i)
{
	return value(0, tensor, i) + value(1, tensor, i);
}

/* Elements @from to @to of chunk @c: those of the other rank, or the sums. */
static bool put(struct pair *j, uint32_t transfer, uint32_t c, uint32_t from, uint32_t to, bool sums)
{
	uint8_t hdr[COLL_WIRE_HDR];
	struct coll_frame f;
	uint32_t i, k, n, at;

	for (; from < to; from += n) {
		n = to - from < FRAME / 4 ? to - from : FRAME / 4;
		for (i = 0; i < n; i++) {
			k = tensor_of(j, c, from + i, &at);
			j->sent[i] = sums ? sum(k, at) : value(1, k, at);
		}
		peer_frame(&j->p, &f, COLL_FRAME_DATA, n * 4);
		f.seq = 1;
		f.transfer = transfer;
		f.offset = from * 4;
		f.signature = j->sig;
		coll_wire_put_header(hdr, &f);
		if (!peer_write(&j->p, 1, hdr, sizeof(hdr)) ||
		    !peer_write(&j->p, 1, j->sent, n * 4))
			return false;
	}
	return true;
}

static uint32_t chunk(const struct pair *j, uint32_t c)
{
	return j->part[c + 1] - j->part[c];
}

/* Chunk 1 of the other node, and of the sums of chunk 0 those of the small tensor. */
static bool put_first(struct pair *j)
{
	return put(j, 0, 1, 0, chunk(j, 1), false) && put(j, 1, 0, 0, j->small_part[0], true);
}

static bool put_rest(struct pair *j)
{
	return put(j, 1, 0, j->small_part[0], chunk(j, 0), true);
}

/*
 * All ranks but one have posted all tensors, as node 0 knows, within 20 s. @n: tensors times real
 * nodes: node 0 lists that rank, and other nodes say that theirs have posted it.
 */
static bool only_missing(int n)
{
	int k;

	for (k = 0; k < 2000 && stalls_dump(NULL, 0) != n; k++)
		test_sleep_us(10000);
	return k < 2000;
}

/* --- one fusion -------------------------------------------------------------------------------- */

static struct pair *pair_start(struct __test_metadata *_metadata, uint32_t small)
{
	struct pair *j = calloc(1, sizeof(*j));
	struct coll_coord_rec r;
	uint32_t i, k;
	struct say t;

	ASSERT_NE(NULL, j);
	j->small = small;
	lay_out(j);
	for (k = 0; k < 2; k++)
		for (i = 0; i < LARGE; i++)
			j->in[k][i] = value(0, k, i);
	ASSERT_EQ(0, peer_start_named(&j->p, 0));
	say_begin(&t);
	r = ready("small", small);
	say_add(&t, &r);
	r = ready("large", LARGE);
	say_add(&t, &r);
	ASSERT_TRUE(say_send(&t, &j->p, 0));
	/* Both are ready at once when the rank posts them. */
	ASSERT_TRUE(only_missing(2));
	ASSERT_EQ(0, pthread_create(&j->reader, NULL, read_all, j));
	ASSERT_EQ(0, post(j));
	ASSERT_TRUE(is_fused(j));
	j->sig = coll_digest(coll_signature(COLL_ALLREDUCE, COLL_OP_SUM, COLL_I32, COLL_ALG_RING, 0,
					    coll_digest(small, LARGE), 1), COLL_WIRE_FUSED);
	return j;
}

/* The reader sees the end of the stream. */
static void pair_stop(struct pair *j)
{
	shutdown(j->p.sock[1], SHUT_RDWR);
	pthread_join(j->reader, NULL);
	peer_stop(&j->p);
	free(j);
}

static unsigned long wrong(const struct pair *j, uint32_t tensor)
{
	unsigned long n = 0;
	uint32_t i;

	for (i = 0; i < (tensor ? LARGE : j->small); i++)
		n += j->out[tensor][i] != sum(tensor, i);
	return n;
}

static uint8_t spoiled(uint32_t i)
{
	return (uint8_t)(i * 13 + 5);
}

/* The rank uses the memory of the small tensor for other things. */
static void spoil(struct pair *j)
{
	uint32_t i;

	for (i = 0; i < j->small * 4; i++) {
		((uint8_t *)j->in[0])[i] = spoiled(i);
		((uint8_t *)j->out[0])[i] = spoiled(i);
	}
}

static unsigned long touched(const struct pair *j)
{
	unsigned long n = 0;
	uint32_t i;

	for (i = 0; i < j->small * 4; i++)
		n += ((const uint8_t *)j->in[0])[i] != spoiled(i) ||
		     ((const uint8_t *)j->out[0])[i] != spoiled(i);
	return n;
}

/* Elements that have not come to the other node, or wrong: inputs of chunk 0, sums of chunk 1. */
static unsigned long wrong_sent(struct pair *j)
{
	size_t at = 0, end = __atomic_load_n(&j->nr_got, __ATOMIC_ACQUIRE);
	unsigned long bad = 0, seen = 0;
	struct coll_frame f;
	uint32_t i, k, pos;
	int32_t v;

	while (at + COLL_WIRE_HDR <= end) {
		if (coll_wire_get_header(j->got + at, &f) || at + COLL_WIRE_HDR + f.length > end)
			break;
		at += COLL_WIRE_HDR;
		for (i = 0; f.type == COLL_FRAME_DATA && i < f.length / 4; i++, seen++) {
			memcpy(&v, j->got + at + 4 * i, 4);
			k = tensor_of(j, f.transfer, f.offset / 4 + i, &pos);
			bad += v != (f.transfer ? sum(k, pos) : value(0, k, pos));
		}
		at += f.length;
	}
	return bad + (seen != j->part[2]);
}

static int collect(struct pair *j, struct coll_tensor_result *res, uint64_t ns)
{
	memset(res, 0, sizeof(*res));
	return raw_collect(j->p.c.fd[0], res, 1, 1, ns);
}

static void small_is_over(struct __test_metadata *_metadata, struct pair *j)
{
	struct coll_tensor_result res;

	ASSERT_TRUE(put_first(j));
	ASSERT_EQ(1, collect(j, &res, 20 * SECOND));
	EXPECT_EQ(SMALL_TAG, res.tag);
	EXPECT_EQ(0, res.result);
	EXPECT_EQ(0, wrong(j, 0));
	EXPECT_EQ(-ETIMEDOUT, collect(j, &res, SECOND / 10));
}

static void large_follows(struct __test_metadata *_metadata, uint32_t small)
{
	struct pair *j = pair_start(_metadata, small);
	struct coll_tensor_result res;
	unsigned int n;

	small_is_over(_metadata, j);
	spoil(j);
	ASSERT_TRUE(put_rest(j));
	ASSERT_EQ(1, collect(j, &res, 20 * SECOND));
	EXPECT_EQ(LARGE_TAG, res.tag);
	EXPECT_EQ(0, res.result);
	EXPECT_EQ(0, wrong(j, 1));
	EXPECT_EQ(0, touched(j));
	EXPECT_EQ(1, stalls_count(COLL_NL_GROUP_EARLY));
	/* Nothing is left to be collected. */
	EXPECT_EQ(0, collect(j, &res, SECOND));
	for (n = 0; n < 1000 && wrong_sent(j); n++)
		test_sleep_us(10000);
	EXPECT_EQ(0, wrong_sent(j));
	pair_stop(j);
}

/* A tensor that has been copied, and one whose pages are pinned; ubuf: pages are given to TCP. */
TEST(the_large_one_follows)
{
	ASSERT_LE(0, stalls_open());
	ASSERT_TRUE(test_put(MODE, "copy"));
	large_follows(_metadata, SLOT);
	large_follows(_metadata, PAGES);
	ASSERT_TRUE(test_put(MODE, "ubuf"));
	large_follows(_metadata, SLOT);
	large_follows(_metadata, PAGES);
	ASSERT_TRUE(test_put(MODE, "auto"));
}

/* The communicator fails then: only the large one hears of it. */
TEST(the_large_one_fails)
{
	struct coll_tensor_result res;
	struct coll_status s;
	struct pair *j;

	ASSERT_LE(0, stalls_open());
	j = pair_start(_metadata, PAGES);
	small_is_over(_metadata, j);
	spoil(j);
	shutdown(j->p.sock[1], SHUT_RDWR);
	ASSERT_EQ(1, collect(j, &res, 20 * SECOND));
	EXPECT_EQ(LARGE_TAG, res.tag);
	EXPECT_EQ(-EHOSTDOWN, res.result);
	EXPECT_EQ(0, collect(j, &res, SECOND));
	EXPECT_EQ(0, touched(j));
	ASSERT_EQ(0, raw_status(j->p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_LINK, s.cause.kind);
	pair_stop(j);
}

/* Before any of it is over: both hear of it, once. */
TEST(both_fail)
{
	struct coll_tensor_result res[2];
	struct pair *j;

	ASSERT_LE(0, stalls_open());
	j = pair_start(_metadata, PAGES);
	ASSERT_TRUE(put(j, 0, 1, 0, chunk(j, 1), false));
	ASSERT_EQ(0, raw_abort(j->p.c.fd[0], 7));
	ASSERT_EQ(2, raw_collect(j->p.c.fd[0], res, 2, 2, 20 * SECOND));
	EXPECT_EQ(SMALL_TAG + LARGE_TAG, res[0].tag + res[1].tag);
	EXPECT_EQ(-ESHUTDOWN, res[0].result);
	EXPECT_EQ(-ESHUTDOWN, res[1].result);
	EXPECT_EQ(0, collect(j, res, SECOND));
	pair_stop(j);
}

/* The rank closes while the large one runs; the result of the small one has been taken, or not. */
TEST(the_rank_goes)
{
	struct pair *j;

	ASSERT_LE(0, stalls_open());
	j = pair_start(_metadata, PAGES);
	small_is_over(_metadata, j);
	pair_stop(j);
	j = pair_start(_metadata, SLOT);
	ASSERT_TRUE(put_first(j));
	test_sleep_us(100000);
	pair_stop(j);
}

/* --- real nodes ---------------------------------------------------------------------------------- */

#define NAMES	24
#define RANKS	4

struct many {
	struct raw_comm c;
	int32_t in[RANKS][NAMES][LARGE], out[RANKS][NAMES][LARGE];
};

/* The first one is small. */
static uint32_t count_of(uint32_t k)
{
	return k ? LARGE - 7 * k : SLOT;
}

/* Rank 0 comes last: then all are ready at once, in its order. */
static int post_many(struct many *m)
{
	struct coll_tensor t[NAMES];
	struct coll_cmd cmds[NAMES];
	char name[NAMES][8];
	uint32_t r, k, i;
	int ret;

	for (r = m->c.size; r-- > 0; ) {
		for (k = 0; k < NAMES; k++) {
			for (i = 0; i < count_of(k); i++)
				m->in[r][k][i] = value(r, k, i);
			memset(m->out[r][k], 0, sizeof(m->out[r][k]));
			snprintf(name[k], sizeof(name[k]), "t%u", k);
			raw_allreduce(&cmds[k], m->in[r][k], m->out[r][k], count_of(k), COLL_I32,
				      COLL_OP_SUM);
			raw_tensor(&t[k], name[k], &cmds[k], k);
		}
		if (!r && m->c.size > 1 && !only_missing(NAMES * m->c.nodes))
			return -ETIMEDOUT;
		ret = raw_post(m->c.fd[r], t, NAMES, NULL);
		if (ret)
			return ret;
	}
	return 0;
}

/* What rank @r has got for tensor @k is wrong. */
static bool is_wrong(const struct many *m, uint32_t r, uint32_t k)
{
	uint32_t i, q, want;

	for (i = 0; i < count_of(k); i++) {
		for (want = 0, q = 0; q < m->c.size; q++)
			want += (uint32_t)value(q, k, i);
		if ((uint32_t)m->out[r][k][i] != want)
			return true;
	}
	return false;
}

/* Memory of a tensor that is over belongs to its rank: what is written there stays. */
static bool is_touched(const struct many *m, uint32_t r, uint32_t k)
{
	const uint8_t *in = (const uint8_t *)m->in[r][k], *out = (const uint8_t *)m->out[r][k];
	uint32_t i;

	for (i = 0; i < count_of(k) * 4; i++)
		if (in[i] != 0x5a || out[i] != 0x5a)
			return true;
	return false;
}

/**
 * struct taker - a rank that takes its results one by one, and uses their memory at once
 * @m: all
 * @r: rank
 * @last: tag of the last result
 * @bad: results that are errors, or wrong; and memory that has changed afterwards
 */
struct taker {
	pthread_t thread;
	struct many *m;
	uint32_t r;
	uint64_t last;
	unsigned int bad;
};

static void *take_all(void *arg)
{
	struct coll_tensor_result res;
	struct taker *t = arg;
	struct many *m = t->m;
	uint32_t n, k, r = t->r;

	for (n = 0; n < NAMES; n++) {
		memset(&res, 0, sizeof(res));
		if (raw_collect(m->c.fd[r], &res, 1, 1, 60 * SECOND) != 1 || res.result) {
			t->bad++;
			break;
		}
		k = (uint32_t)res.tag;
		t->bad += is_wrong(m, r, k);
		memset(m->in[r][k], 0x5a, sizeof(m->in[r][k]));
		memset(m->out[r][k], 0x5a, sizeof(m->out[r][k]));
		t->last = res.tag;
	}
	return NULL;
}

/* One fusion of all. All tensors of it end before it, on each rank, but one: not the small one. */
static void many(struct __test_metadata *_metadata, uint32_t size, uint32_t nodes)
{
	struct many *m = calloc(1, sizeof(*m));
	struct taker t[RANKS];
	uint32_t r, k;

	ASSERT_NE(NULL, m);
	ASSERT_EQ(0, raw_start_named(&m->c, size, nodes));
	ASSERT_EQ(0, raw_set_fusion(&m->c, 64 << 20, 0, 0));
	ASSERT_EQ(0, post_many(m));
	for (r = 0; r < size; r++) {
		t[r] = (struct taker){ .m = m, .r = r };
		ASSERT_EQ(0, pthread_create(&t[r].thread, NULL, take_all, &t[r]));
	}
	for (r = 0; r < size; r++)
		pthread_join(t[r].thread, NULL);
	for (r = 0; r < size; r++) {
		for (k = 0; k < NAMES; k++)
			t[r].bad += is_touched(m, r, k);
		EXPECT_EQ(0, t[r].bad);
		EXPECT_NE(0, t[r].last);
	}
	EXPECT_EQ(nodes, stalls_count(COLL_NL_GROUP_FUSIONS));
	EXPECT_EQ(size * (NAMES - 1), stalls_count(COLL_NL_GROUP_EARLY)) {
		TH_LOG("%u ranks, %u nodes", size, nodes);
	}
	raw_stop(&m->c);
	free(m);
}

TEST(one_node)
{
	ASSERT_LE(0, stalls_open());
	many(_metadata, 1, 1);
	many(_metadata, 3, 1);
}

TEST(several_nodes)
{
	static const char *const modes[] = { "copy", "splice", "ubuf", "auto" };
	size_t i;

	ASSERT_LE(0, stalls_open());
	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		ASSERT_TRUE(test_put(MODE, modes[i]));
		many(_metadata, 2, 2);
		many(_metadata, 4, 2);
		many(_metadata, 3, 3);
	}
}

TEST_HARNESS_MAIN
