// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Exact sums. A finite float is m * 2^pos in the units of exact.h, m below 2^mant:
 * adding it touches one or two words of the accumulator, and then as many as the
 * carry runs through.
 *
 * Usually there are few floats, of similar size. They need no accumulator of that
 * length: see fold_window().
 */
#include "exact.h"

#define F_NAN		(1U << 0)
#define F_PLUS_INF	(1U << 1)
#define F_MINUS_INF	(1U << 2)
#define F_NOT_MINUS_0	(1U << 3)

#define F64_WORDS	(COLL_EXACT_WORDS_F64 - 1)
#define F32_WORDS	(COLL_EXACT_WORDS_F32 - 1)

/* The kernel has them too, from 6.4 on. */
typedef unsigned __int128 u128;
typedef __int128 s128;

/**
 * struct fmt - a floating-point format; always a constant, so that all is inlined
 * @size: bytes
 * @mant: bits of a significand, with the leading one
 * @words: of the number in an accumulator
 */
struct fmt {
	u32 size;
	u32 mant;
	u32 words;
};

static const struct fmt f32_fmt = { 4, 24, F32_WORDS };
static const struct fmt f64_fmt = { 8, 53, F64_WORDS };

struct acc {
	u64 word[F64_WORDS];
	u64 flags;
};

/* A float taken apart; special: infinite or NaN. */
struct part {
	u64 m;
	u32 pos;
	bool neg;
	bool special;
};

static __always_inline u32 exp_max(const struct fmt *f)
{
	return (1U << (f->size * 8 - f->mant)) - 1;
}

static __always_inline u64 infinity(const struct fmt *f)
{
	return (u64)exp_max(f) << (f->mant - 1);
}

static __always_inline u64 sign_bit(const struct fmt *f)
{
	return 1ULL << (f->size * 8 - 1);
}

static __always_inline u64 load(const struct fmt *f, const void *v, size_t i)
{
	u64 bits = 0;

	__builtin_memcpy(&bits, (const u8 *)v + i * f->size, f->size);
	return bits;
}

static __always_inline void store(const struct fmt *f, void *v, size_t i, u64 bits)
{
	__builtin_memcpy((u8 *)v + i * f->size, &bits, f->size);
}

static __always_inline struct part take_apart(const struct fmt *f, u64 bits)
{
	u32 e = bits >> (f->mant - 1) & exp_max(f);
	u64 hidden = 1ULL << (f->mant - 1);
	struct part p = {
		.m = bits & (hidden - 1),
		.neg = bits & sign_bit(f),
		.special = e == exp_max(f),
	};

	if (e) {
		p.m |= hidden;
		p.pos = e - 1;
	}
	return p;
}

/* The flags a float raises. */
static __always_inline u32 flags_of(const struct fmt *f, u64 bits, const struct part *p)
{
	u32 flags = bits != sign_bit(f) ? F_NOT_MINUS_0 : 0;

	if (!p->special)
		return flags;
	if ((bits & ~sign_bit(f)) != infinity(f))
		return flags | F_NAN;
	return flags | (p->neg ? F_MINUS_INF : F_PLUS_INF);
}

/* word[i..] += x, the carry running as far as it has to */
static __always_inline void add_word(u64 *word, u32 n, u32 i, u64 x)
{
	bool carry = __builtin_add_overflow(word[i], x, &word[i]);

	for (i++; carry && i < n; i++)
		carry = !++word[i];
}

static __always_inline void sub_word(u64 *word, u32 n, u32 i, u64 x)
{
	bool borrow = __builtin_sub_overflow(word[i], x, &word[i]);

	for (i++; borrow && i < n; i++)
		borrow = !word[i]--;
}

static __always_inline void add_float(const struct fmt *f, struct acc *a, u64 bits)
{
	struct part p = take_apart(f, bits);
	u32 i = p.pos / 64;
	u128 x = (u128)p.m << p.pos % 64;

	a->flags |= flags_of(f, bits, &p);
	if (p.special)
		return;
	/* The largest float ends below the last word: i + 1 exists. */
	if (p.neg) {
		sub_word(a->word, f->words, i, (u64)x);
		sub_word(a->word, f->words, i + 1, (u64)(x >> 64));
	} else {
		add_word(a->word, f->words, i, (u64)x);
		add_word(a->word, f->words, i + 1, (u64)(x >> 64));
	}
}

