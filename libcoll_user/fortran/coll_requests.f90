! SPDX-License-Identifier: LGPL-2.1 OR MIT
! Waiting for calls, and starting prepared ones. As <coll/coll.h> and <coll/collectives.h>.
module coll_requests
    use coll_types
    implicit none

    interface
        ! the result of a request, when it is there; a prepared one may be started again
        function coll_wait(req) bind(c) result(err)
            import
            type(coll_request), value :: req
            integer(c_int) :: err
        end function
        ! done: 1: err is its result; 0: it is under way
        function coll_test(req, done) bind(c) result(err)
            import
            type(coll_request), value :: req
            integer(c_int), intent(out) :: done
            integer(c_int) :: err
        end function
        ! wait for so many nanoseconds at most
        function coll_wait_for(req, ns, done) bind(c) result(err)
            import
            type(coll_request), value :: req
            integer(c_int64_t), value :: ns
            integer(c_int), intent(out) :: done
            integer(c_int) :: err
        end function
        function coll_waitall(reqs, n) bind(c) result(err)
            import
            type(coll_request), intent(inout) :: reqs(*)
            integer(c_size_t), value :: n
            integer(c_int) :: err
        end function
        ! take back a message that has no partner yet; coll_wait() follows
        function coll_cancel(req) bind(c) result(err)
            import
            type(coll_request), value :: req
            integer(c_int) :: err
        end function

        ! start a prepared call once more
        function coll_start(req) bind(c) result(err)
            import
            type(coll_request), value :: req
            integer(c_int) :: err
        end function
        function coll_startall(reqs, n) bind(c) result(err)
            import
            type(coll_request), intent(inout) :: reqs(*)
            integer(c_size_t), value :: n
            integer(c_int) :: err
        end function
        ! end a prepared call
        function coll_request_free(req) bind(c) result(err)
            import
            type(coll_request), value :: req
            integer(c_int) :: err
        end function
    end interface
end module
