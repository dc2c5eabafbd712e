! SPDX-License-Identifier: GPL-2.0
! The Fortran examples of global reductions in the text of MPI-1.1, by module coll, with the answers
! that they must give:
!
!   4.15    dot product of distributed vectors, answer at node zero
!   4.16    product of a vector and a distributed array, answer at node zero
!   4.18    the largest of 30 doubles of each process, and where it is
!   4.21    4.16 with the answer at all nodes
!
! Values are integers, small enough to be exact in any order.
module examples
    use coll
    implicit none
    integer, parameter :: double = c_double

    ! as Fortran's pairs of MPI: two of the same type
    type, bind(c) :: valued
        real(double) :: value, rank
    end type

contains
    subroutine check(err, what)
        integer(c_int), intent(in) :: err
        character(*), intent(in) :: what

        if (err == 0) return
        print *, what, ": ", coll_strerror(err)
        error stop 1
    end subroutine

    ! 4.15: each process has a slice of a and of b
    subroutine dot_product_at_zero(comm, a, b, c)
        type(coll_comm), intent(in) :: comm
        real(double), intent(in) :: a(:), b(:)
        real(double), intent(inout) :: c
        real(double) :: mine

        mine = sum(a * b)
        call check(coll_reduce(comm, mine, c, 1_c_int64_t, COLL_F64, COLL_OP_SUM, 0), "4.15")
    end subroutine

    ! 4.16, 4.21: each process has some elements of a, and the rows of b that belong to them
    subroutine vector_times_array(comm, a, b, c, everywhere)
        type(coll_comm), intent(in) :: comm
        real(double), intent(in) :: a(:), b(:, :)
        real(double), intent(inout) :: c(:)
        logical, intent(in) :: everywhere
        real(double) :: mine(size(c))
        integer(c_int64_t) :: n

        mine = matmul(a, b)
        n = size(c, kind=c_int64_t)
        if (everywhere) then
            call check(coll_allreduce(comm, mine, c, n, COLL_F64, COLL_OP_SUM), "4.21")
        else
            call check(coll_reduce(comm, mine, c, n, COLL_F64, COLL_OP_SUM, 0), "4.16")
        end if
    end subroutine

    ! 4.18: for each element the largest value, and the rank that has it
    subroutine largest_at_zero(comm, values, largest, ranks)
        type(coll_comm), intent(in) :: comm
        real(double), intent(in) :: values(:)
        real(double), intent(inout) :: largest(:)
        integer, intent(inout) :: ranks(:)
        type(valued) :: mine(size(values)), all_of_them(size(values))

        mine%value = values
        mine%rank = coll_comm_rank(comm)
        all_of_them = mine
        call check(coll_reduce(comm, mine, all_of_them, size(values, kind=c_int64_t), &
            COLL_F64_F64, COLL_OP_MAXLOC, 0), "4.18")
        if (coll_comm_rank(comm) /= 0) return
        largest = all_of_them%value
        ranks = int(all_of_them%rank)
    end subroutine
end module

program main
    use examples
    implicit none
    integer, parameter :: rows = 5, columns = 7
    type(coll_comm) :: comm
    integer :: me, n, i, j, r
    real(double) :: a(rows), b(rows, columns), c(columns), want(columns), dot
    real(double) :: values(30), largest(30)
    integer :: ranks(30)

    if (coll_init(comm) /= 0) then
        print *, coll_last_error()
        error stop 1
    end if
    me = coll_comm_rank(comm)
    n = coll_comm_size(comm)

    ! element i of the process r is element r * rows + i of the whole
    a = [(real(mod(me * rows + i, 11) - 5, double), i = 1, rows)]
    do j = 1, columns
        b(:, j) = [(real(mod(me * rows + i + 3 * j, 13) - 6, double), i = 1, rows)]
        want(j) = sum([((mod(i, 11) - 5) * (mod(i + 3 * j, 13) - 6), i = 1, n * rows)])
    end do

    dot = -1
    call dot_product_at_zero(comm, a, b(:, 1), dot)
    call answer("4.15", dot == merge(want(1), -1.0_double, me == 0))
    c = -1
    call vector_times_array(comm, a, b, c, .false.)
    call answer("4.16", all(c == merge(want, -1.0_double, me == 0)))
    c = -1
    call vector_times_array(comm, a, b, c, .true.)
    call answer("4.21", all(c == want))

    values = [(real(mod(7 * i + 5 * me, 19), double), i = 1, 30)]
    call largest_at_zero(comm, values, largest, ranks)
    do i = 1, merge(30, 0, me == 0)
        ! of equal ones the first
        r = maxloc([(mod(7 * i + 5 * j, 19), j = 0, n - 1)], dim=1) - 1
        call answer("4.18", largest(i) == mod(7 * i + 5 * r, 19) .and. ranks(i) == r)
    end do
    call check(coll_finalize(comm), "coll_finalize")
    print "(a)", "right"

contains
    subroutine answer(which, right)
        character(*), intent(in) :: which
        logical, intent(in) :: right

        if (right) return
        print *, "rank ", me, " of ", n, ": example ", which, " is wrong"
        error stop 1
    end subroutine
end program
