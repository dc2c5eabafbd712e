// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Each collective writes its input to its slot, and makes its result from the slots of all ranks.
 *
 * All lengths come from the rank's own command. The commands of the other ranks are the same, or
 * the op has gone to the kernel.
 */
#include <string.h>

#include "collective.h"
#include "comm/shm.h"
#include "optable.h"
#include "shm_counts.h"
#include "shm_fold.h"
#include "shm_layout.h"
#include "shm_move.h"

#define REGISTERED	(COLL_CMD_REG_SEND | COLL_CMD_REG_RECV)
#define FLAGS		(COLL_CMD_INPLACE | COLL_CMD_NARROW | COLL_CMD_SPIN | REGISTERED)

/* Has the command flags or fields that this file does not handle? */
static bool is_plain(const struct coll_cmd *c)
{
	if ((c->send_buf && !(c->flags & COLL_CMD_REG_SEND)) ||
	    (c->recv_buf && !(c->flags & COLL_CMD_REG_RECV)))
		return false;
	if (shm_has_counts(c->collective) ? !!(c->flags & REGISTERED) :
	    c->counts_addr || c->displs_addr)
		return false;
	return !c->algorithm && !(c->flags & ~(uint32_t)FLAGS) && !c->segment && !c->send_tag &&
	       !c->recv_tag && !c->source && !c->recv_dtype && !c->recv_count &&
	       !c->message_addr && !c->matched;
}

static bool is_rooted(uint32_t what)
{
	return coll_kind_of(what)->flags & COLL_KIND_ROOTED;
}

static bool reduces(uint32_t what)
{
	return coll_kind_of(what)->flags & COLL_KIND_REDUCES;
}

size_t shm_move_limit(const struct shm *s, uint32_t collective)
{
	return s->limit[reduces(collective) ? SHM_FOLDS : SHM_COPIES];
}

/* Does this rank need all addresses and buffers in the command? Others are EINVAL in the kernel. */
static bool buffers_fit(const struct shm *s, const struct coll_cmd *c)
{
	const struct coll_kind *k = coll_kind_of(c->collective);
	bool root = k->flags & COLL_KIND_ROOTED && c->root == s->rank;
	bool in = (root ? k->root_in : k->in) && !(k->flags & COLL_KIND_ONE_BUFFER);
	bool out = root ? k->root_out : k->out;

	if (c->flags & COLL_CMD_INPLACE) {
		if (!in || !out)
			return false;
		*(coll_plain_collective(c->collective) == COLL_SCATTER ? &out : &in) = false;
	}
	if (!in && (c->send_addr || c->flags & COLL_CMD_REG_SEND))
		return false;
	return out || !(c->recv_addr || c->flags & COLL_CMD_REG_RECV);
}

/*
 * With several nodes: results have to fit the slot of a rank, too, also that of a root. The same on
 * all ranks.
 */
static bool blocks_fit(const struct shm *s, const struct coll_cmd *c)
{
	uint32_t blocks = coll_kind_of(c->collective)->flags & COLL_KIND_BLOCKS ? s->ranks : 1;
	size_t limit = shm_move_limit(s, c->collective);

	if (c->collective == COLL_EXSCAN || shm_has_counts(c->collective))
		return false;
	return c->count <= limit && c->count * blocks * coll_dtype_size(c->dtype) <= limit;
}

static bool folds(const struct shm *s, const struct coll_cmd *c, struct shm_fold *fold)
{
	/* The kernel folds. What it may refuse is for each rank to post. */
	if (s->nodes)
		return coll_op_defined(c->op, c->dtype) && c->op != COLL_OP_REPLACE &&
		       c->op != COLL_OP_NO_OP &&
		       (c->op != COLL_OP_AVG || c->collective != COLL_SCAN);
	return shm_fold_setup(fold, c->collective, c->op, c->dtype, c->flags & COLL_CMD_NARROW,
			      s->ranked, s->n);
}

/* Check operator, type and root; the kernel refuses wrong ones. */
static bool kind_fits(const struct shm *s, const struct coll_cmd *c, struct shm_fold *fold)
{
	if (c->root >= s->ranks || (c->root && !is_rooted(c->collective)))
		return false;
	if (c->collective == COLL_BARRIER)
		return !c->op && !c->dtype && !c->count && !c->scalar &&
		       !(c->flags & ~(uint32_t)COLL_CMD_SPIN);
	if (!coll_dtype_size(c->dtype) || (c->scalar && c->op != COLL_OP_PREMULSUM))
		return false;
	if (coll_dtype_size(c->dtype) < 8 && c->scalar >> coll_dtype_size(c->dtype) * 8)
		return false;
	if (reduces(c->collective))
		return folds(s, c, fold);
	return !c->op && !(c->flags & COLL_CMD_NARROW);
}

