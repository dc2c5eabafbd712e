// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU's emulator, for collvm run --count FILE. It counts the instructions that all CPUs
 * of the guest execute, in user space and in the kernel. Whenever a CPU executes the marker, a NOP
 * with a displacement of "coll", it writes a line to FILE: the count until then.
 *
 * A block of instructions counts as a whole when it begins, also if an exception ends it early.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MOST_CPUS	64

/*
 * The plugin interface of QEMU, version 1 (docs/devel/tcg-plugins.rst there). Debian has no package
 * with its header.
 */
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef void qemu_cpu_fn(unsigned int cpu, void *arg);

#define QEMU_PLUGIN_CB_NO_REGS	0

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*fn)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_cpu_fn *fn, int flags,
					  void *arg);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_cpu_fn *fn,
					    int flags, void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#define EXPORT	__attribute__((visibility("default")))

extern EXPORT int qemu_plugin_version;
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv);

/* nopl 0x6c6c6f63(%rax), see tools/bench/each.h */
static const unsigned char marker[] = { 0x0f, 0x1f, 0x80, 'c', 'o', 'l', 'l' };

/* Each CPU of the guest is a thread, and writes its own count, on a cache line of its own. */
static struct {
	_Alignas(64) volatile uint64_t n;
} count[MOST_CPUS];
static FILE *out;

static void on_block(unsigned int cpu, void *arg)
{
	count[cpu % MOST_CPUS].n += (uintptr_t)arg;
}

static void on_marker(unsigned int cpu, void *arg)
{
	uint64_t sum = 0;
	int i;

	(void)cpu;
	(void)arg;
	for (i = 0; i < MOST_CPUS; i++)
		sum += count[i].n;
	fprintf(out, "%llu\n", (unsigned long long)sum);
	fflush(out);
}

static bool is_marker(const struct qemu_plugin_insn *insn)
{
	return qemu_plugin_insn_size(insn) == sizeof(marker) &&
	       !memcmp(qemu_plugin_insn_data(insn), marker, sizeof(marker));
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct qemu_plugin_insn *insn;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, (void *)n);
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		if (is_marker(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4))
		return -1;
	out = fopen(argv[0] + 4, "w");
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
