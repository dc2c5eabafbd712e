/* SPDX-License-Identifier: GPL-2.0 */
/* Faults injected into the kernel: see Documentation/fault-injection of the kernel. */
#ifndef COLL_SELFTESTS_INJECT_H
#define COLL_SELFTESTS_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/coll.h>

/**
 * struct tally - what a run adds up
 * @calls: calls and jobs that had one, or might have had
 * @injections: faults that were injected
 * @hangs: calls and jobs that did not end
 * @passed: scenarios that went as they should
 * @failed: those that did not
 */
struct tally {
	unsigned long calls, injections, hangs;
	unsigned int passed, failed;
};

extern struct tally tally;

/* One scenario: counts, and says so in TAP. */
void scenario(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Is all here, that is, is this uml-debug? Sets what all faults have in common. */
bool inject_start(void);
/* The @n-th allocation, or copy, of this thread from here on fails; 0: none. */
void inject_nth(unsigned int n);
/* Has it, since inject_nth()? */
bool inject_hit(void);

/**
 * inject_coll() - allocations with code of coll on the stack fail by chance
 * @what: "failslab" or "fail_page_alloc"
 * @percent: probability; 0: no more
 *
 * Return: false if that cannot be.
 */
bool inject_coll(const char *what, unsigned int percent);
/* Faults since inject_coll(). */
unsigned long inject_count(const char *what);

/* How a call was given that has faults. */
enum how { BY_IOCTL, BY_URING, BY_POST, BY_COLLECT, NR_HOWS };

/* Errors of one call that could not have memory, or copy something. */
bool inject_refused(int ret);

/*
 * COLL_IOC_POST of @cmd and COLL_IOC_COLLECT, one of them with the @n-th fault; it has one
 * completion, and no more. Return: its result, or why it was not posted.
 */
int posted_give(enum how how, int fd, struct coll_cmd *cmd, unsigned int n, bool *hit);
/* Ranks of a job that post and collect, or post names; each command with @timeout_ns. */
struct procs;
void posted_ops(struct procs *p, uint32_t rank, uint64_t timeout_ns);
void named_ops(struct procs *p, uint32_t rank, uint64_t timeout_ns);
/* The verbs of named collectives, each with its first, second, ... fault. */
void named_run(bool all);

/* All setup verbs and all collectives, each with its first, second, ... fault. */
void verbs_run(bool all);
/* Jobs of several processes while allocations fail by chance. */
void jobs_run(unsigned int jobs);

#endif /* COLL_SELFTESTS_INJECT_H */
