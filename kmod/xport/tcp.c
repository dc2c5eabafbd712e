// SPDX-License-Identifier: GPL-2.0
#include <linux/file.h>
#include <linux/net.h>

#include "channel.h"
#include "channel_link.h"
#include "sock.h"
#include "tcp.h"

static int coll_tcp_add(struct coll_group *g, u32 peer, int fd, u32 stripe)
{
	struct socket *sock;
	int ret;

	sock = sockfd_lookup(fd, &ret);
	if (!sock)
		return ret;
	ret = coll_sock_check(sock);
	if (!ret)
		ret = coll_ch_add(g, peer, stripe, sock);
	if (ret)
		sockfd_put(sock);
	return ret;
}

const struct coll_transport coll_tcp_transport = {
	.add	= coll_tcp_add,
	.share	= coll_ch_share,
};
