// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Encoding and decoding of frames, byte by byte, so that neither the host's
 * byte order nor the alignment of the buffer matters.
 */
#include "bytes.h"
#include "wire.h"

#define CAUSE_ERROR_MAX		133	/* EHWPOISON: beyond are the kernel's own */
#define CAUSE_SIGNAL_MAX	128	/* largest _NSIG of any architecture */
#define CAUSE_PID_MAX		0x7fffffffU

/*
 * One round of SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom
 * Number Generators", OOPSLA 2014; the increment is 2^64 over the golden ratio,
 * the multipliers and shifts are Stafford's variant 13 of the MurmurHash3
 * finaliser (2011). A bijection of @v for a fixed @h and the other way round,
 * so a change of one argument alone always changes the result.
 */
static u64 mix(u64 h, u64 v)
{
	h = (h ^ v) + 0x9e3779b97f4a7c15ULL;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ULL;
	h = (h ^ h >> 27) * 0x94d049bb133111ebULL;
	return h ^ h >> 31;
}

u64 coll_wire_comm(const u8 *name)
{
	return get64(name);
}

u64 coll_signature(u32 collective, u32 op, u32 dtype, u32 algorithm, u32 root,
		   u64 count, u64 seq)
{
	u64 h = COLL_WIRE_MAGIC;

	h = mix(h, (u64)collective << 32 | op);
	h = mix(h, algorithm);
	h = mix(h, (u64)dtype << 32 | root);
	h = mix(h, count);
	h = mix(h, seq);
	return h ? h : 1;
}

u64 coll_digest(u64 digest, u64 value)
{
	return mix(digest, value);
}

void coll_wire_put_header(u8 *buf, const struct coll_frame *f)
{
	put32(buf, COLL_WIRE_MAGIC);
	buf[4] = COLL_WIRE_VERSION;
	buf[5] = f->type;
	put16(buf + 6, f->flags);
	put64(buf + 8, f->comm);
	put32(buf + 16, f->epoch);
	put32(buf + 20, f->transfer);
	put64(buf + 24, f->seq);
	put64(buf + 32, f->offset);
	put32(buf + 40, f->length);
	put32(buf + 44, f->crc);
	put64(buf + 48, f->signature);
}

/* A frame that belongs to no op: it has a known length, and the fields of an op are zero. */
static bool control_ok(const struct coll_frame *f, u32 length)
{
	return f->length == length && !f->transfer && !f->seq && !f->offset &&
	       !f->signature;
}

static bool data_ok(const struct coll_frame *f)
{
	return f->length <= COLL_WIRE_DATA_MAX && f->seq &&
	       f->offset <= ~(u64)0 - f->length;
}

/* POST has no payload. */
static bool post_ok(const struct coll_frame *f)
{
	return !f->length && !f->transfer && !f->offset && f->seq &&
	       f->signature;
}

/* ACK has no payload; @offset is the number of bytes consumed. */
static bool ack_ok(const struct coll_frame *f)
{
	return !f->length && !f->transfer && !f->seq && f->offset &&
	       !f->signature;
}

static bool rts_ok(const struct coll_frame *f)
{
	return f->length == COLL_WIRE_RTS && !f->transfer && f->seq && !f->offset &&
	       !f->signature;
}

static bool cts_ok(const struct coll_frame *f)
{
	return !f->length && f->transfer <= CAUSE_ERROR_MAX && f->seq && !f->offset &&
	       !f->signature;
}

/* CANCEL has no payload. */
static bool cancel_ok(const struct coll_frame *f)
{
	return !f->length && !f->transfer && f->seq && !f->offset && !f->signature;
}

/* Records, one behind the other: they say themselves how long they are. */
static bool tensor_ok(const struct coll_frame *f)
{
	return f->length && f->length <= COLL_WIRE_TENSOR_MAX && control_ok(f, f->length);
}

static bool msg_ok(const struct coll_frame *f)
{
	return data_ok(f) && f->length && !f->transfer && !f->signature;
}

