! SPDX-License-Identifier: LGPL-2.1 OR MIT
! Every collective, in three forms: it waits; or it is started, for coll_wait() or coll_test(); or
! it is prepared, for coll_start(). As <coll/collectives.h>, which has more to say.
module coll_collectives
    use coll_types
    implicit none

    interface
        ! barrier: return when every rank has called
        function coll_barrier(comm) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int) :: err
        end function
        function coll_ibarrier(comm, req) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            type(coll_request), intent(out) :: req
            integer(c_int) :: err
        end function
        function coll_barrier_init(comm, req) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            type(coll_request), intent(out) :: req
            integer(c_int) :: err
        end function

        ! broadcast: root's buf to the buf of every rank
        function coll_broadcast(comm, buf, count, dtype, root) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*) :: buf(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_ibroadcast(comm, buf, count, dtype, root, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*), asynchronous :: buf(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_broadcast_init(comm, buf, count, dtype, root, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*), asynchronous :: buf(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function

        ! reduce: recv at root = the fold of all send
        function coll_reduce(comm, send, recv, count, dtype, op, root) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_ireduce(comm, send, recv, count, dtype, op, root, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_reduce_init(comm, send, recv, count, dtype, op, root, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function

        ! allreduce: the same, everywhere
        function coll_allreduce(comm, send, recv, count, dtype, op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function
        function coll_iallreduce(comm, send, recv, count, dtype, op, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function
        function coll_allreduce_init(comm, send, recv, count, dtype, op, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function

        ! reduce_scatter: recv of rank r = block r of the fold, counts(r + 1) elements
        function coll_reduce_scatter(comm, send, recv, counts, dtype, &
                op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), intent(in) :: counts(*)
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function
        function coll_ireduce_scatter(comm, send, recv, counts, dtype, op, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            integer(c_int64_t), intent(in), asynchronous :: counts(*)
            type(coll_request), intent(out) :: req
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function
        function coll_reduce_scatter_init(comm, send, recv, counts, dtype, op, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            integer(c_int64_t), intent(in), asynchronous :: counts(*)
            type(coll_request), intent(out) :: req
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function

        ! reduce_scatter_block: the same, each block of count elements
        function coll_reduce_scatter_block(comm, send, recv, count, dtype, &
                op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function
        function coll_ireduce_scatter_block(comm, send, recv, count, dtype, op, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function
        function coll_reduce_scatter_block_init(comm, send, recv, count, dtype, op, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function

        ! scan: recv of rank r = the fold of send of ranks 0 to r
        function coll_scan(comm, send, recv, count, dtype, op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function
        function coll_iscan(comm, send, recv, count, dtype, op, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function
        function coll_scan_init(comm, send, recv, count, dtype, op, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function

        ! exscan: the same of ranks 0 to r - 1; recv of rank 0 is not touched
        function coll_exscan(comm, send, recv, count, dtype, op) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function
        function coll_iexscan(comm, send, recv, count, dtype, op, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function
        function coll_exscan_init(comm, send, recv, count, dtype, op, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype, op
            integer(c_int) :: err
        end function

        ! allgather: block r of recv = send of rank r, count elements each
        function coll_allgather(comm, send, recv, count, dtype) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function
        function coll_iallgather(comm, send, recv, count, dtype, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function
        function coll_allgather_init(comm, send, recv, count, dtype, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function

        ! allgatherv: the same; rank r gives counts(r + 1)
        function coll_allgatherv(comm, send, recv, counts, displs, &
                dtype) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), intent(in) :: counts(*)
            integer(c_int64_t), intent(in), optional :: displs(*)
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function
        function coll_iallgatherv(comm, send, recv, counts, displs, dtype, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            integer(c_int64_t), intent(in), asynchronous :: counts(*)
            integer(c_int64_t), intent(in), optional, asynchronous :: displs(*)
            type(coll_request), intent(out) :: req
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function
        function coll_allgatherv_init(comm, send, recv, counts, displs, dtype, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            integer(c_int64_t), intent(in), asynchronous :: counts(*)
            integer(c_int64_t), intent(in), optional, asynchronous :: displs(*)
            type(coll_request), intent(out) :: req
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function

        ! gather: block r of root's recv = send of rank r
        function coll_gather(comm, send, recv, count, dtype, root) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_igather(comm, send, recv, count, dtype, root, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_gather_init(comm, send, recv, count, dtype, root, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function

        ! gatherv: the same; rank r gives count, which is root's counts(r + 1)
        function coll_gatherv(comm, send, count, recv, counts, displs, dtype, &
                root) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), intent(in) :: counts(*)
            integer(c_int64_t), intent(in), optional :: displs(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_igatherv(comm, send, count, recv, counts, displs, dtype, root, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            integer(c_int64_t), intent(in), asynchronous :: counts(*)
            integer(c_int64_t), intent(in), optional, asynchronous :: displs(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_gatherv_init(comm, send, count, recv, counts, displs, dtype, &
                root, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            integer(c_int64_t), intent(in), asynchronous :: counts(*)
            integer(c_int64_t), intent(in), optional, asynchronous :: displs(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function

        ! scatter: recv of rank r = block r of root's send
        function coll_scatter(comm, send, recv, count, dtype, root) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_iscatter(comm, send, recv, count, dtype, root, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_scatter_init(comm, send, recv, count, dtype, root, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function

        ! scatterv: the same; rank r gets count, which is root's counts(r + 1)
        function coll_scatterv(comm, send, counts, displs, recv, count, dtype, &
                root) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            integer(c_int64_t), intent(in) :: counts(*)
            integer(c_int64_t), intent(in), optional :: displs(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_iscatterv(comm, send, counts, displs, recv, count, dtype, root, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            integer(c_int64_t), intent(in), asynchronous :: counts(*)
            integer(c_int64_t), intent(in), optional, asynchronous :: displs(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function
        function coll_scatterv_init(comm, send, counts, displs, recv, count, dtype, &
                root, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            integer(c_int64_t), intent(in), asynchronous :: counts(*)
            integer(c_int64_t), intent(in), optional, asynchronous :: displs(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: root
            integer(c_int) :: err
        end function

        ! alltoall: block r of recv = block of this rank of send of rank r
        function coll_alltoall(comm, send, recv, count, dtype) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function
        function coll_ialltoall(comm, send, recv, count, dtype, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function
        function coll_alltoall_init(comm, send, recv, count, dtype, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function

        ! alltoallv: the same; counts and displs: first all of send, then all of recv
        function coll_alltoallv(comm, send, recv, counts, displs, &
                dtype) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), intent(in) :: counts(*)
            integer(c_int64_t), intent(in), optional :: displs(*)
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function
        function coll_ialltoallv(comm, send, recv, counts, displs, dtype, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            integer(c_int64_t), intent(in), asynchronous :: counts(*)
            integer(c_int64_t), intent(in), optional, asynchronous :: displs(*)
            type(coll_request), intent(out) :: req
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function
        function coll_alltoallv_init(comm, send, recv, counts, displs, dtype, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            integer(c_int64_t), intent(in), asynchronous :: counts(*)
            integer(c_int64_t), intent(in), optional, asynchronous :: displs(*)
            type(coll_request), intent(out) :: req
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function

        ! adasum of the nr tensors that lie one behind the other, counts elements each
        function coll_adasum(comm, send, recv, counts, nr, dtype) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            integer(c_int64_t), intent(in) :: counts(*)
            integer(c_int32_t), value :: nr
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function
    end interface
end module
