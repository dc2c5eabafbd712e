! SPDX-License-Identifier: LGPL-2.1 OR MIT
! Operators of the application, and reductions in this process alone. As <coll/op.h>.
module coll_ops
    use coll_types
    implicit none

    ! inoutvec = invec op inoutvec, len elements each. c_f_pointer() makes arrays of the vectors.
    abstract interface
        subroutine coll_user_fn(invec, inoutvec, len, type, arg) bind(c)
            import
            type(c_ptr), value :: invec, inoutvec, arg
            integer(c_int64_t), value :: len
            type(coll_user_type), intent(in) :: type
        end subroutine
    end interface

    interface
        ! fn: c_funloc() of a coll_user_fn; arg: of fn, or c_null_ptr
        function coll_op_create(fn, commute, arg, op) bind(c) result(err)
            import
            type(c_funptr), value :: fn
            logical(c_bool), value :: commute
            type(c_ptr), value :: arg
            integer(c_int64_t), intent(out) :: op
            integer(c_int) :: err
        end function
        function coll_op_free(op) bind(c) result(err)
            import
            integer(c_int64_t), value :: op
            integer(c_int) :: err
        end function
        function coll_op_set_piece(op, bytes) bind(c) result(err)
            import
            integer(c_int64_t), value :: op, bytes
            integer(c_int) :: err
        end function

        function coll_user_allreduce(comm, send, recv, count, type, op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count, op
            type(coll_user_type), value :: type
            integer(c_int) :: err
        end function
        function coll_user_reduce(comm, send, recv, count, type, op, &
                root) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count, op
            type(coll_user_type), value :: type
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_user_reduce_scatter(comm, send, recv, counts, type, &
                op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), intent(in) :: counts(*)
            type(coll_user_type), value :: type
            integer(c_int64_t), value :: op
            integer(c_int) :: err
        end function
        function coll_user_reduce_scatter_block(comm, send, recv, count, type, &
                op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count, op
            type(coll_user_type), value :: type
            integer(c_int) :: err
        end function
        function coll_user_scan(comm, send, recv, count, type, op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count, op
            type(coll_user_type), value :: type
            integer(c_int) :: err
        end function
        function coll_user_exscan(comm, send, recv, count, type, op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count, op
            type(coll_user_type), value :: type
            integer(c_int) :: err
        end function
        function coll_user_reduce_local(in, inout, count, type, op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: in, inout
            type(*), intent(in) :: in(*)
            type(*) :: inout(*)
            integer(c_int64_t), value :: count, op
            type(coll_user_type), value :: type
            integer(c_int) :: err
        end function

        ! inout = in op inout, by an operator of coll
        function coll_reduce_local(in, inout, count, dtype, op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: in, inout
            type(*), intent(in) :: in(*)
            type(*) :: inout(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function
        ! may this operator be applied to this type?
        pure function coll_op_supported(op, dtype) bind(c) result(yes)
            import
            integer(c_int), value :: op, dtype
            logical(c_bool) :: yes
        end function
        ! bytes of an element; 0 for a number that is no type
        pure function coll_dtype_bytes(dtype) bind(c) result(bytes)
            import
            integer(c_int), value :: dtype
            integer(c_size_t) :: bytes
        end function
    end interface
end module
