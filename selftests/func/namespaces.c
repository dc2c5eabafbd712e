// SPDX-License-Identifier: GPL-2.0
/*
 * To be root of a user namespace gives no rights. And namespaces are not held: a network namespace
 * whose sockets ranks use lives as long as these ranks, and no longer.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness.h"
#include "util.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif
#define CANNOT		77

/* The user nobody becomes root of a user namespace of its own. */
static int root_of_nothing(void)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534) || unshare(CLONE_NEWUSER))
		return CANNOT;
	/* The kernel gave its /proc files to root when the uid changed. */
	prctl(PR_SET_DUMPABLE, 1);
	test_put("/proc/self/setgroups", "deny");
	if (!test_put("/proc/self/uid_map", "0 65534 1") || geteuid())
		return CANNOT;
	return raw_open() == -EACCES ? 0 : 1;
}

TEST(user_namespace)
{
	struct stat st;
	int status = 0;
	pid_t pid;

	ASSERT_EQ(0, stat("/dev/coll", &st));
	ASSERT_EQ(0, chmod("/dev/coll", 0660));
	pid = fork();
	if (!pid)
		_exit(root_of_nothing());
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, chmod("/dev/coll", st.st_mode & 07777));
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
		SKIP_REST(return, "no user namespaces for nobody");
	EXPECT_EQ(0, status);
}

/*
 * The user nobody makes a user namespace, and root gives it another uid there, as by /etc/subuid.
 * Both uids make a communicator. Return: how many of the two could be made, or CANNOT.
 */
static int groups_of_two_uids(int ask, int told)
{
	struct raw_comm c[2];
	char byte = 0;
	int ret, i, n = 0;

	for (i = 0; i < 2; i++)
		raw_plan(&c[i], 1, 1);
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		return CANNOT;
	for (i = 0; i < 2; i++) {
		if (i && (unshare(CLONE_NEWUSER) || write(ask, &byte, 1) != 1 ||
			  read(told, &byte, 1) != 1 || byte || setuid(0)))
			return CANNOT;
		c[i].fd[0] = raw_open();
		ret = raw_join(c[i].fd[0], &c[i], 0);
		if (ret && ret != -EMFILE)
			return CANNOT - 1;
		n += !ret;
	}
	return n;
}

TEST(uids_of_a_user_namespace_share_limits)
{
	int ask[2], told[2], status = 0;
	char byte, map[64];
	struct stat st;
	pid_t pid;

	ASSERT_EQ(0, stat("/dev/coll", &st));
	ASSERT_EQ(0, chmod("/dev/coll", 0666));
	ASSERT_TRUE(test_put("/sys/module/coll/parameters/max_groups", "1"));
	ASSERT_EQ(0, pipe(ask));
	ASSERT_EQ(0, pipe(told));
	pid = fork();
	if (!pid) {
		close(ask[0]);
		_exit(groups_of_two_uids(ask[1], told[0]));
	}
	close(ask[1]);
	if (read(ask[0], &byte, 1) == 1) {
		snprintf(map, sizeof(map), "/proc/%d/uid_map", pid);
		byte = !test_put(map, "0 200000 1");
		EXPECT_EQ(1, write(told[1], &byte, 1));
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(test_put("/sys/module/coll/parameters/max_groups", "16384"));
	EXPECT_EQ(0, chmod("/dev/coll", st.st_mode & 07777));
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
		SKIP_REST(return, "no user namespaces for nobody");
	EXPECT_EQ(1, WEXITSTATUS(status));
}

TEST(mptcp_is_refused)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	struct raw_comm c;
	int l, s, fd;

	l = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	if (l < 0)
		SKIP(return, "no MPTCP");
	s = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	ASSERT_EQ(0, bind(l, (void *)&a, len));
	ASSERT_EQ(0, listen(l, 1));
	ASSERT_EQ(0, getsockname(l, (void *)&a, &len));
	ASSERT_EQ(0, connect(s, (void *)&a, len));
	raw_plan(&c, 2, 2);
	fd = raw_open();
	ASSERT_EQ(0, raw_join(fd, &c, 0));
	EXPECT_EQ(-EPROTOTYPE, raw_link(fd, 1, s, 0));
	close(fd);
	close(s);
	close(l);
}

/*
 * Sockets of another namespace are good, whoever hands them over. One device of a pair is in that
 * namespace, the other one is here. When the namespace ends, both devices are gone.
 */
TEST(network_namespace_deleted)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there, s, k, sv[2][2];
	struct raw_comm c;

	if (system("ip netns add collns 2>/dev/null"))
		SKIP(return, "no network namespaces");
	if (system("ip link add coll0 type veth peer name coll1 netns collns 2>/dev/null")) {
		system("ip netns del collns");
		SKIP(return, "no veth");
	}
	there = open("/run/netns/collns", O_RDONLY | O_CLOEXEC);
	ASSERT_EQ(0, setns(there, CLONE_NEWNET));
	ASSERT_EQ(0, system("ip link set lo up"));
	for (s = 0; s < 2; s++)
		ASSERT_EQ(0, raw_tcp_pair(sv[s]));
	ASSERT_EQ(0, setns(home, CLONE_NEWNET));
	close(there);
	raw_plan(&c, 2, 2);
	for (k = 0; k < 2; k++) {
		c.fd[k] = raw_open();
		ASSERT_EQ(0, raw_join(c.fd[k], &c, k));
		for (s = 0; s < 2; s++)
			ASSERT_EQ(0, raw_link(c.fd[k], !k, sv[s][k], s));
	}
	for (s = 0; s < 2; s++) {
		close(sv[s][0]);
		close(sv[s][1]);
	}
	EXPECT_EQ(0, test_good(&c));
	ASSERT_EQ(0, system("ip netns del collns"));
	test_sleep_us(200000);
	/* Only the links hold it now. */
	EXPECT_EQ(0, access("/sys/class/net/coll0", F_OK));
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
	for (k = 0; k < 1200 && !access("/sys/class/net/coll0", F_OK); k++)
		test_sleep_us(50000);
	EXPECT_NE(0, access("/sys/class/net/coll0", F_OK)) {
		TH_LOG("the namespace is still there");
	}
}

TEST_HARNESS_MAIN
