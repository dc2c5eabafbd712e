/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: submit, start, segment, complete, tensors, message, walk, abort. No secrets. Names
 * of tensors are hexadecimal: they may have any bytes.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM coll

#if !defined(COLL_CORE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define COLL_CORE_TRACE_H

#include <linux/tracepoint.h>
#include <linux/coll.h>

TRACE_EVENT(coll_submit,
	TP_PROTO(u32 group, u32 rank, const struct coll_cmd *cmd),
	TP_ARGS(group, rank, cmd),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, rank)
		__field(u16, collective)
		__field(u16, op)
		__field(u16, dtype)
		__field(u64, count)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->rank = rank;
		__entry->collective = cmd->collective;
		__entry->op = cmd->op;
		__entry->dtype = cmd->dtype;
		__entry->count = cmd->count;
	),
	TP_printk("group=%u rank=%u collective=%u op=%u dtype=%u count=%llu",
		  __entry->group, __entry->rank, __entry->collective,
		  __entry->op, __entry->dtype, __entry->count)
);

TRACE_EVENT(coll_start,
	TP_PROTO(u32 group, u64 seq, u32 collective, u64 bytes),
	TP_ARGS(group, seq, collective, bytes),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, collective)
		__field(u64, seq)
		__field(u64, bytes)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->collective = collective;
		__entry->seq = seq;
		__entry->bytes = bytes;
	),
	TP_printk("group=%u seq=%llu collective=%u bytes=%llu", __entry->group,
		  __entry->seq, __entry->collective, __entry->bytes)
);

TRACE_EVENT(coll_segment,
	TP_PROTO(u32 group, u64 seq, u32 peer, u32 step, u32 kind, u64 off, u64 len),
	TP_ARGS(group, seq, peer, step, kind, off, len),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, peer)
		__field(u32, step)
		__field(u32, kind)
		__field(u64, seq)
		__field(u64, off)
		__field(u64, len)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->peer = peer;
		__entry->step = step;
		__entry->kind = kind;
		__entry->seq = seq;
		__entry->off = off;
		__entry->len = len;
	),
	TP_printk("group=%u seq=%llu peer=%u step=%u kind=%u off=%llu len=%llu",
		  __entry->group, __entry->seq, __entry->peer, __entry->step,
		  __entry->kind, __entry->off, __entry->len)
);

TRACE_EVENT(coll_complete,
	TP_PROTO(u32 group, u64 seq, int result),
	TP_ARGS(group, seq, result),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(int, result)
		__field(u64, seq)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->result = result;
		__entry->seq = seq;
	),
	TP_printk("group=%u seq=%llu result=%d", __entry->group, __entry->seq,
		  __entry->result)
);

/* A rank has posted a tensor; @round counts starts and failures of the name. */
TRACE_EVENT(coll_tensor_post,
	TP_PROTO(u32 group, u32 node, u32 rank, u32 round, u64 bytes, const u8 *name, u32 len),
	TP_ARGS(group, node, rank, round, bytes, name, len),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, node)
		__field(u32, rank)
		__field(u32, round)
		__field(u64, bytes)
		__dynamic_array(u8, name, len)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->node = node;
		__entry->rank = rank;
		__entry->round = round;
		__entry->bytes = bytes;
		memcpy(__get_dynamic_array(name), name, len);
	),
	TP_printk("group=%u node=%u rank=%u round=%u bytes=%llu name=%s",
		  __entry->group, __entry->node, __entry->rank, __entry->round,
		  __entry->bytes, __print_hex_str(__get_dynamic_array(name),
						  __get_dynamic_array_len(name)))
);

/* A tensor has started as op @seq, or as part of it. With a @cause it has ended without an op. */
TRACE_EVENT(coll_tensor_start,
	TP_PROTO(u32 group, u64 seq, u32 round, u32 cause, const u8 *name, u32 len),
	TP_ARGS(group, seq, round, cause, name, len),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, round)
		__field(u64, seq)
		__field(u32, cause)
		__dynamic_array(u8, name, len)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->round = round;
		__entry->seq = seq;
		__entry->cause = cause;
		memcpy(__get_dynamic_array(name), name, len);
	),
	TP_printk("group=%u seq=%llu round=%u cause=%u name=%s", __entry->group,
		  __entry->seq, __entry->round, __entry->cause,
		  __print_hex_str(__get_dynamic_array(name), __get_dynamic_array_len(name)))
);

/* A tensor of op @seq has ended, while others of its fusion have not. */
TRACE_EVENT(coll_tensor_over,
	TP_PROTO(u32 group, u64 seq, u32 rank, const u8 *name, u32 len),
	TP_ARGS(group, seq, rank, name, len),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, rank)
		__field(u64, seq)
		__dynamic_array(u8, name, len)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->rank = rank;
		__entry->seq = seq;
		memcpy(__get_dynamic_array(name), name, len);
	),
	TP_printk("group=%u seq=%llu rank=%u name=%s", __entry->group, __entry->seq,
		  __entry->rank, __print_hex_str(__get_dynamic_array(name),
						 __get_dynamic_array_len(name)))
);

/* Only where there are several memory nodes. */
TRACE_EVENT(coll_slice,
	TP_PROTO(u32 group, u64 seq, u64 slice, int nid, bool near),
	TP_ARGS(group, seq, slice, nid, near),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(int, nid)
		__field(u64, seq)
		__field(u64, slice)
		__field(bool, near)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->nid = nid;
		__entry->seq = seq;
		__entry->slice = slice;
		__entry->near = near;
	),
	TP_printk("group=%u seq=%llu slice=%llu nid=%d near=%d", __entry->group,
		  __entry->seq, __entry->slice, __entry->nid, __entry->near)
);

TRACE_EVENT(coll_message,
	TP_PROTO(u32 group, u32 source, u32 dest, u32 tag, u64 bytes, int result),
	TP_ARGS(group, source, dest, tag, bytes, result),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, source)
		__field(u32, dest)
		__field(u32, tag)
		__field(u64, bytes)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->source = source;
		__entry->dest = dest;
		__entry->tag = tag;
		__entry->bytes = bytes;
		__entry->result = result;
	),
	TP_printk("group=%u source=%d dest=%u tag=%u bytes=%llu result=%d",
		  __entry->group, (int)__entry->source, __entry->dest, __entry->tag,
		  __entry->bytes, __entry->result)
);

TRACE_EVENT(coll_walk,
	TP_PROTO(u32 group, u32 messages),
	TP_ARGS(group, messages),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, messages)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->messages = messages;
	),
	TP_printk("group=%u messages=%u", __entry->group, __entry->messages)
);

TRACE_EVENT(coll_abort,
	TP_PROTO(u32 group, u64 seq, u32 kind, u32 error, u32 rank),
	TP_ARGS(group, seq, kind, error, rank),
	TP_STRUCT__entry(
		__field(u32, group)
		__field(u32, kind)
		__field(u32, error)
		__field(u32, rank)
		__field(u64, seq)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->kind = kind;
		__entry->error = error;
		__entry->rank = rank;
		__entry->seq = seq;
	),
	TP_printk("group=%u seq=%llu kind=%u error=%u rank=%d", __entry->group,
		  __entry->seq, __entry->kind, __entry->error, (int)__entry->rank)
);

#endif /* COLL_CORE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
