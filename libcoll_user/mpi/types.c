// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <pthread.h>

#include "types.h"

/* Groups of types for operators, as in the MPI standard. */
#define BIT(code)	(1U << (code))
#define COMPLEX		(BIT(COLL_OP_SUM) | BIT(COLL_OP_PROD))
#define FLOAT		(COMPLEX | BIT(COLL_OP_MIN) | BIT(COLL_OP_MAX))
#define LOGICAL		(BIT(COLL_OP_LAND) | BIT(COLL_OP_LOR) | BIT(COLL_OP_LXOR))
#define BYTES		(BIT(COLL_OP_BAND) | BIT(COLL_OP_BOR) | BIT(COLL_OP_BXOR))
#define INTEGER		(FLOAT | LOGICAL | BYTES)
#define PAIR		(BIT(COLL_OP_MINLOC) | BIT(COLL_OP_MAXLOC))

/* A signed integer of coll, whose size is that of the type in the MPI underneath. */
#define SIGNED_OF_SIZE	COLL_NR_DTYPES

struct row {
	MPI_Datatype type;
	enum coll_dtype dtype;
	unsigned int ops;
};

static struct row rows[] = {
	{ MPI_INT, SIGNED_OF_SIZE, INTEGER },
	{ MPI_DOUBLE, COLL_F64, FLOAT },
	{ MPI_FLOAT, COLL_F32, FLOAT },
	{ MPI_LONG, SIGNED_OF_SIZE, INTEGER },
	{ MPI_LONG_LONG, COLL_I64, INTEGER },
	{ MPI_UNSIGNED, COLL_U32, INTEGER },
	{ MPI_UNSIGNED_LONG, COLL_U64, INTEGER },
	{ MPI_UNSIGNED_LONG_LONG, COLL_U64, INTEGER },
	{ MPI_SHORT, COLL_I16, INTEGER },
	{ MPI_UNSIGNED_SHORT, COLL_U16, INTEGER },
	{ MPI_SIGNED_CHAR, COLL_I8, INTEGER },
	{ MPI_UNSIGNED_CHAR, COLL_U8, INTEGER },
	{ MPI_INT8_T, COLL_I8, INTEGER },
	{ MPI_INT16_T, COLL_I16, INTEGER },
	{ MPI_INT32_T, COLL_I32, INTEGER },
	{ MPI_INT64_T, COLL_I64, INTEGER },
	{ MPI_UINT8_T, COLL_U8, INTEGER },
	{ MPI_UINT16_T, COLL_U16, INTEGER },
	{ MPI_UINT32_T, COLL_U32, INTEGER },
	{ MPI_UINT64_T, COLL_U64, INTEGER },
	{ MPI_AINT, SIGNED_OF_SIZE, INTEGER },
	{ MPI_OFFSET, SIGNED_OF_SIZE, INTEGER },
	{ MPI_COUNT, SIGNED_OF_SIZE, INTEGER },
	{ MPI_BYTE, COLL_BYTE, BYTES },
	{ MPI_C_BOOL, COLL_BOOL, LOGICAL },
	{ MPI_LONG_DOUBLE, COLL_LDOUBLE, FLOAT },
	{ MPI_C_COMPLEX, COLL_C32, COMPLEX },
	{ MPI_C_DOUBLE_COMPLEX, COLL_C64, COMPLEX },
	{ MPI_C_LONG_DOUBLE_COMPLEX, COLL_CLDOUBLE, COMPLEX },
	{ MPI_2INT, COLL_I32_I32, PAIR },
	{ MPI_SHORT_INT, COLL_I16_I32, PAIR },
	{ MPI_LONG_INT, COLL_I64_I32, PAIR },
	{ MPI_FLOAT_INT, COLL_F32_I32, PAIR },
	{ MPI_DOUBLE_INT, COLL_F64_I32, PAIR },
	{ MPI_LONG_DOUBLE_INT, COLL_LDOUBLE_I32, PAIR },
	/* Fortran's */
	{ MPI_INTEGER, SIGNED_OF_SIZE, INTEGER },
	{ MPI_REAL, COLL_F32, FLOAT },
	{ MPI_DOUBLE_PRECISION, COLL_F64, FLOAT },
	{ MPI_COMPLEX, COLL_C32, COMPLEX },
	{ MPI_DOUBLE_COMPLEX, COLL_C64, COMPLEX },
	{ MPI_2INTEGER, COLL_I32_I32, PAIR },
	{ MPI_2REAL, COLL_F32_F32, PAIR },
	{ MPI_2DOUBLE_PRECISION, COLL_F64_F64, PAIR },
	{ MPI_INTEGER1, COLL_I8, INTEGER },
	{ MPI_INTEGER2, COLL_I16, INTEGER },
	{ MPI_INTEGER4, COLL_I32, INTEGER },
	{ MPI_INTEGER8, COLL_I64, INTEGER },
	{ MPI_REAL4, COLL_F32, FLOAT },
	{ MPI_REAL8, COLL_F64, FLOAT },
	{ MPI_COMPLEX8, COLL_C32, COMPLEX },
	{ MPI_COMPLEX16, COLL_C64, COMPLEX },
};