int coll_wire_get_header(const u8 *buf, struct coll_frame *f)
{
	u16 flags = 0;
	bool ok;

	if (get32(buf) != COLL_WIRE_MAGIC || buf[4] != COLL_WIRE_VERSION)
		return -EPROTO;

	f->type = buf[5];
	f->flags = get16(buf + 6);
	f->comm = get64(buf + 8);
	f->epoch = get32(buf + 16);
	f->transfer = get32(buf + 20);
	f->seq = get64(buf + 24);
	f->offset = get64(buf + 32);
	f->length = get32(buf + 40);
	f->crc = get32(buf + 44);
	f->signature = get64(buf + 48);

	switch (f->type) {
	case COLL_FRAME_HELLO:
		ok = control_ok(f, COLL_WIRE_HELLO);
		break;
	case COLL_FRAME_PROOF:
		ok = control_ok(f, COLL_WIRE_PROOF);
		break;
	case COLL_FRAME_DATA:
		flags = COLL_FRAME_ACK_NOW | COLL_FRAME_LOAN;
		/* a token has no payload to lend */
		ok = data_ok(f) && (f->length || !(f->flags & COLL_FRAME_LOAN));
		break;
	case COLL_FRAME_ABORT:
		ok = control_ok(f, COLL_WIRE_ABORT);
		break;
	case COLL_FRAME_BYE:
		ok = control_ok(f, COLL_WIRE_BYE);
		break;
	case COLL_FRAME_POST:
		ok = post_ok(f);
		break;
	case COLL_FRAME_ACK:
		ok = ack_ok(f);
		break;
	case COLL_FRAME_RTS:
		ok = rts_ok(f);
		break;
	case COLL_FRAME_CTS:
		ok = cts_ok(f);
		break;
	case COLL_FRAME_MSG:
		ok = msg_ok(f);
		break;
	case COLL_FRAME_CANCEL:
		ok = cancel_ok(f);
		break;
	case COLL_FRAME_TENSOR:
		ok = tensor_ok(f);
		break;
	default:
		ok = false;
	}
	return ok && !(f->flags & ~flags) && !f->crc ? 0 : -EPROTO;
}

void coll_wire_put_hello(u8 *buf, const struct coll_hello *h)
{
	memcpy(buf, h->name, COLL_WIRE_NAME);
	memcpy(buf + 16, h->nonce, COLL_WIRE_NONCE);
	put32(buf + 32, h->size);
	put32(buf + 36, h->nr_nodes);
	put32(buf + 40, h->src_node);
	put32(buf + 44, h->dst_node);
	put32(buf + 48, h->stripe);
	put32(buf + 52, h->wire_min);
	put32(buf + 56, h->wire_max);
	put32(buf + 60, h->map);
}

/*
 * The range of versions must contain the one this very payload is written in.
 * The caller checks whether size, nodes and map are those of our communicator.
 */
int coll_wire_get_hello(const u8 *buf, struct coll_hello *h)
{
	memcpy(h->name, buf, COLL_WIRE_NAME);
	memcpy(h->nonce, buf + 16, COLL_WIRE_NONCE);
	h->size = get32(buf + 32);
	h->nr_nodes = get32(buf + 36);
	h->src_node = get32(buf + 40);
	h->dst_node = get32(buf + 44);
	h->stripe = get32(buf + 48);
	h->wire_min = get32(buf + 52);
	h->wire_max = get32(buf + 56);
	h->map = get32(buf + 60);

	if (!h->size || h->size > COLL_MAX_SIZE ||
	    !h->nr_nodes || h->nr_nodes > h->size ||
	    h->src_node >= h->nr_nodes || h->dst_node >= h->nr_nodes ||
	    h->src_node == h->dst_node || h->stripe >= COLL_MAX_STRIPES ||
	    !h->wire_min || h->wire_min > COLL_WIRE_VERSION ||
	    h->wire_max < COLL_WIRE_VERSION)
		return -EPROTO;
	return 0;
}

u32 coll_wire_map(const u32 *node_of, u32 size, bool named)
{
	u64 digest = coll_digest(COLL_WIRE_MAGIC, named);
	u32 i;

	for (i = 0; i < size; i++)
		digest = coll_digest(digest, node_of[i]);
	return (u32)(digest ^ digest >> 32);
}

