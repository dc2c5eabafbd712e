// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "types.hh"

#include <stdexcept>
#include <string>

namespace coll_torch {

[[noreturn]] static void refuse(const char *name, const std::string &text)
{
	throw std::invalid_argument(std::string("coll: ") + name + ": " + text);
}

enum coll_dtype dtype_of(at::ScalarType type)
{
	switch (type) {
	case at::kByte:			return COLL_U8;
	case at::kChar:			return COLL_I8;
	case at::kShort:		return COLL_I16;
	case at::kInt:			return COLL_I32;
	case at::kLong:			return COLL_I64;
	case at::kHalf:			return COLL_F16;
	case at::kBFloat16:		return COLL_BF16;
	case at::kFloat:		return COLL_F32;
	case at::kDouble:		return COLL_F64;
	case at::kComplexFloat:		return COLL_C32;
	case at::kComplexDouble:	return COLL_C64;
	case at::kBool:			return COLL_BOOL;
	default:			return COLL_DTYPE_NONE;
	}
}

enum coll_dtype check_tensor(const char *name, const char *what, const at::Tensor &t)
{
	enum coll_dtype dtype;

	if (!t.defined())
		refuse(name, std::string(what) + " is not defined");
	if (t.layout() != at::kStrided)
		refuse(name, std::string(what) + " is sparse; coll has dense tensors only");
	if (!t.device().is_cpu())
		refuse(name, std::string(what) + " is on " + t.device().str() +
		       "; coll has tensors in the memory of the CPU only");
	dtype = dtype_of(t.scalar_type());
	if (dtype == COLL_DTYPE_NONE)
		refuse(name, std::string(what) + " is of type " + c10::toString(t.scalar_type()) +
		       ", which coll has not");
	return dtype;
}

bool is_in_rows(const at::Tensor &t)
{
	return t.is_contiguous() && !t.is_conj() && !t.is_neg();
}

enum coll_dtype check_rows(const char *name, const char *what, const at::Tensor &t)
{
	enum coll_dtype dtype = check_tensor(name, what, t);

	if (!is_in_rows(t))
		refuse(name, std::string(what) + " is not contiguous; use contiguous() and, of a "
		       "conjugate or negative view, resolve_conj() and resolve_neg()");
	return dtype;
}

void check_tensors(const char *name, const char *what, const std::vector<at::Tensor> &tensors,
		   enum coll_dtype dtype)
{
	for (const at::Tensor &t : tensors)
		if (check_tensor(name, what, t) != dtype)
			refuse(name, std::string(what) + " is of another type than the others");
}

at::Tensor &only(const char *name, const char *what, std::vector<at::Tensor> &tensors)
{
	if (tensors.size() != 1)
		refuse(name, std::string("one tensor as ") + what + " was expected, not " +
		       std::to_string(tensors.size()));
	return tensors[0];
}

/* A boolean has one bit: its sum says whether any is set, its product whether all are. */
static enum coll_op_code op_of_bool(const c10d::ReduceOp &op)
{
	switch (op) {
	case c10d::ReduceOp::SUM:
	case c10d::ReduceOp::MAX:
	case c10d::ReduceOp::BOR:
		return COLL_OP_LOR;
	case c10d::ReduceOp::PRODUCT:
	case c10d::ReduceOp::MIN:
	case c10d::ReduceOp::BAND:
		return COLL_OP_LAND;
	case c10d::ReduceOp::BXOR:
		return COLL_OP_LXOR;
	default:
		return COLL_OP_NONE;
	}
}

static enum coll_op_code op_of_number(const c10d::ReduceOp &op)
{
	switch (op) {
	case c10d::ReduceOp::SUM:	return COLL_OP_SUM;
	case c10d::ReduceOp::AVG:	return COLL_OP_AVG;
	case c10d::ReduceOp::PRODUCT:	return COLL_OP_PROD;
	case c10d::ReduceOp::MIN:	return COLL_OP_MIN;
	case c10d::ReduceOp::MAX:	return COLL_OP_MAX;
	case c10d::ReduceOp::BAND:	return COLL_OP_BAND;
	case c10d::ReduceOp::BOR:	return COLL_OP_BOR;
	case c10d::ReduceOp::BXOR:	return COLL_OP_BXOR;
	default:			return COLL_OP_NONE;
	}
}

enum coll_op_code op_of(const char *name, const c10d::ReduceOp &op, enum coll_dtype dtype)
{
	enum coll_op_code code = dtype == COLL_BOOL ? op_of_bool(op) : op_of_number(op);

	if (code == COLL_OP_NONE || !coll_op_supported(code, dtype))
		refuse(name, "coll does not have this operator for this type of tensor");
	return code;
}

} // namespace coll_torch