#define NR_ROWS		(sizeof(rows) / sizeof(rows[0]))

static const struct {
	MPI_Op op;
	enum coll_op_code code;
} operators[] = {
	{ MPI_SUM, COLL_OP_SUM },
	{ MPI_MAX, COLL_OP_MAX },
	{ MPI_MIN, COLL_OP_MIN },
	{ MPI_PROD, COLL_OP_PROD },
	{ MPI_LAND, COLL_OP_LAND },
	{ MPI_LOR, COLL_OP_LOR },
	{ MPI_LXOR, COLL_OP_LXOR },
	{ MPI_BAND, COLL_OP_BAND },
	{ MPI_BOR, COLL_OP_BOR },
	{ MPI_BXOR, COLL_OP_BXOR },
	{ MPI_MINLOC, COLL_OP_MINLOC },
	{ MPI_MAXLOC, COLL_OP_MAXLOC },
};

#define NR_OPERATORS	(sizeof(operators) / sizeof(operators[0]))

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int dense_key = MPI_KEYVAL_INVALID;

static enum coll_dtype signed_of_size(int64_t bytes)
{
	switch (bytes) {
	case 1:
		return COLL_I8;
	case 2:
		return COLL_I16;
	case 4:
		return COLL_I32;
	case 8:
		return COLL_I64;
	default:
		return COLL_DTYPE_NONE;
	}
}

/* The MPI underneath may lack a type, or have another size for it. */
static void check_row(struct row *row)
{
	int64_t bytes;

	if (row->type == MPI_DATATYPE_NULL)
		return;
	bytes = types_extent(row->type);
	if (row->dtype == SIGNED_OF_SIZE)
		row->dtype = signed_of_size(bytes);
	if ((int64_t)coll_dtype_bytes(row->dtype) != bytes)
		row->ops = 0;
}

static void prepare(void)
{
	size_t i;

	for (i = 0; i < NR_ROWS; i++)
		check_row(&rows[i]);
	PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &dense_key, NULL);
}

bool types_find_op(MPI_Op op, MPI_Datatype type, enum coll_op_code *code, enum coll_dtype *dtype)
{
	size_t i, k;

	pthread_once(&once, prepare);
	for (k = 0; k < NR_OPERATORS && operators[k].op != op; k++)
		;
	for (i = 0; i < NR_ROWS && rows[i].type != type; i++)
		;
	if (k == NR_OPERATORS || i == NR_ROWS || !(rows[i].ops & BIT(operators[k].code)))
		return false;
	*code = operators[k].code;
	*dtype = rows[i].dtype;
	return coll_op_supported(*code, *dtype);
}

/* MPI 4.1, 6.9.4: pairs are laid out as these structs of C. */
#define AT_I(p)		offsetof(__typeof__(p), i)
#define END_I(p)	(AT_I(p) + sizeof((p).i))
#define GAP_INSIDE(p)	(struct gap){ sizeof(p), sizeof((p).v), AT_I(p) - sizeof((p).v) }
#define GAP_BEHIND(p)	(struct gap){ sizeof(p), END_I(p), sizeof(p) - END_I(p) }

struct gap types_gap(enum coll_dtype dtype)
{
	struct { short v; int i; } s;
	struct { int64_t v; int i; } l;
	struct { double v; int i; } d;
	struct { long double v; int i; } ld;

