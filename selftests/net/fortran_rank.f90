! SPDX-License-Identifier: GPL-2.0
! A rank that makes every call of module coll for Fortran, with results that are known.
program main
    use coll
    implicit none
    integer(c_int64_t), parameter :: k = 3
    type(coll_comm) :: comm
    type(coll_request) :: req
    integer :: me, n, r
    integer(c_int) :: err
    ! all of one rank, blocks of 3; and blocks of which r has r + 1 elements, one behind the other
    integer(c_int32_t), allocatable, target, asynchronous :: send(:), buf(:)
    integer(c_int64_t), allocatable, asynchronous :: counts(:), displs(:), both(:), places(:)
    integer(c_int32_t), allocatable :: packed(:)

    call join()
    call try_broadcast()
    call try_reduce()
    call try_allreduce()
    call try_reduce_scatter()
    call try_reduce_scatter_block()
    call try_scan()
    call try_exscan()
    call try_allgather()
    call try_allgatherv()
    call try_gather()
    call try_gatherv()
    call try_scatter()
    call try_scatterv()
    call try_alltoall()
    call try_alltoallv()
    call try_barrier()
    call try_forms_of_data()
    call try_messages()
    call try_probes()
    call try_operators()
    call try_requests()
    call try_communicators()
    call try_settings()
    err = coll_finalize(comm)
    call check(err == 0, "finalize", 1)
    print "(a)", "right"

