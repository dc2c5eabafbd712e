// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/coll_limit: what the kernel that coll runs in could do at best. Written to, it
 * measures; read from, the same open file has the result:
 *
 *	local RANKS BYTES ITERATIONS
 *	send FD BYTES WINDOW copy|splice
 *	recv FD BYTES WINDOW
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "limit.h"

bool limit_usable(const struct limit_loops *loops)
{
	/* User-mode Linux knows its host's CPU by name, not by OSXSAVE. */
	bool wide = IS_ENABLED(CONFIG_UML) || boot_cpu_has(X86_FEATURE_OSXSAVE);

	if (loops == &limit_avx512)
		return wide && boot_cpu_has(X86_FEATURE_AVX512F);
	return loops == &limit_sse2 || (wide && boot_cpu_has(X86_FEATURE_AVX2));
}

static bool limit_window_ok(u64 window)
{
	return window && window <= 1ULL << 30 && window % PAGE_SIZE == 0;
}

static int limit_do(const char *cmd, char *text)
{
	unsigned int ranks, iters;
	unsigned long long bytes, window;
	char how[8];
	int fd;

	if (sscanf(cmd, "local %u %llu %u", &ranks, &bytes, &iters) == 3)
		return ranks && ranks <= LIMIT_RANKS && bytes && bytes <= 1ULL << 30 &&
		       bytes % 256 == 0 && iters && iters <= 10000 ?
		       limit_local(ranks, bytes, iters, text) : -EINVAL;
	if (sscanf(cmd, "send %d %llu %llu %7s", &fd, &bytes, &window, how) == 4 &&
	    limit_window_ok(window))
		return limit_tcp_send(fd, bytes, window, !strcmp(how, "splice"));
	if (sscanf(cmd, "recv %d %llu %llu", &fd, &bytes, &window) == 3 &&
	    limit_window_ok(window))
		return limit_tcp_recv(fd, bytes, window, text);
	return -EINVAL;
}

static int limit_open(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(LIMIT_TEXT, GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static int limit_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static ssize_t limit_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	char cmd[80] = "", *text = file->private_data;
	int ret;

	if (len >= sizeof(cmd))
		return -EINVAL;
	if (copy_from_user(cmd, buf, len))
		return -EFAULT;
	*text = 0;
	ret = limit_do(cmd, text);
	return ret ? ret : len;
}

static ssize_t limit_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	const char *text = file->private_data;

	return simple_read_from_buffer(buf, len, pos, text, strlen(text));
}

static const struct proc_ops limit_ops = {
	.proc_open = limit_open,
	.proc_release = limit_release,
	.proc_write = limit_write,
	.proc_read = limit_read,
	.proc_lseek = default_llseek,
};

static int __init limit_init(void)
{
	return proc_create("coll_limit", 0600, NULL, &limit_ops) ? 0 : -ENOMEM;
}

static void __exit limit_exit(void)
{
	remove_proc_entry("coll_limit", NULL);
}

module_init(limit_init);
module_exit(limit_exit);
MODULE_DESCRIPTION("coll: what the kernel could do at best");
MODULE_LICENSE("GPL");
