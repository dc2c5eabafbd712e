/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* All algorithms, by collective and number. */
#ifndef COLL_PURE_ALGORITHMS_TABLE_H
#define COLL_PURE_ALGORITHMS_TABLE_H

#include "../schedule.h"

/**
 * coll_algorithm_find() - look an algorithm up
 * @collective: enum coll_collective
 * @id: enum coll_algorithm_id, with or without a radix; COLL_ALG_AUTO: the default one
 *
 * Return: the algorithm, or NULL if there is none of that id for @collective.
 */
const struct coll_algorithm *coll_algorithm_find(u32 collective, u32 id);

/**
 * coll_algorithm_at() - walk the registry
 * @i: 0, 1, 2, ...
 *
 * Return: the i-th algorithm, NULL past the end.
 */
const struct coll_algorithm *coll_algorithm_at(u32 i);

/**
 * coll_algorithm_of() - walk the algorithms of a collective
 * @collective: enum coll_collective; a v-form has those of the collective without the v
 * @i: 0, 1, 2, ...; the first is the default one
 *
 * Return: the i-th, NULL past the end.
 */
const struct coll_algorithm *coll_algorithm_of(u32 collective, u32 i);

#endif /* COLL_PURE_ALGORITHMS_TABLE_H */
