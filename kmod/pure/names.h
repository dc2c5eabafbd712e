/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The names of numbers of the ABI: features, states, modes. One place, for the kernel's
 * log, tools and tests. Collectives, operators and types are in optable.h.
 */
#ifndef COLL_PURE_NAMES_H
#define COLL_PURE_NAMES_H

#include "env.h"

/* Each returns NULL for a number that has no name. */

/* Bit @bit of struct coll_version.features: COLL_FEAT_* in lower case, with hyphens. */
const char *coll_feature_name(u64 bit);
/* enum coll_state */
const char *coll_state_name(u64 state);
/* enum coll_select_source */
const char *coll_select_source_name(u64 source);
/* enum coll_nl_link_state */
const char *coll_link_state_name(u64 state);
/* enum coll_nl_send_mode */
const char *coll_send_mode_name(u64 mode);
/* enum coll_nl_stall_state, the values that are states of a process */
const char *coll_rank_state_name(u64 state);

#endif /* COLL_PURE_NAMES_H */
