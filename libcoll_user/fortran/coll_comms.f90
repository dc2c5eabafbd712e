! SPDX-License-Identifier: LGPL-2.1 OR MIT
! Communicators. As <coll/coll.h>, which has more to say. Functions with text are those of coll.f90.
module coll_comms
    use coll_types
    implicit none

    interface
        ! leave, and free everything
        function coll_finalize(comm) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int) :: err
        end function
        ! ranks with the same color form one, in the order of (key, rank)
        function coll_comm_split(comm, color, key, newcomm) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t), value :: color, key
            type(coll_comm), intent(out) :: newcomm
            integer(c_int) :: err
        end function
        function coll_comm_dup(comm, newcomm) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            type(coll_comm), intent(out) :: newcomm
            integer(c_int) :: err
        end function

        ! rank of this process, ranks in all, its node, nodes in all. Ranks count from 0.
        pure function coll_comm_rank(comm) bind(c) result(rank)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t) :: rank
        end function
        pure function coll_comm_size(comm) bind(c) result(size)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t) :: size
        end function
        pure function coll_comm_node(comm) bind(c) result(node)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t) :: node
        end function
        pure function coll_comm_nodes(comm) bind(c) result(nodes)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t) :: nodes
        end function
        ! node of another rank; COLL_RANK_NONE if there is no such rank
        pure function coll_comm_node_of(comm, rank) bind(c) result(node)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t), value :: rank
            integer(c_int32_t) :: node
        end function

        ! deadline of later collectives, in nanoseconds from the call of each; 0: none
        function coll_comm_set_timeout(comm, ns) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int64_t), value :: ns
            integer(c_int) :: err
        end function
        ! may partial results overflow, for the sake of speed?
        function coll_comm_set_narrow(comm, narrow) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            logical(c_bool), value :: narrow
            integer(c_int) :: err
        end function
        ! elements of COLL_F32 are of this type between nodes
        function coll_comm_set_wire(comm, type) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int), value :: type
            integer(c_int) :: err
        end function
        ! measure algorithms again
        function coll_comm_tune(comm, ms) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t), value :: ms
            integer(c_int) :: err
        end function
        ! end the communicator on every rank; code is shown in the cause
        function coll_abort(comm, code) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t), value :: code
            integer(c_int) :: err
        end function

        ! pin memory once for many calls; flags: 0 or COLL_REG_WRITE
        function coll_register_buffer(comm, addr, len, flags, id) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: addr
            type(coll_comm), value :: comm
            type(*), asynchronous :: addr(*)
            integer(c_size_t), value :: len
            integer(c_int32_t), value :: flags
            integer(c_int32_t), intent(out) :: id
            integer(c_int) :: err
        end function
        function coll_unregister_buffer(comm, id) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t), value :: id
            integer(c_int) :: err
        end function
    end interface
end module