contains
    subroutine join()
        character(16) :: rank, size

        ! the arguments of coll_init() instead of its own look at the environment
        call get_environment_variable("COLL_RANK", rank)
        call get_environment_variable("COLL_SIZE", size)
        read (rank, *) me
        read (size, *) n
        if (me == 0) then
            err = coll_init(comm)
        else
            err = coll_init(comm, rank=me, size=n, rendezvous=env("COLL_RENDEZVOUS"), &
                node=env("COLL_NODE"), key=env("COLL_KEY") // "  ", device="/dev/coll", &
                timeout_ms=30000)
        end if
        call check(err == 0, "init", 1)
        call check(coll_comm_rank(comm) == me .and. coll_comm_size(comm) == n, "rank and size", 1)
        allocate(send(6 * n * n), buf(6 * n * n), counts(n), displs(n))
        counts = [(r + 1, r = 0, n - 1)]
        displs = [(start(r), r = 0, n - 1)]
        both = [counts, [(counts(me + 1), r = 0, n - 1)]]
        places = [displs, [((me + 1) * int(r, c_int64_t), r = 0, n - 1)]]
        packed = [(of(r, 0, r + 1), r = 0, n - 1)]
    end subroutine

    function env(name) result(text)
        character(*), intent(in) :: name
        character(:), allocatable :: text
        integer :: length

        call get_environment_variable(name, length=length)
        allocate(character(length) :: text)
        call get_environment_variable(name, text)
    end function

    subroutine check(right, what, form)
        logical, intent(in) :: right
        character(*), intent(in) :: what
        integer, intent(in) :: form

        if (right) return
        print *, "rank ", me, ": ", what, ", form ", form, ": wrong; ", coll_strerror(err), "; ", &
            coll_last_error()
        error stop 1
    end subroutine

    ! elements from, from + 1, ... of rank who
    pure function of(who, from, many) result(v)
        integer, intent(in) :: who, from, many
        integer(c_int32_t) :: v(many)
        integer :: i

        v = [(10000 * who + from + i, i = 1, many)]
    end function

    ! their sums over all ranks
    pure function total(from, many) result(v)
        integer, intent(in) :: from, many
        integer(c_int32_t) :: v(many)

        v = n * of(0, from, many) + 5000 * n * (n - 1)
    end function

    ! of the block of rank who, where the blocks before it have 1, 2, ... elements
    pure integer function start(who)
        integer, intent(in) :: who

        start = who * (who + 1) / 2
    end function

    subroutine fill()
        send = of(me, 0, size(send))
        buf = 0
    end subroutine

    ! 1: it is over; 2: it was started; 3: it was prepared; 4: the same once more
    subroutine finish(form, what)
        integer, intent(in) :: form
        character(*), intent(in) :: what
        integer(c_int) :: done

        call check(err == 0, what // ", the call", form)
        done = 0
        select case (form)
        case (2)
            do while (done == 0 .and. err == 0)
                err = coll_test(req, done)
            end do
        case (3:4)
            err = coll_start(req)
            call check(err == 0, what // ", the start", form)
            err = coll_wait(req)
        end select
        call check(err == 0, what // ", the end", form)
        if (form == 4) err = coll_request_free(req)
        call check(err == 0, what // ", free", form)
    end subroutine

    subroutine try_broadcast()
        integer :: form

        do form = 1, 4
            buf(:3) = merge([7, 8, 9], 0, me == 0)
            select case (form)
            case (1)
                err = coll_broadcast(comm, buf, k, COLL_I32, 0)
            case (2)
                err = coll_ibroadcast(comm, buf, k, COLL_I32, 0, req)
            case (3)
                err = coll_broadcast_init(comm, buf, k, COLL_I32, 0, req)
            end select
            call finish(form, "broadcast")
            call check(all(buf(:3) == [7, 8, 9]), "broadcast", form)
        end do
    end subroutine

    subroutine try_reduce()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_reduce(comm, send, buf, k, COLL_I32, COLL_OP_SUM, n - 1)
            case (2)
                err = coll_ireduce(comm, send, buf, k, COLL_I32, COLL_OP_SUM, n - 1, req)
            case (3)
                err = coll_reduce_init(comm, send, buf, k, COLL_I32, COLL_OP_SUM, n - 1, req)
            end select
            call finish(form, "reduce")
            call check(me /= n - 1 .or. all(buf(:3) == total(0, 3)), "reduce", form)
        end do
    end subroutine

    subroutine try_allreduce()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_allreduce(comm, send, buf, k, COLL_I32, COLL_OP_SUM)
            case (2)
                err = coll_iallreduce(comm, send, buf, k, COLL_I32, COLL_OP_SUM, req)
            case (3)
                err = coll_allreduce_init(comm, send, buf, k, COLL_I32, COLL_OP_SUM, req)
            end select
            call finish(form, "allreduce")
            call check(all(buf(:3) == total(0, 3)), "allreduce", form)
        end do
    end subroutine

    subroutine try_reduce_scatter()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_reduce_scatter(comm, send, buf, counts, COLL_I32, COLL_OP_SUM)
            case (2)
                err = coll_ireduce_scatter(comm, send, buf, counts, COLL_I32, COLL_OP_SUM, req)
            case (3)
                err = coll_reduce_scatter_init(comm, send, buf, counts, COLL_I32, COLL_OP_SUM, req)
            end select
            call finish(form, "reduce_scatter")
            call check(all(buf(:me + 1) == total(start(me), me + 1)), "reduce_scatter", form)
        end do
    end subroutine

    subroutine try_reduce_scatter_block()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_reduce_scatter_block(comm, send, buf, k, COLL_I32, COLL_OP_SUM)
            case (2)
                err = coll_ireduce_scatter_block(comm, send, buf, k, COLL_I32, COLL_OP_SUM, req)
            case (3)
                err = coll_reduce_scatter_block_init(comm, send, buf, k, COLL_I32, COLL_OP_SUM, req)
            end select
            call finish(form, "reduce_scatter_block")
            call check(all(buf(:3) == total(3 * me, 3)), "reduce_scatter_block", form)
        end do
    end subroutine

    subroutine try_scan()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_scan(comm, send, buf, k, COLL_I32, COLL_OP_MAX)
            case (2)
                err = coll_iscan(comm, send, buf, k, COLL_I32, COLL_OP_MAX, req)
            case (3)
                err = coll_scan_init(comm, send, buf, k, COLL_I32, COLL_OP_MAX, req)
            end select
            call finish(form, "scan")
            call check(all(buf(:3) == of(me, 0, 3)), "scan", form)
        end do
    end subroutine

    subroutine try_exscan()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_exscan(comm, send, buf, k, COLL_I32, COLL_OP_MAX)
            case (2)
                err = coll_iexscan(comm, send, buf, k, COLL_I32, COLL_OP_MAX, req)
            case (3)
                err = coll_exscan_init(comm, send, buf, k, COLL_I32, COLL_OP_MAX, req)
            end select
            call finish(form, "exscan")
            call check(all(buf(:3) == merge(of(me - 1, 0, 3), 0, me > 0)), "exscan", form)
        end do
    end subroutine

    subroutine try_allgather()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_allgather(comm, send, buf, k, COLL_I32)
            case (2)
                err = coll_iallgather(comm, send, buf, k, COLL_I32, req)
            case (3)
                err = coll_allgather_init(comm, send, buf, k, COLL_I32, req)
            end select
            call finish(form, "allgather")
            call check(all(buf(:3 * n) == [(of(r, 0, 3), r = 0, n - 1)]), "allgather", form)
        end do
    end subroutine

    subroutine try_allgatherv()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_allgatherv(comm, send, buf, counts, displs, COLL_I32)
            case (2)
                err = coll_iallgatherv(comm, send, buf, counts, displs, COLL_I32, req)
            case (3)
                err = coll_allgatherv_init(comm, send, buf, counts, displs, COLL_I32, req)
            end select
            call finish(form, "allgatherv")
            call check(all(buf(:size(packed)) == packed), "allgatherv", form)
        end do
    end subroutine

    subroutine try_gather()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_gather(comm, send, buf, k, COLL_I32, 0)
            case (2)
                err = coll_igather(comm, send, buf, k, COLL_I32, 0, req)
            case (3)
                err = coll_gather_init(comm, send, buf, k, COLL_I32, 0, req)
            end select
            call finish(form, "gather")
            call check(me > 0 .or. all(buf(:3 * n) == [(of(r, 0, 3), r = 0, n - 1)]), &
                "gather", form)
        end do
    end subroutine

    subroutine try_gatherv()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_gatherv(comm, send, counts(me + 1), buf, counts, displs, COLL_I32, 0)
            case (2)
                err = coll_igatherv(comm, send, counts(me + 1), buf, counts, displs, &
                    COLL_I32, 0, req)
            case (3)
                err = coll_gatherv_init(comm, send, counts(me + 1), buf, counts, displs, &
                    COLL_I32, 0, req)
            end select
            call finish(form, "gatherv")
            call check(me > 0 .or. all(buf(:size(packed)) == packed), "gatherv", form)
        end do
    end subroutine

    subroutine try_scatter()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_scatter(comm, send, buf, k, COLL_I32, n - 1)
            case (2)
                err = coll_iscatter(comm, send, buf, k, COLL_I32, n - 1, req)
            case (3)
                err = coll_scatter_init(comm, send, buf, k, COLL_I32, n - 1, req)
            end select
            call finish(form, "scatter")
            call check(all(buf(:3) == of(n - 1, 3 * me, 3)), "scatter", form)
        end do
    end subroutine

    subroutine try_scatterv()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_scatterv(comm, send, counts, displs, buf, counts(me + 1), COLL_I32, 0)
            case (2)
                err = coll_iscatterv(comm, send, counts, displs, buf, counts(me + 1), &
                    COLL_I32, 0, req)
            case (3)
                err = coll_scatterv_init(comm, send, counts, displs, buf, counts(me + 1), &
                    COLL_I32, 0, req)
            end select
            call finish(form, "scatterv")
            call check(all(buf(:me + 1) == of(0, int(displs(me + 1)), me + 1)), "scatterv", form)
        end do
    end subroutine

    subroutine try_alltoall()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_alltoall(comm, send, buf, k, COLL_I32)
            case (2)
                err = coll_ialltoall(comm, send, buf, k, COLL_I32, req)
            case (3)
                err = coll_alltoall_init(comm, send, buf, k, COLL_I32, req)
            end select
            call finish(form, "alltoall")
            call check(all(buf(:3 * n) == [(of(r, 3 * me, 3), r = 0, n - 1)]), "alltoall", form)
        end do
    end subroutine

    subroutine try_alltoallv()
        integer :: form

        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_alltoallv(comm, send, buf, both, places, COLL_I32)
            case (2)
                err = coll_ialltoallv(comm, send, buf, both, places, COLL_I32, req)
            case (3)
                err = coll_alltoallv_init(comm, send, buf, both, places, COLL_I32, req)
            end select
            call finish(form, "alltoallv")
            call check(all(buf(:(me + 1) * n) == [(of(r, start(me), me + 1), r = 0, &
                n - 1)]), "alltoallv", form)
        end do
    end subroutine

    subroutine try_barrier()
        integer :: form

        do form = 1, 4
            select case (form)
            case (1)
                err = coll_barrier(comm)
            case (2)
                err = coll_ibarrier(comm, req)
            case (3)
                err = coll_barrier_init(comm, req)
            end select
            call finish(form, "barrier")
        end do
    end subroutine

    ! in place, scalars, sections with gaps, arrays of any rank, complex numbers, without displs
    subroutine try_forms_of_data()
        real(c_double) :: x, matrix(2, 3, 4)
        complex(c_double_complex) :: z

        call fill()
        err = coll_allreduce(comm, COLL_IN_PLACE, send, k, COLL_I32, COLL_OP_SUM)
        call check(err == 0 .and. all(send(:3) == total(0, 3)), "in place", 1)
        x = me
        err = coll_allreduce(comm, COLL_IN_PLACE, x, 1_c_int64_t, COLL_F64, COLL_OP_SUM)
        call check(err == 0 .and. nint(x) == n * (n - 1) / 2, "a scalar", 1)
        matrix = me
        err = coll_allreduce(comm, COLL_IN_PLACE, matrix(:, 2, :), 8_c_int64_t, COLL_F64, &
            COLL_OP_SUM)
        call check(err == 0 .and. all(nint(matrix(:, 2, :)) == n * (n - 1) / 2) .and. &
            all(nint(matrix(:, 1, :)) == me), "a section", 1)
        z = cmplx(me, 1, c_double_complex)
        err = coll_allreduce(comm, COLL_IN_PLACE, z, 1_c_int64_t, COLL_C64, COLL_OP_SUM)
        call check(err == 0 .and. nint(real(z)) == n * (n - 1) / 2 .and. nint(aimag(z)) == n, &
            "a complex number", 1)
        call fill()
        err = coll_allgatherv(comm, send, buf, counts, dtype=COLL_I32)
        call check(err == 0 .and. all(buf(:size(packed)) == packed), "without displs", 1)
    end subroutine

    subroutine try_messages()
        integer :: form, right, left
        type(coll_message), asynchronous :: got
        type(coll_request) :: two(2)

        right = modulo(me + 1, n)
        left = modulo(me - 1, n)
        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_sendrecv(comm, send, k, COLL_I32, right, 5, buf, 10_c_int64_t, &
                    COLL_I32, left, 5, got)
            case (2)
                err = coll_isendrecv(comm, send, k, COLL_I32, right, 5, buf, 10_c_int64_t, &
                    COLL_I32, left, 5, got, req)
            case (3)
                err = coll_sendrecv_init(comm, send, k, COLL_I32, right, 5, buf, 10_c_int64_t, &
                    COLL_I32, left, 5, got, req)
            end select
            call finish(form, "sendrecv")
            call check(all(buf(:3) == of(left, 0, 3)) .and. got%source == left .and. got%tag == 5 &
                .and. coll_message_count(got, COLL_I32) == 3, "sendrecv", form)
        end do
        do form = 1, 4
            call fill()
            select case (form)
            case (1)
                err = coll_sendrecv_replace(comm, send, k, COLL_I32, right, 6, left, 6)
            case (2)
                err = coll_isendrecv_replace(comm, send, k, COLL_I32, right, 6, left, 6, got, req)
            case (3)
                err = coll_sendrecv_replace_init(comm, send, k, COLL_I32, right, 6, left, 6, got, &
                    req)
            end select
            call finish(form, "sendrecv_replace")
            call check(all(send(:3) == of(left, 0, 3)), "sendrecv_replace", form)
        end do

        call fill()
        err = coll_irecv(comm, buf, 10_c_int64_t, COLL_I32, COLL_RANK_ANY, COLL_TAG_ANY, got, &
            two(1))
        call check(err == 0, "irecv", 1)
        err = coll_isend(comm, send, k, COLL_I32, right, 7, two(2))
        call check(err == 0, "isend", 1)
        err = coll_waitall(two, 2_c_size_t)
        call check(err == 0 .and. all(buf(:3) == of(left, 0, 3)) .and. got%tag == 7, "waitall", 1)

        call fill()
        err = coll_recv_init(comm, buf, k, COLL_I32, left, 8, got, two(1))
        call check(err == 0, "recv_init", 1)
        err = coll_send_init(comm, send, k, COLL_I32, right, 8, two(2))
        call check(err == 0, "send_init", 1)
        err = coll_startall(two, 2_c_size_t)
        call check(err == 0, "startall", 1)
        do r = 1, 2
            err = coll_wait(two(r))
            call check(err == 0, "wait", r)
            err = coll_request_free(two(r))
            call check(err == 0, "request_free", r)
        end do
        call check(all(buf(:3) == of(left, 0, 3)), "prepared messages", 1)
    end subroutine

    ! between ranks 0 and 1
    subroutine try_probes()
        integer :: form
        integer(c_int) :: found
        type(coll_message) :: got

        if (n == 1 .or. me > 1) return
        do form = 1, 4
            call fill()
            if (me == 0) then
                err = coll_send(comm, send, k, COLL_I32, 1, form)
                call check(err == 0, "send", form)
                cycle
            end if
            found = 0
            do while (found == 0)
                if (form == 1) err = coll_probe(comm, 0, 1, got)
                if (form == 2) err = coll_iprobe(comm, 0, 2, found, got)
                if (form == 3) err = coll_mprobe(comm, 0, 3, got)
                if (form == 4) err = coll_improbe(comm, 0, 4, found, got)
                call check(err == 0, "probe", form)
                if (mod(form, 2) == 1) found = 1
            end do
            call check(got%bytes == 12 .and. got%source == 0 .and. got%tag == form, "probe", form)
            if (form <= 2) err = coll_recv(comm, buf, k, COLL_I32, 0, form)
            if (form == 3) err = coll_mrecv(comm, buf, k, COLL_I32, got%id)
            if (form == 4) then
                err = coll_imrecv(comm, buf, k, COLL_I32, got%id, req=req)
                call check(err == 0, "imrecv", form)
                err = coll_wait(req)
            end if
            call check(err == 0 .and. all(buf(:3) == of(0, 0, 3)), "recv", form)
        end do
    end subroutine

    ! the earlier operand counts: no commutative operator
    subroutine leftmost(invec, inoutvec, len, type, arg) bind(c)
        type(c_ptr), value :: invec, inoutvec, arg
        integer(c_int64_t), value :: len
        type(coll_user_type), intent(in) :: type
        integer(c_int32_t), pointer :: a(:), b(:), added

        call c_f_pointer(invec, a, [len])
        call c_f_pointer(inoutvec, b, [len])
        call c_f_pointer(arg, added)
        if (type%dtype /= COLL_I32 .or. type%size /= 4) error stop 2
        b = a + added
    end subroutine

    subroutine try_operators()
        integer(c_int32_t), target :: added
        integer(c_int64_t) :: op
        type(coll_user_type) :: type

        added = 1
        type%dtype = COLL_I32
        err = coll_op_create(c_funloc(leftmost), .false._c_bool, c_loc(added), op)
        call check(err == 0, "op_create", 1)
        err = coll_op_set_piece(op, 4096_c_int64_t)
        call check(err == 0, "op_set_piece", 1)
        call fill()
        err = coll_user_allreduce(comm, send, buf, k, type, op)
        call check(err == 0 .and. all(buf(:3) == of(0, n - 1, 3)), "user_allreduce", 1)
        err = coll_user_reduce(comm, send, buf, k, type, op, 0)
        call check(err == 0 .and. all(buf(:3) == of(0, n - 1, 3)), "user_reduce", 1)
        err = coll_user_reduce_scatter(comm, send, buf, counts, type, op)
        call check(err == 0 .and. all(buf(:me + 1) == of(0, start(me) + n - 1, me + 1)), &
            "user_reduce_scatter", 1)
        err = coll_user_reduce_scatter_block(comm, send, buf, k, type, op)
        call check(err == 0 .and. all(buf(:3) == of(0, 3 * me + n - 1, 3)), &
            "user_reduce_scatter_block", 1)
        err = coll_user_scan(comm, send, buf, k, type, op)
        call check(err == 0 .and. all(buf(:3) == of(0, me, 3)), "user_scan", 1)
        err = coll_user_exscan(comm, send, buf, k, type, op)
        call check(err == 0 .and. (me == 0 .or. all(buf(:3) == of(0, me - 1, 3))), "user_exscan", 1)
        call fill()
        err = coll_user_reduce_local(send, buf, k, type, op)
        call check(err == 0 .and. all(buf(:3) == send(:3) + 1), "user_reduce_local", 1)
        err = coll_op_free(op)
        call check(err == 0, "op_free", 1)
        err = coll_op_free(op)
        call check(err /= 0, "op_free of none", 1)
        buf = 1
        err = coll_reduce_local(send, buf, k, COLL_I32, COLL_OP_SUM)
        call check(err == 0 .and. all(buf(:3) == send(:3) + 1), "reduce_local", 1)
        call check(logical(coll_op_supported(COLL_OP_SUM, COLL_F64)) .and. &
            .not. logical(coll_op_supported(COLL_OP_BAND, COLL_F64)) .and. &
            coll_dtype_bytes(COLL_F64_F64) == 16, "types", 1)
    end subroutine

    subroutine try_requests()
        integer(c_int) :: done
        integer(c_int32_t) :: id

        err = coll_irecv(comm, buf, k, COLL_I32, COLL_RANK_ANY, 77, req=req)
        call check(err == 0, "irecv", 1)
        err = coll_wait_for(req, 1000_c_int64_t, done)
        call check(err == 0 .and. done == 0, "wait_for", 1)
        err = coll_cancel(req)
        call check(err == 0, "cancel", 1)
        err = coll_wait(req)
        call check(err /= 0 .and. len(coll_strerror(err)) > 5, "a receive that was cancelled", 1)
        err = coll_register_buffer(comm, buf, 4_c_size_t * size(buf), COLL_REG_WRITE, id)
        call check(err == 0, "register_buffer", 1)
        err = coll_unregister_buffer(comm, id)
        call check(err == 0, "unregister_buffer", 1)
    end subroutine

    subroutine try_communicators()
        type(coll_comm) :: half, other, none
        integer(c_int32_t) :: got
        character(:), allocatable :: cause

        err = coll_comm_split(comm, mod(me, 2), -me, half)
        call check(err == 0, "split", 1)
        call check(coll_comm_size(half) == (n + 1 - mod(me, 2)) / 2, "size of a part", 1)
        got = me
        err = coll_allreduce(half, COLL_IN_PLACE, got, 1_c_int64_t, COLL_I32, COLL_OP_SUM)
        call check(err == 0 .and. got == ranks_of_part(), "a part", 1)
        err = coll_finalize(half)
        call check(err == 0, "finalize of a part", 1)
        err = coll_comm_split(comm, merge(0, COLL_UNDEFINED, me == 0), 0, none)
        call check(err == 0 .and. (c_associated(none%handle) .eqv. me == 0), "no part", 1)
        err = coll_finalize(none)
        err = coll_comm_dup(comm, other)
        call check(err == 0 .and. coll_comm_rank(other) == me, "dup", 1)
        if (me == 0) err = coll_abort(other, 4711)
        do while (err == 0 .and. n > 1)
            err = coll_barrier(other)
        end do
        cause = coll_comm_cause(other)
        call check(n == 1 .or. index(cause, "4711") > 0, "the cause: " // cause, 1)
        err = coll_finalize(other)
        call check(err == 0, "finalize after an abort", 1)
    end subroutine

    integer function ranks_of_part() result(all_of_them)
        all_of_them = sum([(r, r = mod(me, 2), n - 1, 2)])
    end function

    subroutine try_settings()
        type(coll_comm) :: other

        call check(coll_comm_node(comm) < coll_comm_nodes(comm) .and. &
            coll_comm_node_of(comm, me) == coll_comm_node(comm) .and. &
            coll_comm_node_of(comm, n) == COLL_RANK_NONE, "nodes", 1)
        err = coll_comm_set_timeout(comm, 20000000000_c_int64_t)
        call check(err == 0, "set_timeout", 1)
        err = coll_comm_set_narrow(comm, .true._c_bool)
        call check(err == 0, "set_narrow", 1)
        err = coll_comm_set_wire(comm, COLL_BF16)
        call check(err == 0, "set_wire", 1)
        err = coll_comm_set_algorithm(comm, COLL_FN_ALLREDUCE, "knomial:3 ")
        call check(err == 0, "set_algorithm", 1)
        call check(coll_comm_algorithm(comm, COLL_FN_ALLREDUCE, 8_c_int64_t) == "knomial", &
            "algorithm", 1)
        err = coll_comm_set_algorithm(comm, COLL_FN_ALLREDUCE, "none such")
        call check(err /= 0, "an algorithm that there is not", 1)
        err = coll_comm_set_algorithm(comm, COLL_FN_ALLREDUCE)
        call check(err == 0, "no algorithm", 1)
        err = coll_comm_load_tables(comm, "/nonexistent")
        call check(err /= 0, "load_tables", 1)
        err = coll_comm_save_tables(comm, "/nonexistent/none")
        call check(err /= 0, "save_tables", 1)
        call check(index(coll_version(), ".") > 0, "version", 1)
        err = coll_init(other, rank=3, size=2)
        call check(err /= 0 .and. len(coll_last_error()) > 0, "a rank that cannot be", 1)
        err = coll_init(other, device="/dev/nothing")
        call check(err == -2, "a device, and the rest by the environment", 1)
        err = coll_init(other, rendezvous="127.0.0.1:1")
        call check(err == -22, "a rendezvous without rank and size", 1)
        err = 0
    end subroutine
end program
