// SPDX-License-Identifier: GPL-2.0
/* Generic netlink: requests right and wrong, several at a time, sockets closed too early. */
#include <errno.h>
#include <linux/coll_nl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "fuzz.h"

#define ROOM	512

static struct raw_comm comm;
static uint16_t family;

static int nl_open(void)
{
	struct timeval tv = { .tv_sec = 2 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return fd;
}

static struct nlattr *put_attr(struct nlmsghdr *h, uint16_t type, const void *data, uint16_t len)
{
	struct nlattr *a = (void *)h + NLMSG_ALIGN(h->nlmsg_len);

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy(a + 1, data, len);
	h->nlmsg_len = NLMSG_ALIGN(h->nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

static void begin(struct nlmsghdr *h, uint16_t type, uint16_t flags, uint8_t cmd)
{
	struct genlmsghdr *g = NLMSG_DATA(h);

	memset(h, 0, ROOM);
	h->nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	h->nlmsg_seq = 1;
	g->cmd = cmd;
	g->version = 1;
}

/* The number of family "coll", from the controller. */
static uint16_t find_family(void)
{
	union { struct nlmsghdr h; char room[8192]; } m;
	int fd = nl_open(), n;
	struct nlattr *a;
	char *end;

	begin(&m.h, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY);
	put_attr(&m.h, CTRL_ATTR_FAMILY_NAME, COLL_FAMILY_NAME, sizeof(COLL_FAMILY_NAME));
	send(fd, &m, m.h.nlmsg_len, 0);
	n = recv(fd, &m, sizeof(m), 0);
	close(fd);
	if (n < (int)NLMSG_LENGTH(GENL_HDRLEN) || m.h.nlmsg_type == NLMSG_ERROR)
		return 0;
	a = NLMSG_DATA(&m.h) + GENL_HDRLEN;
	for (end = m.room + n; (char *)(a + 1) <= end && a->nla_len >= NLA_HDRLEN;
	     a = (void *)a + NLA_ALIGN(a->nla_len))
		if (a->nla_type == CTRL_ATTR_FAMILY_ID)
			return *(uint16_t *)(a + 1);
	return 0;
}

static int start(void)
{
	int ret = raw_start(&comm, 4, 2);

	family = find_family();
	return ret ? ret : !family;
}

/* A request; true if it is right, so that it must be answered. */
static bool make(struct nlmsghdr *h, uint64_t *lots)
{
	uint32_t v = test_below(lots, 8) ? 1 : test_rand(lots);
	unsigned int i, n = test_below(lots, 3);
	bool right = true;

	begin(h, family, NLM_F_DUMP, 1 + test_below(lots, COLL_NL_CMD_MAX));
	for (i = 0; i < n && !test_below(lots, 2); i++) {
		put_attr(h, test_below(lots, 2) ? 2 : test_below(lots, 40), &v, test_below(lots, 5));
		right = false;
	}
	if (test_below(lots, 2))
		return right;
	switch (test_below(lots, 6)) {
	case 0:
		h->nlmsg_flags = test_rand(lots);
		break;
	case 1:
		((struct genlmsghdr *)NLMSG_DATA(h))->cmd = test_rand(lots);
		break;
	case 2:
		h->nlmsg_len = test_below(lots, 256);
		break;
	case 3:
		((struct genlmsghdr *)NLMSG_DATA(h))->version = test_rand(lots);
		break;
	default:
		((uint8_t *)h)[test_below(lots, h->nlmsg_len)] ^= 1 << test_below(lots, 8);
	}
	return false;
}

/* Read what comes. Return: answers that ended, with a dump or an error. */
static unsigned int answers(int fd, unsigned int want)
{
	static union { struct nlmsghdr h; char room[65536]; } m;
	unsigned int ended = 0;
	struct nlmsghdr *h;
	int n;

	while (ended < want) {
		n = recv(fd, &m, sizeof(m), want ? 0 : MSG_DONTWAIT);
		if (n <= 0)
			return ended;
		for (h = &m.h; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n))
			ended += h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR;
		if (n)
			fuzz_complain("%d bytes behind the last message", n);
	}
	return ended;
}

static unsigned int round_netlink(const struct fuzz_seeds *s)
{
	union { struct nlmsghdr h; char room[ROOM]; } m;
	uint64_t lots = s->seed[0];
	unsigned int i, k, n = 1 + test_below(&lots, 4);
	bool right = false;
	int fd = nl_open();

	for (k = 1; k < s->n; k++)
		lots ^= s->seed[k];
	lots |= 1;
	for (i = 0; i < n; i++) {
		right = make(&m.h, &lots);
		/* the header says what it likes; the datagram is as long as it is */
		send(fd, &m, m.h.nlmsg_len && m.h.nlmsg_len < ROOM ? m.h.nlmsg_len : 16,
		     MSG_DONTWAIT);
	}
	if (n == 1 && right && answers(fd, 1) != 1)
		fuzz_complain("a right request was not answered");
	else if (test_below(&lots, 2))
		while (recv(fd, &m, sizeof(m), MSG_DONTWAIT) > 0)
			;
	close(fd);
	return n;
}

const struct fuzz_kind fuzz_netlink = {
	.name = "netlink", .start = start, .round = round_netlink,
};
