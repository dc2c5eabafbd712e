/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Little-endian numbers at any address. */
#ifndef COLL_PURE_BYTES_H
#define COLL_PURE_BYTES_H

#include "env.h"

static inline void put16(u8 *p, u16 v)
{
	p[0] = v & 0xff;
	p[1] = v >> 8;
}

static inline void put32(u8 *p, u32 v)
{
	put16(p, v & 0xffff);
	put16(p + 2, v >> 16);
}

static inline void put64(u8 *p, u64 v)
{
	put32(p, v & 0xffffffff);
	put32(p + 4, v >> 32);
}

static inline u16 get16(const u8 *p)
{
	return p[0] | (u16)p[1] << 8;
}

static inline u32 get32(const u8 *p)
{
	return get16(p) | (u32)get16(p + 2) << 16;
}

static inline u64 get64(const u8 *p)
{
	return get32(p) | (u64)get32(p + 4) << 32;
}

#endif /* COLL_PURE_BYTES_H */
