// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "collctl.h"

#define F32(attr, text)	[attr] = { text, FIELD_U32 }
#define F64(attr, text)	[attr] = { text, FIELD_U64 }

const struct kind kind_group = {
	.command = COLL_NL_CMD_GROUP_GET,
	.name = "groups",
	.fields = {
		F32(COLL_NL_GROUP_ID, "id"),
		F32(COLL_NL_GROUP_NODE, "node"),
		F32(COLL_NL_GROUP_SIZE, "size"),
		F32(COLL_NL_GROUP_NR_NODES, "nr-nodes"),
		F32(COLL_NL_GROUP_NR_LOCAL, "nr-local"),
		F32(COLL_NL_GROUP_NR_JOINED, "nr-joined"),
		F32(COLL_NL_GROUP_NR_LINKS, "nr-links"),
		F32(COLL_NL_GROUP_UID, "uid"),
		F32(COLL_NL_GROUP_EPOCH, "epoch"),
		F32(COLL_NL_GROUP_STATE, "state"),
		F32(COLL_NL_GROUP_ERROR, "error"),
		F64(COLL_NL_GROUP_SEQ_STARTED, "seq-started"),
		F64(COLL_NL_GROUP_SEQ_DONE, "seq-done"),
		F64(COLL_NL_GROUP_OPS, "ops"),
		F64(COLL_NL_GROUP_BYTES, "bytes"),
		F32(COLL_NL_GROUP_CAUSE_KIND, "cause-kind"),
		F32(COLL_NL_GROUP_CAUSE_RANK, "cause-rank"),
		F32(COLL_NL_GROUP_CAUSE_NODE, "cause-node"),
		F32(COLL_NL_GROUP_CAUSE_PID, "cause-pid"),
		F32(COLL_NL_GROUP_CAUSE_SIGNAL, "cause-signal"),
		F32(COLL_NL_GROUP_CAUSE_CODE, "cause-code"),
		F64(COLL_NL_GROUP_CAUSE_SEQ, "cause-seq"),
		[COLL_NL_GROUP_CAUSE_HOST] = { "cause-host", FIELD_STRING },
		F64(COLL_NL_GROUP_WORK_NS, "work-ns"),
		F64(COLL_NL_GROUP_CALL_NS, "call-ns"),
		F32(COLL_NL_GROUP_STRIPES, "stripes"),
		F64(COLL_NL_GROUP_STALL_LOOKS, "stall-looks"),
		F64(COLL_NL_GROUP_FUSED, "fused"),
		F64(COLL_NL_GROUP_FUSIONS, "fusions"),
		F64(COLL_NL_GROUP_COPIED, "copied"),
		F64(COLL_NL_GROUP_EARLY, "early"),
	},
};

const struct kind kind_member = {
	.command = COLL_NL_CMD_MEMBER_GET,
	.name = "members",
	.fields = {
		F32(COLL_NL_MEMBER_GROUP, "group"),
		F32(COLL_NL_MEMBER_RANK, "rank"),
		F32(COLL_NL_MEMBER_PID, "pid"),
		F64(COLL_NL_MEMBER_POSTED, "posted"),
		F64(COLL_NL_MEMBER_COMPLETED, "completed"),
		F64(COLL_NL_MEMBER_PINNED, "pinned"),
		F64(COLL_NL_MEMBER_BYTES, "bytes"),
		F64(COLL_NL_MEMBER_CALL_NS, "call-ns"),
		F64(COLL_NL_MEMBER_SHM_OPS, "shm-ops"),
	},
};

const struct kind kind_link = {
	.command = COLL_NL_CMD_LINK_GET,
	.name = "links",
	.fields = {
		F32(COLL_NL_LINK_GROUP, "group"),
		F32(COLL_NL_LINK_PEER, "peer"),
		F32(COLL_NL_LINK_STRIPE, "stripe"),
		F32(COLL_NL_LINK_STATE, "state"),
		F64(COLL_NL_LINK_TX_BYTES, "tx-bytes"),
		F64(COLL_NL_LINK_TX_FRAMES, "tx-frames"),
		F64(COLL_NL_LINK_RX_BYTES, "rx-bytes"),
		F64(COLL_NL_LINK_RX_FRAMES, "rx-frames"),
		F64(COLL_NL_LINK_TX_STALLS, "tx-stalls"),
		F32(COLL_NL_LINK_USERS, "users"),
		F64(COLL_NL_LINK_SPILLED, "spilled"),
		F32(COLL_NL_LINK_SEND_MODE, "send-mode"),
		F64(COLL_NL_LINK_TX_COPIED, "tx-copied"),
		F64(COLL_NL_LINK_TX_SPLICED, "tx-spliced"),
		F64(COLL_NL_LINK_TX_UBUF, "tx-ubuf"),
		F64(COLL_NL_LINK_TX_ZEROCOPY, "tx-zerocopy"),
		F64(COLL_NL_LINK_RATE_COPY, "rate-copy"),
		F64(COLL_NL_LINK_RATE_SPLICE, "rate-splice"),
		F64(COLL_NL_LINK_RATE_UBUF, "rate-ubuf"),
		F64(COLL_NL_LINK_TX_SAVED, "tx-saved"),
	},
};

