// SPDX-License-Identifier: GPL-2.0
/* Arguments of a user for an ioctl or for io_uring: right structs, and some wrong ones. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

/* At a fixed place, so that a seed always means the same. */
#define POOL		0x20000000UL
#define POOL_RW		(256UL << 10)
#define POOL_PART	(64UL << 10)
#define POOL_CANARY	0x30000000UL
/*
 * Structs of calls point to slots behind the counts: SLOT_CMDS commands, with their struct
 * coll_post_entry, struct coll_tensor and names.
 */
#define SLOTS		16
#define SLOT_BYTES	2048
#define SLOT_CMDS	3
#define SLOT(n)		((struct slot *)(POOL + POOL_RW / 2 + 4096 + (n) * SLOT_BYTES))

struct slot {
	struct coll_cmd cmd[SLOT_CMDS];
	struct coll_post_entry entry[SLOT_CMDS];
	struct coll_tensor tensor[SLOT_CMDS];
	char name[SLOT_CMDS][8];
};

_Static_assert(sizeof(struct slot) <= SLOT_BYTES, "a slot is too small");

static int map_at(unsigned long at, unsigned long len, int prot)
{
	void *p = mmap((void *)at, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		       -1, 0);

	return p == (void *)at ? 0 : -errno;
}

/* Writable, a hole without rights, read-only, nothing; and what no call names. */
int calls_memory(void)
{
	int ret = map_at(POOL, POOL_RW, PROT_READ | PROT_WRITE);

	if (!ret)
		ret = map_at(POOL + POOL_RW, POOL_PART, PROT_NONE);
	if (!ret)
		ret = map_at(POOL + POOL_RW + POOL_PART, POOL_PART, PROT_READ);
	if (!ret)
		ret = map_at(POOL_CANARY, POOL_PART, PROT_READ | PROT_WRITE);
	if (!ret)
		memset((void *)POOL_CANARY, 0xa5, POOL_PART);
	return ret;
}

size_t calls_hurt(void)
{
	const uint8_t *p = (void *)POOL_CANARY;
	size_t i, n = 0;

	for (i = 0; i < POOL_PART; i++)
		n += p[i] != 0xa5;
	return n;
}

uint64_t calls_address(uint64_t *lots)
{
	switch (test_below(lots, 24)) {
	case 0:
		return POOL + POOL_RW - 1 - test_below(lots, 4096);
	case 1:
		return POOL + POOL_RW + test_below(lots, POOL_PART);
	case 2:
		return POOL + POOL_RW + POOL_PART + test_below(lots, POOL_PART);
	case 3:
		return POOL + POOL_RW + 3 * POOL_PART;
	case 4:
		return 0xffff888000000000ULL;
	case 5:
		return ~0ULL - test_below(lots, 4096);
	case 6:
		return test_below(lots, 4096);
	default:
		return POOL + (test_below(lots, POOL_RW / 2) & ~15ULL);
	}
}

static uint64_t interesting(uint64_t *lots)
{
	static const uint64_t some[] = {
		0, 1, 2, 3, 4, 7, 8, 16, 63, 64, 65, 127, 255, 256, 1023, 1024, 1025, 4095, 4096,
		4097, 65535, 65536, 1 << 20, (1U << 31) - 1, 1U << 31, ~0U, 1ULL << 32,
		(1ULL << 32) + 1, 1ULL << 38, 1ULL << 61, 1ULL << 62, (1ULL << 63) - 1, 1ULL << 63,
		~0ULL - 4096, ~0ULL - 2047, ~0ULL - 1, ~0ULL,
	};

	switch (test_below(lots, 4)) {
	case 0:
		return test_rand(lots);
	case 1:
		return calls_address(lots);
	default:
		return some[test_below(lots, sizeof(some) / sizeof(some[0]))];
	}
}