static __always_inline void add_acc(const struct fmt *f, struct acc *a, const u8 *from)
{
	u64 w, carry = 0;
	u128 sum;
	u32 i;

	for (i = 0; i < f->words; i++, from += sizeof(w)) {
		__builtin_memcpy(&w, from, sizeof(w));
		sum = (u128)a->word[i] + w + carry;
		a->word[i] = (u64)sum;
		carry = (u64)(sum >> 64);
	}
	__builtin_memcpy(&w, from, sizeof(w));
	a->flags |= w;
}

/*
 * The float of m * 2^shift and a bit more: @half says whether half a unit of m was
 * cut off, @sticky whether anything below that was. m has mant bits; fewer only
 * with shift 0, where it is the encoding of a subnormal number. The carry of
 * rounding up runs into the exponent by itself, from the largest float too.
 */
static __always_inline u64 rounded(const struct fmt *f, u64 m, u32 shift, bool half, bool sticky)
{
	u64 bits = ((u64)shift << (f->mant - 1)) + m;

	bits += half && (sticky || m & 1);
	return bits < infinity(f) ? bits : infinity(f);
}

/* The result when the numbers cancel out, or there are none. */
static __always_inline u64 special_result(const struct fmt *f, u32 flags)
{
	if (flags & F_NAN || (flags & F_PLUS_INF && flags & F_MINUS_INF))
		return infinity(f) | 1ULL << (f->mant - 2);
	if (flags & (F_PLUS_INF | F_MINUS_INF))
		return infinity(f) | (flags & F_MINUS_INF ? sign_bit(f) : 0);
	return flags & F_NOT_MINUS_0 ? 0 : sign_bit(f);
}

/* The number becomes its magnitude. Returns whether it was negative. */
static __always_inline bool make_magnitude(u64 *word, u32 n)
{
	u32 i;

	if (!(word[n - 1] >> 63))
		return false;
	for (i = 0; i < n; i++)
		word[i] = ~word[i];
	add_word(word, n, 0, 1);
	return true;
}

/* The bits of a magnitude from bit @shift on, up to 64 of them. */
static __always_inline u64 bits_from(const u64 *word, u32 n, u32 shift)
{
	u32 i = shift / 64, by = shift % 64;
	u64 x = word[i] >> by;

	if (by && i + 1 < n)
		x |= word[i + 1] << (64 - by);
	return x;
}

/* Is any bit below bit @end set? */
static __always_inline bool any_below(const u64 *word, u32 end)
{
	u32 i;

	for (i = 0; i < end / 64; i++) {
		if (word[i])
			return true;
	}
	return end % 64 && word[i] << (64 - end % 64);
}

static __always_inline u64 round_acc(const struct fmt *f, struct acc *a)
{
	u32 n = f->words, shift;
	bool neg, half = false, sticky = false;
	u64 bits;

	if (a->flags & (F_NAN | F_PLUS_INF | F_MINUS_INF))
		return special_result(f, a->flags);
	neg = make_magnitude(a->word, n);
	while (n && !a->word[n - 1])
		n--;
	if (!n)
		return special_result(f, a->flags);
	shift = (n - 1) * 64 + 64 - __builtin_clzll(a->word[n - 1]);
	shift = shift > f->mant ? shift - f->mant : 0;
	if (shift) {
		half = bits_from(a->word, n, shift - 1) & 1;
		sticky = any_below(a->word, shift - 1);
	}
	bits = bits_from(a->word, n, shift);
	return rounded(f, bits, shift, half, sticky) | (neg ? sign_bit(f) : 0);
}

/* As round_acc(), of sum * 2^pos; sum is not 0. */
static __always_inline u64 round_window(const struct fmt *f, s128 sum, u32 pos)
{
	bool neg = sum < 0, half = false, sticky = false;
	u128 mag = neg ? -(u128)sum : (u128)sum;
	u64 high = (u64)(mag >> 64), low = (u64)mag;
	u32 top = pos + (high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll(low));
	u32 shift = top > f->mant ? top - f->mant : 0;

	if (shift <= pos) {
		low <<= pos - shift;
	} else {
		u32 cut = shift - pos;

		half = mag >> (cut - 1) & 1;
		sticky = mag & (((u128)1 << (cut - 1)) - 1);
		low = (u64)(mag >> cut);
	}
	return rounded(f, low, shift, half, sticky) | (neg ? sign_bit(f) : 0);
}

/*
 * Sum element @i of @nr_in vectors of floats, if a 128-bit integer whose lowest bit
 * is that of the smallest input is wide enough: mant bits, the spread of the
 * exponents, the bits of nr_in, and the sign. Return: false if it is not.
 */