	switch (dtype) {
	case COLL_I16_I32:
		return GAP_INSIDE(s);
	case COLL_I64_I32:
		return GAP_BEHIND(l);
	case COLL_F64_I32:
		return GAP_BEHIND(d);
	case COLL_LDOUBLE_I32:
		return GAP_BEHIND(ld);
	default:
		return (struct gap){ 0 };
	}
}

uint64_t types_size(MPI_Datatype type)
{
	MPI_Count size = 0;

	if (type != MPI_DATATYPE_NULL)
		PMPI_Type_size_x(type, &size);
	return size > 0 ? (uint64_t)size : 0;
}

int64_t types_extent(MPI_Datatype type)
{
	MPI_Count lb, extent = 0;

	if (type != MPI_DATATYPE_NULL)
		PMPI_Type_get_extent_x(type, &lb, &extent);
	return extent;
}

/* A named type of MPI: is there no gap in an element, and none behind it? */
static bool named_is_dense(MPI_Datatype type)
{
	return (int64_t)types_size(type) == types_extent(type);
}

/* A type may have counts beyond int. The functions without _c must not be asked about it. */
#if MPI_VERSION >= 4
static int how_made(MPI_Datatype type, int *combiner)
{
	MPI_Count ints, addresses, counts, types;

	return PMPI_Type_get_envelope_c(type, &ints, &addresses, &counts, &types, combiner);
}

/* The type of which a contiguous type or a duplicate is made. */
static int made_of(MPI_Datatype type, MPI_Datatype *base)
{
	MPI_Aint address;
	MPI_Count large;
	int count;

	return PMPI_Type_get_contents_c(type, 1, 1, 1, 1, &count, &address, &large, base);
}
#else
static int how_made(MPI_Datatype type, int *combiner)
{
	int ints, addresses, types;

	return PMPI_Type_get_envelope(type, &ints, &addresses, &types, combiner);
}

static int made_of(MPI_Datatype type, MPI_Datatype *base)
{
	MPI_Aint address;
	int count;

	return PMPI_Type_get_contents(type, 1, 1, 1, &count, &address, base);
}
#endif

/* MPI_Type_create_f90_real() and its kin return predefined types without names. */
int types_combiner(MPI_Datatype type)
{
	int combiner;

	if (how_made(type, &combiner))
		return MPI_UNDEFINED;
	if (combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
	    combiner == MPI_COMBINER_F90_INTEGER)
		return MPI_COMBINER_NAMED;
	return combiner;
}

static bool find_dense(MPI_Datatype type);

/* Only types made of many elements of one other type are dense: others may change the order. */
static bool made_is_dense(MPI_Datatype type, int combiner)
{
	MPI_Datatype base;
	bool dense;

	if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP)
		return false;
	if (made_of(type, &base))
		return false;
	dense = find_dense(base);
	if (types_combiner(base) != MPI_COMBINER_NAMED)
		PMPI_Type_free(&base);
	return dense;
}

static bool find_dense(MPI_Datatype type)
{
	int combiner = types_combiner(type);

	if (combiner == MPI_COMBINER_NAMED)
		return named_is_dense(type);
	return made_is_dense(type, combiner);
}

bool types_is_dense(MPI_Datatype type)
{
	static char yes, no;
	void *answer;
	int found = 0;
	bool dense;

	if (type == MPI_DATATYPE_NULL)
		return true;
	pthread_once(&once, prepare);
	if (types_combiner(type) == MPI_COMBINER_NAMED)
		return named_is_dense(type);
	if (!PMPI_Type_get_attr(type, dense_key, &answer, &found) && found)
		return answer == &yes;
	dense = find_dense(type);
	PMPI_Type_set_attr(type, dense_key, dense ? &yes : &no);
	return dense;
}

bool types_keep(MPI_Datatype type, MPI_Datatype *kept)
{
	MPI_Datatype copy;

	if (PMPI_Type_contiguous(1, type, &copy))
		return false;
	if (PMPI_Type_commit(&copy)) {
		PMPI_Type_free(&copy);
		return false;
	}
	*kept = copy;
	return true;
}