const struct kind kind_select = {
	.command = COLL_NL_CMD_SELECT_GET,
	.name = "select",
	.fields = {
		F32(COLL_NL_SELECT_GROUP, "group"),
		F32(COLL_NL_SELECT_COLLECTIVE, "collective"),
		F64(COLL_NL_SELECT_BYTES, "bytes"),
		F32(COLL_NL_SELECT_ALGORITHM, "algorithm"),
		F32(COLL_NL_SELECT_SEGMENT, "segment"),
		F32(COLL_NL_SELECT_SOURCE, "source"),
	},
};

const struct kind kind_stall = {
	.command = COLL_NL_CMD_STALL_GET,
	.name = "stalls",
	.fields = {
		F32(COLL_NL_STALL_GROUP, "group"),
		[COLL_NL_STALL_NAME] = { "name", FIELD_BYTES },
		F64(COLL_NL_STALL_SERIAL, "serial"),
		F64(COLL_NL_STALL_AGE_NS, "age-ns"),
		F32(COLL_NL_STALL_STATE, "state"),
		F32(COLL_NL_STALL_RANK, "rank"),
		F32(COLL_NL_STALL_NODE, "node"),
		F32(COLL_NL_STALL_PID, "pid"),
		F32(COLL_NL_STALL_KNOWN, "known"),
	},
};

/* A dump under way. */
struct dump {
	const struct kind *kind;
	struct objects *out;
	int error;
};

static void take_text(struct object *o, const void *text, size_t len)
{
	o->text_len = len < sizeof(o->text) ? len : sizeof(o->text) - 1;
	memcpy(o->text, text, o->text_len);
	o->text[o->text_len] = '\0';
}

/* Attributes of a newer module that we do not know are passed over. */
static void take_attr(const struct kind *kind, struct object *o, struct nlattr *a)
{
	int n = nla_type(a);

	if (n >= MAX_FIELDS || !kind->fields[n].name)
		return;
	switch (kind->fields[n].type) {
	case FIELD_U32:
		if (nla_len(a) < 4)
			return;
		o->value[n] = nla_get_u32(a);
		break;
	case FIELD_U64:
		if (nla_len(a) < 8)
			return;
		o->value[n] = nla_get_u64(a);
		break;
	case FIELD_STRING:
		take_text(o, nla_data(a), strnlen(nla_data(a), (size_t)nla_len(a)));
		break;
	case FIELD_BYTES:
		take_text(o, nla_data(a), (size_t)nla_len(a));
		break;
	}
	o->has[n] = true;
}

static int on_message(struct nl_msg *msg, void *arg)
{
	struct genlmsghdr *gh = nlmsg_data(nlmsg_hdr(msg));
	struct dump *d = arg;
	struct object *bigger;
	struct nlattr *a;
	int left;

	bigger = realloc(d->out->at, (d->out->nr + 1) * sizeof(*bigger));
	if (!bigger) {
		d->error = -NLE_NOMEM;
		return NL_STOP;
	}
	d->out->at = bigger;
	memset(&bigger[d->out->nr], 0, sizeof(*bigger));
	nla_for_each_attr(a, genlmsg_attrdata(gh, 0), genlmsg_attrlen(gh, 0), left)
		take_attr(d->kind, &bigger[d->out->nr], a);
	d->out->nr++;
	return NL_OK;
}

static int complain(const char *what, int err)
{
	fprintf(stderr, "collctl: %s: %s\n", what, nl_geterror(err));
	return 1;
}

int collctl_open(struct nl_sock **sk, int *family)
{
	int ret;

	*sk = nl_socket_alloc();
	if (!*sk)
		return complain("socket", NLE_NOMEM);
	ret = genl_connect(*sk);
	if (ret)
		return complain("generic netlink", ret);
	*family = genl_ctrl_resolve(*sk, COLL_FAMILY_NAME);
	if (*family < 0)
		return complain("family \"" COLL_FAMILY_NAME "\" (is the module loaded?)",
				*family);
	return 0;
}

int collctl_dump(struct nl_sock *sk, int family, const struct kind *kind, struct objects *out)
{
	struct dump d = { kind, out, 0 };
	int ret;

	out->at = NULL;
	out->nr = 0;
	nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, on_message, &d);
	ret = genl_send_simple(sk, family, kind->command, COLL_FAMILY_VERSION, NLM_F_DUMP);
	if (ret >= 0)
		ret = nl_recvmsgs_default(sk);
	if (ret >= 0)
		ret = d.error;
	return ret < 0 ? complain(kind->name, ret) : 0;
}

bool collctl_has(const struct objects *groups, int64_t id)
{
	size_t i;

	if (id < 0)
		return true;
	for (i = 0; i < groups->nr; i++)
		if (groups->at[i].value[COLL_NL_GROUP_ID] == (uint64_t)id)
			return true;
	fprintf(stderr, "collctl: no group %lld\n", (long long)id);
	return false;
}