void coll_wire_put_name_text(u8 *buf)
{
	static const u8 label[COLL_WIRE_LABEL] = "coll wire name";

	memcpy(buf, label, sizeof(label));
}

void coll_wire_put_proof_text(u8 *buf, u32 epoch, const struct coll_hello *from,
			      const struct coll_hello *to)
{
	static const u8 label[COLL_WIRE_LABEL] = "coll wire proof";

	memcpy(buf, label, sizeof(label));
	buf += sizeof(label);
	put32(buf, epoch);
	coll_wire_put_hello(buf + 4, from);
	coll_wire_put_hello(buf + 4 + COLL_WIRE_HELLO, to);
}

bool coll_wire_host_byte_ok(u8 c)
{
	return c > 0x20 && c < 0x7f;
}

void coll_wire_put_abort(u8 *buf, const struct coll_cause *c)
{
	unsigned int i;

	put32(buf, c->kind);
	put32(buf + 4, c->error);
	put32(buf + 8, c->rank);
	put32(buf + 12, c->node);
	put32(buf + 16, c->pid);
	put32(buf + 20, c->signal);
	put32(buf + 24, c->code);
	put32(buf + 28, 0);
	put64(buf + 32, c->seq);
	memset(buf + 40, 0, COLL_HOST_SIZE);
	for (i = 0; i < COLL_HOST_SIZE - 1 && c->host[i]; i++)
		buf[40 + i] = coll_wire_host_byte_ok(c->host[i]) ? c->host[i] : '?';
}

static bool host_ok(const u8 *host)
{
	unsigned int i = 0;

	while (i < COLL_HOST_SIZE - 1 && coll_wire_host_byte_ok(host[i]))
		i++;
	while (i < COLL_HOST_SIZE && !host[i])
		i++;
	return i == COLL_HOST_SIZE;
}

static bool rank_ok(u32 rank)
{
	return rank < COLL_MAX_SIZE || rank == COLL_RANK_NONE;
}

int coll_wire_get_abort(const u8 *buf, struct coll_cause *c)
{
	c->kind = get32(buf);
	c->error = get32(buf + 4);
	c->rank = get32(buf + 8);
	c->node = get32(buf + 12);
	c->pid = get32(buf + 16);
	c->signal = get32(buf + 20);
	c->code = get32(buf + 24);
	c->reserved = get32(buf + 28);
	c->seq = get64(buf + 32);
	memcpy(c->host, buf + 40, COLL_HOST_SIZE);

	if (c->kind == COLL_CAUSE_NONE || c->kind >= COLL_NR_CAUSES ||
	    !c->error || c->error > CAUSE_ERROR_MAX ||
	    !rank_ok(c->rank) || !rank_ok(c->node) ||
	    c->pid > CAUSE_PID_MAX || c->signal > CAUSE_SIGNAL_MAX ||
	    c->reserved || !host_ok(c->host))
		return -EPROTO;
	return 0;
}

void coll_wire_put_bye(u8 *buf, const struct coll_bye *b)
{
	put32(buf, b->rank);
	put32(buf + 4, b->orders);
	put64(buf + 8, b->seq);
}

int coll_wire_get_bye(const u8 *buf, struct coll_bye *b)
{
	b->rank = get32(buf);
	b->orders = get32(buf + 4);
	b->seq = get64(buf + 8);
	return b->rank < COLL_MAX_SIZE ? 0 : -EPROTO;
}

void coll_wire_put_rts(u8 *buf, const struct coll_rts *r)
{
	put32(buf, r->source);
	put32(buf + 4, r->dest);
	put32(buf + 8, r->tag);
	put32(buf + 12, r->dtype);
	put64(buf + 16, r->bytes);
}

int coll_wire_get_rts(const u8 *buf, struct coll_rts *r)
{
	r->source = get32(buf);
	r->dest = get32(buf + 4);
	r->tag = get32(buf + 8);
	r->dtype = get32(buf + 12);
	r->bytes = get64(buf + 16);
	return r->source < COLL_MAX_SIZE && r->dest < COLL_MAX_SIZE &&
	       r->tag <= COLL_TAG_MAX && r->dtype && r->dtype < COLL_NR_DTYPES ? 0 : -EPROTO;
}