static void make_cmd(struct coll_cmd *cmd, uint64_t *lots)
{
	static const unsigned int types[] = {
		COLL_I32, COLL_F32, COLL_F64, COLL_BF16, COLL_U8, COLL_BYTE,
	};
	unsigned int kind = 1 + test_below(lots, COLL_NR_COLLECTIVES - 1), i;
	bool reduces = kind == COLL_REDUCE || kind == COLL_ALLREDUCE || kind == COLL_SCAN ||
		kind == COLL_EXSCAN || kind == COLL_REDUCE_SCATTER ||
		kind == COLL_REDUCE_SCATTER_BLOCK;
	uint64_t *counts = (void *)(POOL + POOL_RW / 2);

	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = kind;
	if (kind == COLL_BARRIER)
		return;
	cmd->dtype = types[test_below(lots, reduces ? 5 : 6)];
	cmd->op = reduces ? (test_below(lots, 4) ? COLL_OP_SUM : test_below(lots, COLL_NR_OPS)) : 0;
	cmd->algorithm = test_below(lots, 3) ? 0 : test_below(lots, COLL_NR_ALGS);
	cmd->count = test_below(lots, 3) ? test_below(lots, 64) : test_below(lots, 8192);
	if (!test_below(lots, 32))
		cmd->count = interesting(lots);
	cmd->recv_addr = calls_address(lots);
	if (kind != COLL_BROADCAST)
		cmd->send_addr = POOL + POOL_RW / 2 + POOL_PART;
	if (kind >= COLL_SEND) {
		cmd->op = 0;
		cmd->root = test_below(lots, 2);
		cmd->source = kind == COLL_SEND ? 0 : test_below(lots, 2);
		if (kind == COLL_SEND)
			cmd->recv_addr = 0;
		if (kind != COLL_SEND && kind != COLL_SENDRECV)
			cmd->send_addr = cmd->root = 0;
		if (kind == COLL_PROBE || kind == COLL_MPROBE) {
			cmd->message_addr = cmd->recv_addr;
			cmd->recv_addr = cmd->count = cmd->dtype = 0;
		}
		if (kind == COLL_MRECV) {
			cmd->source = 0;
			cmd->matched = 1 + test_below(lots, 64);
		}
		if (kind == COLL_SENDRECV)
			cmd->recv_count = cmd->count;
	}
	if (kind == COLL_ALLGATHERV || kind == COLL_GATHERV || kind == COLL_SCATTERV ||
	    kind == COLL_ALLTOALLV || kind == COLL_REDUCE_SCATTER) {
		cmd->count = 0;
		cmd->counts_addr = (uintptr_t)counts;
		for (i = 0; i < 8; i++)
			counts[i] = test_below(lots, 100);
	}
	cmd->flags = test_below(lots, 6) ? 0 : 1U << test_below(lots, 7);
	if (cmd->flags & COLL_CMD_INPLACE)
		cmd->send_addr = 0;
}

/* Commands, their names and the structs that point to them, for verbs that take several. */
static struct slot *make_slot(uint64_t *lots)
{
	struct slot *s = SLOT(test_below(lots, SLOTS));
	unsigned int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < SLOT_CMDS; i++) {
		make_cmd(&s->cmd[i], lots);
		s->cmd[i].handle = test_below(lots, 4);
		s->name[i][0] = 'a' + test_below(lots, 4);
		s->entry[i].arg = (uintptr_t)&s->cmd[i];
		s->entry[i].len = sizeof(s->cmd[i]);
		s->entry[i].tag = i;
		raw_tensor(&s->tensor[i], s->name[i], &s->cmd[i], i);
		s->tensor[i].priority = test_below(lots, 3);
		if (test_below(lots, 4) || !s->cmd[i].count)
			continue;
		s->tensor[i].ndim = 2;
		s->tensor[i].dims[0] = s->cmd[i].count;
		s->tensor[i].dims[1] = 1;
	}
	return s;
}

static void make_posts(struct call *c, uint64_t *lots)
{
	struct slot *s = make_slot(lots);
	uint32_t nr = 1 + test_below(lots, SLOT_CMDS);
	struct coll_post p = { .entries = (uintptr_t)s->entry, .nr = nr };
	struct coll_tensor_post t = {
		.tensors = (uintptr_t)s->tensor, .nr = nr, .size = sizeof(s->tensor[0]),
	};

	if (c->request == COLL_IOC_POST)
		memcpy(c->bytes, &p, sizeof(p));
	else
		memcpy(c->bytes, &t, sizeof(t));
}

static void make_waits(struct call *c, uint64_t *lots)
{
	uint32_t nr = 1 + test_below(lots, 4), min = test_below(lots, nr + 1);
	struct coll_collect p = { .completions = calls_address(lots), .nr = nr, .min = min };
	struct coll_tensor_wait t = { .results = calls_address(lots), .nr = nr, .min = min };

	if (c->request == COLL_IOC_COLLECT)
		memcpy(c->bytes, &p, sizeof(p));
	else
		memcpy(c->bytes, &t, sizeof(t));
}

