/* SPDX-License-Identifier: GPL-2.0 */
/* From which size on results are stored past the caches. */
#ifndef COLL_CORE_NT_STORE_H
#define COLL_CORE_NT_STORE_H

#include <linux/types.h>

/* Measure it, once, at load, when the instruction set has been chosen and workers exist. */
void coll_nt_init(void);

/* The size from which on stores past the caches are faster: bytes read and written together. */
u64 coll_nt_from(void);

#endif /* COLL_CORE_NT_STORE_H */
