/* SPDX-License-Identifier: GPL-2.0 */
/* From which size on results are stored past the caches. */
#ifndef COLL_CORE_STREAM_H
#define COLL_CORE_STREAM_H

#include <linux/types.h>

/* Measure it, once, at load, when the instruction set has been chosen and workers exist. */
void coll_stream_init(void);

/* Bytes, read and written together. */
u64 coll_stream_from(void);

#endif /* COLL_CORE_STREAM_H */