/* The struct of a verb as it should be. */
static void make_struct(struct call *c, uint64_t *lots)
{
	struct coll_link_add l = {
		.peer = test_below(lots, 2), .fd = test_below(lots, 24),
		.stripe = test_below(lots, 4), .flags = !test_below(lots, 4) * COLL_LINK_SHARE,
	};
	struct coll_join j = { .size = 2, .nr_nodes = 1, .rank = test_below(lots, 2),
			       .node_of = POOL + POOL_RW - 4096 };
	struct coll_register r = { .addr = calls_address(lots), .len = test_below(lots, 65536) };
	struct coll_unregister u = { .id = test_below(lots, 4) };
	struct coll_stripe p = { .links = 1 + test_below(lots, 8) };
	struct coll_tensor_fuse fuse = { };
	struct coll_select s = { .collective = test_below(lots, 20), .nr = test_below(lots, 3),
				 .rows = calls_address(lots) };
	struct coll_cancel x = { .handle = test_below(lots, 4) };

	switch (c->request) {
	case COLL_IOC_JOIN:
		memset(j.key, test_below(lots, 4), sizeof(j.key));
		j.flags = test_below(lots, 3) ? 0 : COLL_JOIN_NAMED;
		memcpy(c->bytes, &j, sizeof(j));
		break;
	case COLL_IOC_LINK:
		memcpy(c->bytes, &l, sizeof(l));
		break;
	case COLL_IOC_REGISTER:
		memcpy(c->bytes, &r, sizeof(r));
		break;
	case COLL_IOC_UNREGISTER:
		memcpy(c->bytes, &u, sizeof(u));
		break;
	case COLL_IOC_SELECT:
		memcpy(c->bytes, &s, sizeof(s));
		break;
	case COLL_IOC_STRIPE:
		memcpy(c->bytes, &p, sizeof(p));
		break;
	case COLL_IOC_TENSOR_FUSE:
		fuse.threshold = test_below(lots, 2) ? test_below(lots, 1 << 20) : 0;
		fuse.most = test_below(lots, 4);
		fuse.ahead = test_below(lots, 4);
		memcpy(c->bytes, &fuse, sizeof(fuse));
		break;
	case COLL_IOC_CANCEL:
		if (!x.handle)
			x.flags = COLL_CANCEL_RECEIVES;
		memcpy(c->bytes, &x, sizeof(x));
		break;
	case COLL_IOC_POST:
	case COLL_IOC_TENSOR_POST:
		make_posts(c, lots);
		break;
	case COLL_IOC_COLLECT:
	case COLL_IOC_TENSOR_WAIT:
		make_waits(c, lots);
		break;
	case COLL_IOC_SUBMIT:
		make_cmd(&c->cmd, lots);
		break;
	}
}

static void make_call(struct call *c, uint64_t *lots, bool submit)
{
	static const unsigned long verbs[] = {
		COLL_IOC_VERSION, COLL_IOC_JOIN, COLL_IOC_LINK, COLL_IOC_REGISTER,
		COLL_IOC_UNREGISTER, COLL_IOC_ABORT, COLL_IOC_STATUS,
		COLL_IOC_SELECT, COLL_IOC_STRIPE, COLL_IOC_CANCEL, COLL_IOC_POST,
		COLL_IOC_COLLECT, COLL_IOC_TENSOR_POST, COLL_IOC_TENSOR_WAIT,
		COLL_IOC_TENSOR_FUSE,
		/* Most of what they do takes several calls. */
		COLL_IOC_POST, COLL_IOC_COLLECT, COLL_IOC_TENSOR_POST, COLL_IOC_TENSOR_WAIT,
		COLL_IOC_POST, COLL_IOC_TENSOR_POST,
	};

	memset(c, 0, sizeof(*c));
	c->request = COLL_IOC_SUBMIT;
	if (!submit && test_below(lots, 2))
		c->request = verbs[test_below(lots, sizeof(verbs) / sizeof(verbs[0]))];
	c->file = test_below(lots, CALL_FILES);
	c->partner = !c->file && test_below(lots, 4);
	make_struct(c, lots);
}

/* Change what the struct of a call points to. Return: false if it has no such thing. */
static bool change_slot(const struct call *c, uint64_t *lots)
{
	uint64_t v = interesting(lots);
	uint8_t *slot;

	if (c->request != COLL_IOC_POST && c->request != COLL_IOC_TENSOR_POST)
		return false;
	slot = (uint8_t *)SLOT(test_below(lots, SLOTS));
	memcpy(slot + test_below(lots, sizeof(struct slot) / 4) * 4, &v, 4);
	return true;
}

