// SPDX-License-Identifier: GPL-2.0
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/coll_nl.h>

#include "stalls.h"

#define ROOM	65536

static uint16_t family;

static struct nlattr *attr_next(struct nlattr *a)
{
	return (void *)((char *)a + NLA_ALIGN(a->nla_len));
}

static bool attr_ok(const struct nlattr *a, const char *end)
{
	return end - (const char *)a >= (long)sizeof(*a) && a->nla_len >= sizeof(*a) &&
	       a->nla_len <= end - (const char *)a;
}

static struct nlattr *attr_in(void *from, char *end, int type)
{
	struct nlattr *a;

	for (a = from; attr_ok(a, end); a = attr_next(a))
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

static uint64_t number(void *from, char *end, int type)
{
	struct nlattr *a = attr_in(from, end, type);
	uint64_t v = 0;

	if (a)
		memcpy(&v, a + 1, a->nla_len == NLA_HDRLEN + 8 ? 8 : 4);
	return v;
}

static char *msg_end(struct nlmsghdr *h)
{
	return (char *)h + h->nlmsg_len;
}

static void *msg_attrs(struct nlmsghdr *h)
{
	return (char *)NLMSG_DATA(h) + GENL_HDRLEN;
}

static bool ask(int fd, uint16_t type, uint8_t cmd, uint16_t flags, const char *name)
{
	struct {
		struct nlmsghdr h;
		struct genlmsghdr g;
		struct nlattr a;
		char name[16];
	} m = {
		.h = { NLMSG_LENGTH(GENL_HDRLEN), type, NLM_F_REQUEST | flags, 1, 0 },
		.g = { cmd, 1, 0 },
		.a = { NLA_HDRLEN + sizeof(m.name), CTRL_ATTR_FAMILY_NAME },
	};

	if (name) {
		strncpy(m.name, name, sizeof(m.name) - 1);
		m.a.nla_len = NLA_HDRLEN + strlen(name) + 1;
		m.h.nlmsg_len += NLA_ALIGN(m.a.nla_len);
	}
	return send(fd, &m, m.h.nlmsg_len, 0) == m.h.nlmsg_len;
}

/* The first multicast group of a family: there is one. */
static int first_group(struct nlmsghdr *h)
{
	struct nlattr *a = attr_in(msg_attrs(h), msg_end(h), CTRL_ATTR_MCAST_GROUPS);

	if (!a)
		return 0;
	a++;
	return number(a + 1, (char *)a + a->nla_len, CTRL_ATTR_MCAST_GRP_ID);
}

int stalls_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), group;
	static char buf[ROOM];
	struct nlmsghdr *h = (void *)buf;

	if (fd < 0)
		return -1;
	if (!ask(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, COLL_FAMILY_NAME) ||
	    recv(fd, buf, sizeof(buf), 0) <= 0 || h->nlmsg_type == NLMSG_ERROR)
		goto fail;
	family = number(msg_attrs(h), msg_end(h), CTRL_ATTR_FAMILY_ID);
	group = first_group(h);
	if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)))
		goto fail;
	return fd;
fail:
	close(fd);
	return -1;
}

static void take(struct nlmsghdr *h, struct stalls_one *s)
{
	void *from = msg_attrs(h);
	struct nlattr *name = attr_in(from, msg_end(h), COLL_NL_STALL_NAME);

	memset(s, 0, sizeof(*s));
	if (name && name->nla_len - NLA_HDRLEN < (int)sizeof(s->name))
		memcpy(s->name, name + 1, name->nla_len - NLA_HDRLEN);
	s->age_ns = number(from, msg_end(h), COLL_NL_STALL_AGE_NS);
	s->state = number(from, msg_end(h), COLL_NL_STALL_STATE);
	s->rank = number(from, msg_end(h), COLL_NL_STALL_RANK);
	s->pid = number(from, msg_end(h), COLL_NL_STALL_PID);
	s->known = number(from, msg_end(h), COLL_NL_STALL_KNOWN);
}

/* A socket without events, for a dump. Return: -1, or what @fn makes of all messages. */
static int64_t dump(uint8_t cmd, void (*fn)(struct nlmsghdr *h, void *arg, int64_t *sum), void *arg)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	static char buf[ROOM];
	struct nlmsghdr *h;
	int64_t sum = 0;
	int n;

	if (fd < 0 || !ask(fd, family, cmd, NLM_F_DUMP, NULL))
		sum = -1;
	while (sum >= 0) {
		n = recv(fd, buf, sizeof(buf), 0);
		for (h = (void *)buf; NLMSG_OK(h, n) && h->nlmsg_type >= NLMSG_MIN_TYPE;
		     h = NLMSG_NEXT(h, n))
			fn(h, arg, &sum);
		if (NLMSG_OK(h, n) && h->nlmsg_type == NLMSG_DONE)
			break;
		if (n < 0 || NLMSG_OK(h, n))
			sum = -1;
	}
	close(fd);
	return sum;
}

struct wanted {
	struct stalls_one *s;
	int nr;
};

static void add_stall(struct nlmsghdr *h, void *arg, int64_t *sum)
{
	struct wanted *w = arg;

	if (*sum < w->nr)
		take(h, &w->s[*sum]);
	++*sum;
}

static void add_count(struct nlmsghdr *h, void *arg, int64_t *sum)
{
	*sum += number(msg_attrs(h), msg_end(h), *(int *)arg);
}

int stalls_dump(struct stalls_one *s, int nr)
{
	struct wanted w = { s, nr };

	return dump(COLL_NL_CMD_STALL_GET, add_stall, &w);
}

int64_t stalls_count(int attr)
{
	return dump(COLL_NL_CMD_GROUP_GET, add_count, &attr);
}

struct visitor {
	void (*fn)(uint32_t id, void *arg);
	void *arg;
};

static void visit(struct nlmsghdr *h, void *arg, int64_t *sum)
{
	struct visitor *v = arg;

	v->fn(number(msg_attrs(h), msg_end(h), COLL_NL_GROUP_ID), v->arg);
	++*sum;
}

int64_t stalls_groups(void (*fn)(uint32_t id, void *arg), void *arg)
{
	struct visitor v = { fn, arg };

	return dump(COLL_NL_CMD_GROUP_GET, visit, &v);
}

int64_t stalls_looks(void)
{
	return stalls_count(COLL_NL_GROUP_STALL_LOOKS);
}

bool stalls_event(int fd, struct stalls_one *s, unsigned int ms)
{
	struct pollfd p = { fd, POLLIN };
	static char buf[ROOM];
	struct nlmsghdr *h = (void *)buf;

	if (poll(&p, 1, ms) != 1 || recv(fd, buf, sizeof(buf), 0) <= 0)
		return false;
	take(h, s);
	return h->nlmsg_type == family;
}
