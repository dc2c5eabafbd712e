/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The tree of nodes for named collectives. Nodes have places, counted from the node of rank 0: the
 * parent of place p > 0 is place (p - 1) / COLL_COORD_FANOUT.
 */
#ifndef COLL_PURE_COORD_TREE_H
#define COLL_PURE_COORD_TREE_H

/* Children of a node at most. */
#define COLL_COORD_FANOUT	16

#endif /* COLL_PURE_COORD_TREE_H */