/* Check addresses. If memory is missing, or input and output overlap, the kernel decides. */
static bool memory_fits(const struct shm_move *m)
{
	uintptr_t in = (uintptr_t)m->in, out = (uintptr_t)m->out;

	if ((m->in_bytes && !in) || (m->out_bytes && !out) ||
	    in > UINTPTR_MAX - m->in_bytes || out > UINTPTR_MAX - m->out_bytes)
		return false;
	if (m->cmd->flags & COLL_CMD_INPLACE)
		return true;
	return in + m->in_bytes <= out || out + m->out_bytes <= in;
}

/* The word of a slot that says what the op is. */
static uint64_t kind_of(const struct coll_cmd *c)
{
	const struct coll_shm_slot say = {
		.collective = (uint8_t)c->collective,
		.op = (uint8_t)c->op,
		.dtype = (uint8_t)c->dtype,
		.flags = c->flags & COLL_CMD_NARROW ? COLL_SHM_NARROW : 0,
		.root = c->root,
	};
	uint64_t kind;

	memcpy(&kind, (const char *)&say + sizeof(say.pos), sizeof(kind));
	return kind;
}

bool shm_move_setup(const struct shm *s, const struct coll_cmd *c, struct shm_fold *fold,
		    struct shm_move *m)
{
	size_t limit = shm_move_limit(s, c->collective);

	if (!is_plain(c) || !kind_fits(s, c, fold) || !buffers_fit(s, c))
		return false;
	*m = (struct shm_move){
		.cmd = c, .fold = fold, .limit = limit, .elem = coll_dtype_size(c->dtype),
		.kind = kind_of(c), .counts = shm_has_counts(c->collective),
	};
	/* A bound, so that no product below overflows. */
	if (c->count > limit || c->count * m->elem > limit)
		return false;
	if (s->nodes && !blocks_fit(s, c))
		return false;
	m->unit = c->count * m->elem;
	m->count = c->count;
	return (m->counts ? shm_counts_setup(s, m) : shm_layout(s, m)) &&
	       m->most <= limit && memory_fits(m);
}

void shm_move_write(const struct shm *s, const struct shm_move *m, uint64_t pos)
{
	if (m->counts)
		shm_counts_write(s, m, shm_own_slot(s, pos));
	else if (m->in_bytes)
		shm_copy_in(s, m, pos);
}

bool shm_move_agrees(const struct shm *s, const struct shm_move *m, uint64_t pos)
{
	return !m->own_count || shm_counts_agree(s, m, pos);
}

/* Fold the data of ranks 0 .. @nr - 1, from @offset bytes behind the heads of their slots. */
static void fold(const struct shm *s, const struct shm_move *m, uint64_t pos, uint32_t nr,
		 size_t offset)
{
	const void *in[COLL_SHM_RANKS];
	bool scaled = m->cmd->op == COLL_OP_PREMULSUM;
	uint64_t scales[COLL_SHM_RANKS];
	uint32_t i;

	if (!m->out || !m->out_bytes)
		return;
	for (i = 0; i < nr; i++)
		in[i] = shm_copy_input(s, m, i, pos) + offset;
	for (i = 0; i < nr && scaled; i++)
		scales[i] = shm_slot(s, i, pos)->scalar;
	shm_fold_run(m->fold, m->out, in, nr, scaled ? scales : NULL, s->n,
		     m->out_bytes / m->elem);
}

void shm_move_finish(const struct shm *s, const struct shm_move *m, uint64_t pos,
		     struct shm_copied *copied)
{
	if (m->copy.blocks) {
		shm_copy_rest(s, m, pos, copied);
		return;
	}
	switch (m->cmd->collective) {
	case COLL_REDUCE:
	case COLL_ALLREDUCE:
		fold(s, m, pos, s->n, 0);
		break;
	case COLL_SCAN:
		fold(s, m, pos, s->me + 1, 0);
		break;
	case COLL_EXSCAN:
		fold(s, m, pos, s->me, 0);
		break;
	case COLL_REDUCE_SCATTER_BLOCK:
		fold(s, m, pos, s->n, s->me * m->unit);
		break;
	case COLL_REDUCE_SCATTER:
		fold(s, m, pos, s->n, shm_counts_before(&m->give, s->me) * m->elem);
		break;
	default:
		if (m->counts)
			shm_counts_finish(s, m, pos);
	}
}