/* One thing about a call is changed. */
static void change_call(struct call *c, uint64_t *lots, bool submit)
{
	unsigned int size = _IOC_SIZE(c->request), at;
	uint64_t v = interesting(lots);

	if (test_below(lots, 3) && change_slot(c, lots))
		return;
	size = size && size <= CALL_BYTES ? size : 64;
	switch (test_below(lots, submit ? 9 : 12)) {
	case 0 ... 5:
		at = test_below(lots, size / 4) * 4;
		memcpy(c->bytes + at, &v, at % 8 || test_below(lots, 2) ? 4 : 8);
		break;
	case 6:
		c->bytes[test_below(lots, size)] ^= 1 << test_below(lots, 8);
		break;
	case 7:
		c->file = test_below(lots, CALL_FILES);
		break;
	case 8:
		c->partner = !c->partner;
		break;
	case 9:
		c->request = _IOC(_IOC_DIR(c->request), COLL_IOC_MAGIC, _IOC_NR(c->request),
				  test_below(lots, CALL_BYTES));
		break;
	case 10:
		c->request = _IOC(test_below(lots, 4), COLL_IOC_MAGIC, test_below(lots, 256), size);
		break;
	case 11:
		c->request = test_rand(lots);
		break;
	}
}

static uint64_t soon(uint64_t timeout_ns)
{
	return 1000000 + timeout_ns % 4000000;
}

static void hurry_slots(void)
{
	unsigned int i, k;

	for (i = 0; i < SLOTS; i++)
		for (k = 0; k < SLOT_CMDS; k++)
			SLOT(i)->cmd[k].timeout_ns = soon(SLOT(i)->cmd[k].timeout_ns);
}

/* No command waits for long, since one rank of two may be all there is. */
static void hurry(struct call *c)
{
	struct coll_collect *p = (void *)c->bytes;
	struct coll_tensor_wait *t = (void *)c->bytes;

	switch (_IOC_NR(c->request)) {
	case _IOC_NR(COLL_IOC_SUBMIT):
		c->cmd.timeout_ns = soon(c->cmd.timeout_ns);
		break;
	case _IOC_NR(COLL_IOC_COLLECT):
		p->timeout_ns = soon(p->timeout_ns);
		break;
	case _IOC_NR(COLL_IOC_TENSOR_WAIT):
		t->timeout_ns = soon(t->timeout_ns);
		break;
	}
}

void calls_make(struct calls *c, const struct fuzz_seeds *s, bool submit)
{
	uint64_t lots = s->seed[0];
	unsigned int i, k;

	c->n = 1 + test_below(&lots, CALLS_MAX);
	c->nodes = 1 + test_below(&lots, 2);
	c->named = !submit && test_below(&lots, 2);
	for (i = 0; i < SLOTS; i++)
		memset(SLOT(i), 0, SLOT_BYTES);
	for (i = 0; i < c->n; i++) {
		make_call(&c->call[i], &lots, submit);
		for (k = test_below(&lots, 4); k > 1; k--)
			change_call(&c->call[i], &lots, submit);
	}
	for (k = 1; k < s->n; k++) {
		lots = s->seed[k];
		i = test_below(&lots, c->n);
		if (!test_below(&lots, 4))
			make_call(&c->call[i], &lots, submit);
		else
			change_call(&c->call[i], &lots, submit);
	}
	for (i = 0; i < c->n; i++)
		hurry(&c->call[i]);
	hurry_slots();
	c->lots = lots;
}

bool calls_open(struct calls_files *f, const struct calls *c)
{
	int ret = c->named ? raw_start_named(&f->comm, 2, c->nodes) :
		  raw_start(&f->comm, 2, c->nodes);

	if (ret || raw_start(&f->solo, 1, 1)) {
		fuzz_complain("no communicator to begin with");
		return false;
	}
	f->fd[0] = f->comm.fd[0];
	f->fd[1] = f->comm.fd[1];
	f->fd[2] = f->solo.fd[0];
	f->fd[3] = raw_open();
	return true;
}

void calls_close(struct calls_files *f)
{
	raw_stop(&f->comm);
	raw_stop(&f->solo);
	close(f->fd[3]);
}

void calls_check_good(unsigned int nodes)
{
	static unsigned int rounds;
	struct raw_comm c;
	int ret;

	if (calls_hurt())
		fuzz_complain("%zu bytes changed that nobody named", calls_hurt());
	if (++rounds % 64)
		return;
	ret = raw_start(&c, 2, nodes);
	if (!ret)
		ret = test_good(&c);
	if (ret)
		fuzz_complain("another communicator does not work any more: %d", ret);
	raw_stop(&c);
}
