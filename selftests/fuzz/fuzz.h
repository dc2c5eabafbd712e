/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fuzzers of the module's entrances. A round depends on its seeds alone: the first one makes
 * it, each further one changes it a little. So a round that found new code is kept as a list of
 * seeds, and one that went wrong is repeated by its list.
 */
#ifndef COLL_SELFTESTS_FUZZ_H
#define COLL_SELFTESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "raw.h"
#include "util.h"

#define FUZZ_SEEDS	12

/* struct fuzz_seeds - what a round is made of */
struct fuzz_seeds {
	unsigned int n;
	uint64_t seed[FUZZ_SEEDS];
};

/**
 * struct fuzz_kind - a fuzzer
 * @name: of the entrance
 * @start: before the first round; 0, or not 0 if it cannot run here
 * @round: one round; the number of inputs it gave to the kernel, which it adds to
 *	fuzz_bad if something was wrong
 */
struct fuzz_kind {
	const char *name;
	int (*start)(void);
	unsigned int (*round)(const struct fuzz_seeds *s);
};

extern const struct fuzz_kind fuzz_ioctl, fuzz_uring, fuzz_wire, fuzz_netlink;

/* Something was wrong in this round: say what. */
void fuzz_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One round is repeated: say what it does. */
extern bool fuzz_verbose;

/* Places in coll.ko that this thread comes to, if it was built for that. */
bool kcov_start(void);
void kcov_round(void);
/* Places met for the first time in the round; in all. */
unsigned int kcov_new(void);
unsigned int kcov_places(void);

#define WIRE_BYTES	65536	/* PEER_BYTES */

/* struct wire_bytes - what the peer is going to write to one stream */
struct wire_bytes {
	uint8_t mem[WIRE_BYTES];
	size_t len;
};

/* Change @b: by some random numbers of the first seed, and once by each further seed. */
void wire_change(struct wire_bytes *b, const struct fuzz_seeds *s, uint64_t *lots);
struct peer;
/* Write it in pieces, as the network may deliver them. */
void wire_write(struct peer *p, int stripe, const struct wire_bytes *b, uint64_t *lots);
/* A round with a peer that speaks of named collectives. */
unsigned int wire_named(const struct fuzz_seeds *s, uint64_t lots);

#define CALL_BYTES	256
#define CALLS_MAX	8
#define CALL_FILES	4

/**
 * struct call - one ioctl
 * @request: its number
 * @file: which of the round's files
 * @partner: the other rank submits the same at the same time
 * @bytes: the struct, with junk behind it
 */
struct call {
	unsigned long request;
	unsigned int file;
	bool partner;
	union {
		uint8_t bytes[CALL_BYTES];
		struct coll_cmd cmd;
	};
};

/**
 * struct calls - what a round of ioctl or io_uring gives to the kernel
 * @nodes: of the communicator of files 0 and 1; file 2 is alone in one, 3 in none
 * @named: that communicator has named collectives
 * @lots: state of the random numbers that are drawn while it runs
 */
struct calls {
	unsigned int n, nodes;
	bool named;
	uint64_t lots;
	struct call call[CALLS_MAX];
};

/* The calls that @s stands for; commands only if @submit. */
void calls_make(struct calls *c, const struct fuzz_seeds *s, bool submit);
/* Memory that calls name, mapped once. Return: 0 or -errno. */
int calls_memory(void);
/* Bytes that changed where nobody may write. */
size_t calls_hurt(void);
/* A writable address that calls may name, or any other. */
uint64_t calls_address(uint64_t *lots);

/**
 * struct calls_files - the files of a round
 * @fd: CALL_FILES of them
 * @comm: of files 0 and 1
 */
struct calls_files {
	int fd[CALL_FILES];
	struct raw_comm comm, solo;
};

bool calls_open(struct calls_files *f, const struct calls *c);
void calls_close(struct calls_files *f);
/* A fresh communicator works. */
void calls_check_good(unsigned int nodes);

#endif /* COLL_SELFTESTS_FUZZ_H */