static __always_inline bool fold_window(const struct fmt *f, const void *const *in,
			      unsigned int nr_in, size_t i, u64 *result)
{
	u32 low = ~0U, high = 0, flags = 0;
	unsigned int k;
	s128 sum = 0;

	for (k = 0; k < nr_in; k++) {
		u64 bits = load(f, in[k], i);
		struct part p = take_apart(f, bits);

		flags |= flags_of(f, bits, &p);
		low = p.m && p.pos < low ? p.pos : low;
		high = p.m && p.pos > high ? p.pos : high;
	}
	if (flags & ~F_NOT_MINUS_0 || low > high) {
		*result = special_result(f, flags);
		return true;
	}
	if (high - low + 33 - __builtin_clz(nr_in) + f->mant > 128)
		return false;
	for (k = 0; k < nr_in; k++) {
		struct part p = take_apart(f, load(f, in[k], i));
		s128 sign = -(s128)p.neg;

		/* No branches: signs are random. A zero may be shifted anywhere. */
		sum += ((s128)((u128)p.m << (p.pos - low) % 128) ^ sign) - sign;
	}
	*result = sum ? round_window(f, sum, low) : special_result(f, F_NOT_MINUS_0);
	return true;
}

static __always_inline void fold(const struct fmt *f, struct acc *a,
		       const void *const *in, unsigned int nr_in,
		       unsigned int nr_folded, size_t i)
{
	u32 size = (f->words + 1) * sizeof(u64);
	unsigned int k;

	if (nr_folded) {
		__builtin_memcpy(a->word, (const u8 *)in[0] + i * size, size - sizeof(u64));
		__builtin_memcpy(&a->flags, (const u8 *)in[0] + (i + 1) * size - sizeof(u64),
				 sizeof(u64));
	} else {
		__builtin_memset(a->word, 0, size - sizeof(u64));
		a->flags = 0;
	}
	for (k = 1; k < nr_folded; k++)
		add_acc(f, a, (const u8 *)in[k] + i * size);
	for (k = nr_folded; k < nr_in; k++)
		add_float(f, a, load(f, in[k], i));
}

static __always_inline void sum(const struct fmt *f, void *const *out, unsigned int nr_out,
		      const void *const *in, unsigned int nr_in, size_t count,
		      unsigned int nr_folded)
{
	unsigned int k;
	struct acc a;
	u64 bits;
	size_t i;

	for (i = 0; i < count; i++) {
		if (nr_folded || !fold_window(f, in, nr_in, i, &bits)) {
			fold(f, &a, in, nr_in, nr_folded, i);
			bits = round_acc(f, &a);
		}
		for (k = 0; k < nr_out; k++)
			store(f, out[k], i, bits);
	}
}

static __always_inline void part(const struct fmt *f, void *const *out, unsigned int nr_out,
		       const void *const *in, unsigned int nr_in, size_t count,
		       unsigned int nr_folded)
{
	u32 number = f->words * sizeof(u64);
	unsigned int k;
	struct acc a;
	size_t i;

	for (i = 0; i < count; i++) {
		fold(f, &a, in, nr_in, nr_folded, i);
		for (k = 0; k < nr_out; k++) {
			u8 *to = (u8 *)out[k] + i * (number + sizeof(u64));

			__builtin_memcpy(to, a.word, number);
			__builtin_memcpy(to + number, &a.flags, sizeof(u64));
		}
	}
}

#define KERNEL(name, body, fmt)							\
void name(void *const *out, unsigned int nr_out, const void *const *in,		\
	  unsigned int nr_in, size_t count, const struct coll_reduce_arg *arg)	\
{										\
	body(&fmt, out, nr_out, in, nr_in, count, arg ? arg->nr_folded : 0);	\
}

KERNEL(coll_exact_sum_f32, sum, f32_fmt)
KERNEL(coll_exact_sum_f64, sum, f64_fmt)
KERNEL(coll_exact_part_f32, part, f32_fmt)
KERNEL(coll_exact_part_f64, part, f64_fmt)

u32 coll_exact_size(u32 dtype)
{
	switch (dtype) {
	case COLL_F32:
		return COLL_EXACT_WORDS_F32 * sizeof(u64);
	case COLL_F64:
		return COLL_EXACT_WORDS_F64 * sizeof(u64);
	default:
		return 0;
	}
}
