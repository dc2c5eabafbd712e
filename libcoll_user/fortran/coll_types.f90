! SPDX-License-Identifier: LGPL-2.1 OR MIT
! Types and constants. Their values are those of <linux/coll.h> and <coll/coll.h>.
module coll_types
    use, intrinsic :: iso_c_binding
    implicit none

    ! Fortran knows no upper and lower case: COLL_ALLREDUCE would be the function. What the
    ! headers call COLL_X is COLL_FN_X here.
    integer(c_int), parameter :: &
        COLL_FN_BARRIER = 1, COLL_FN_BROADCAST = 2, COLL_FN_REDUCE = 3, &
        COLL_FN_ALLREDUCE = 4, COLL_FN_REDUCE_SCATTER = 5, COLL_FN_REDUCE_SCATTER_BLOCK = 6, &
        COLL_FN_ALLGATHER = 7, COLL_FN_ALLGATHERV = 8, COLL_FN_GATHER = 9, &
        COLL_FN_GATHERV = 10, COLL_FN_SCATTER = 11, COLL_FN_SCATTERV = 12, &
        COLL_FN_ALLTOALL = 13, COLL_FN_ALLTOALLV = 14, COLL_FN_SCAN = 15, &
        COLL_FN_EXSCAN = 16, COLL_FN_SEND = 17, COLL_FN_RECV = 18, &
        COLL_FN_SENDRECV = 19, COLL_FN_PROBE = 20, COLL_FN_MPROBE = 21, &
        COLL_FN_MRECV = 22

    ! Operators
    integer(c_int), parameter :: &
        COLL_OP_NONE = 0, COLL_OP_SUM = 1, COLL_OP_PROD = 2, &
        COLL_OP_MIN = 3, COLL_OP_MAX = 4, COLL_OP_LAND = 5, &
        COLL_OP_LOR = 6, COLL_OP_LXOR = 7, COLL_OP_BAND = 8, &
        COLL_OP_BOR = 9, COLL_OP_BXOR = 10, COLL_OP_MINLOC = 11, &
        COLL_OP_MAXLOC = 12, COLL_OP_AVG = 13, COLL_OP_PREMULSUM = 14, &
        COLL_OP_REPLACE = 15, COLL_OP_NO_OP = 16, COLL_OP_SUM_EXACT = 17, &
        COLL_OP_USER = 18

    ! Types of elements
    integer(c_int), parameter :: &
        COLL_DTYPE_NONE = 0, COLL_I8 = 1, COLL_U8 = 2, &
        COLL_I16 = 3, COLL_U16 = 4, COLL_I32 = 5, &
        COLL_U32 = 6, COLL_I64 = 7, COLL_U64 = 8, &
        COLL_BOOL = 9, COLL_BYTE = 10, COLL_F16 = 11, &
        COLL_BF16 = 12, COLL_F8E4M3 = 13, COLL_F8E5M2 = 14, &
        COLL_F32 = 15, COLL_F64 = 16, COLL_LDOUBLE = 17, &
        COLL_C32 = 18, COLL_C64 = 19, COLL_CLDOUBLE = 20, &
        COLL_F32_I32 = 21, COLL_F64_I32 = 22, COLL_I64_I32 = 23, &
        COLL_I32_I32 = 24, COLL_I16_I32 = 25, COLL_LDOUBLE_I32 = 26, &
        COLL_F32_F32 = 27, COLL_F64_F64 = 28, COLL_OPAQUE = 29

    ! Ranks and tags of messages
    integer(c_int32_t), parameter :: &
        COLL_RANK_NONE = -1, COLL_RANK_ANY = -1, COLL_RANK_NULL = -2, &
        COLL_TAG_MAX = 2147483647, COLL_TAG_ANY = -1
    integer(c_int64_t), parameter :: COLL_MESSAGE_NULL = -1

    ! As color of coll_comm_split(): this rank is to be in none of the new communicators
    integer(c_int32_t), parameter :: COLL_UNDEFINED = -2147483647 - 1

    ! Flags of coll_init() and of coll_register_buffer()
    integer(c_int32_t), parameter :: COLL_CONFIG_NO_URING = 1, COLL_REG_WRITE = 1

    ! A communicator, and a nonblocking or prepared call
    type, bind(c) :: coll_comm
        type(c_ptr) :: handle = c_null_ptr
    end type
    type, bind(c) :: coll_request
        type(c_ptr) :: handle = c_null_ptr
    end type

    ! What a receive has got
    type, bind(c) :: coll_message
        integer(c_int64_t) :: bytes
        integer(c_int32_t) :: source, tag, dtype, reserved
        integer(c_int64_t) :: id
    end type

    ! What vectors of a user operator consist of. size is in bytes; of a type of coll 0 will do
    type, bind(c) :: coll_user_type
        integer(c_int) :: dtype = COLL_OPAQUE
        integer(c_size_t) :: size = 0
    end type
end module
