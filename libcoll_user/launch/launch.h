/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Launchers other than collrun: what they tell a process about its job, and how rank 0
 * hands a blob to the others by them.
 */
#ifndef LIBCOLL_LAUNCH_H
#define LIBCOLL_LAUNCH_H

#include <stdbool.h>

#include <coll/coll.h>

/**
 * struct launcher - one way to start the processes of a job
 * @name: name in messages
 * @present: has this process been started that way?
 * @configure: set rank and size of @cfg, and exchange or rendezvous. Return: 0 or a
 *	negative errno, with a text for coll_last_error().
 */
struct launcher {
	const char *name;
	bool (*present)(void);
	int (*configure)(struct coll_config *cfg);
};

extern const struct launcher launch_pmix;
extern const struct launcher launch_pmi;
extern const struct launcher launch_torch;

/**
 * launch_configure() - fill in @cfg by the launcher of this process
 *
 * Return: 1: done; 0: there is no launcher; a negative errno: there is one that cannot be
 * used, and coll_last_error() names the variable that shows it.
 */
int launch_configure(struct coll_config *cfg);

#endif
