! SPDX-License-Identifier: LGPL-2.1 OR MIT
! Messages between two ranks. As <coll/messages.h>, which has more to say.
module coll_messages
    use coll_types
    implicit none

    interface
        ! send: count elements to rank dest
        function coll_send(comm, buf, count, dtype, dest, tag) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*), intent(in) :: buf(*)
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: dest, tag
            integer(c_int) :: err
        end function
        function coll_isend(comm, buf, count, dtype, dest, tag, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: buf(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: dest, tag
            integer(c_int) :: err
        end function
        function coll_send_init(comm, buf, count, dtype, dest, tag, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: buf(*)
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: dest, tag
            integer(c_int) :: err
        end function

        ! recv: up to count elements from rank source
        function coll_recv(comm, buf, count, dtype, source, tag, got) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*) :: buf(*)
            type(coll_message), optional :: got
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: source, tag
            integer(c_int) :: err
        end function
        function coll_irecv(comm, buf, count, dtype, source, tag, got, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*), asynchronous :: buf(*)
            type(coll_message), optional, asynchronous :: got
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: source, tag
            integer(c_int) :: err
        end function
        function coll_recv_init(comm, buf, count, dtype, source, tag, got, &
                req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*), asynchronous :: buf(*)
            type(coll_message), optional, asynchronous :: got
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: source, tag
            integer(c_int) :: err
        end function

        ! sendrecv: both at once
        function coll_sendrecv(comm, send, send_count, send_dtype, dest, send_tag, &
                recv, recv_count, recv_dtype, source, recv_tag, got) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in) :: send(*)
            type(*) :: recv(*)
            type(coll_message), optional :: got
            integer(c_int64_t), value :: send_count, recv_count
            integer(c_int), value :: send_dtype, recv_dtype
            integer(c_int32_t), value :: dest, send_tag, source, recv_tag
            integer(c_int) :: err
        end function
        function coll_isendrecv(comm, send, send_count, send_dtype, dest, send_tag, &
                recv, recv_count, recv_dtype, source, recv_tag, got, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_message), optional, asynchronous :: got
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: send_count, recv_count
            integer(c_int), value :: send_dtype, recv_dtype
            integer(c_int32_t), value :: dest, send_tag, source, recv_tag
            integer(c_int) :: err
        end function
        function coll_sendrecv_init(comm, send, send_count, send_dtype, dest, send_tag, &
                recv, recv_count, recv_dtype, source, recv_tag, got, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: send, recv
            type(coll_comm), value :: comm
            type(*), intent(in), asynchronous :: send(*)
            type(*), asynchronous :: recv(*)
            type(coll_message), optional, asynchronous :: got
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: send_count, recv_count
            integer(c_int), value :: send_dtype, recv_dtype
            integer(c_int32_t), value :: dest, send_tag, source, recv_tag
            integer(c_int) :: err
        end function

        ! sendrecv_replace: what comes takes the place of what is sent
        function coll_sendrecv_replace(comm, buf, count, dtype, dest, send_tag, source, &
                recv_tag, got) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*) :: buf(*)
            type(coll_message), optional :: got
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: dest, send_tag, source, recv_tag
            integer(c_int) :: err
        end function
        function coll_isendrecv_replace(comm, buf, count, dtype, dest, send_tag, &
                source, recv_tag, got, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*), asynchronous :: buf(*)
            type(coll_message), optional, asynchronous :: got
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: dest, send_tag, source, recv_tag
            integer(c_int) :: err
        end function
        function coll_sendrecv_replace_init(comm, buf, count, dtype, dest, send_tag, &
                source, recv_tag, got, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*), asynchronous :: buf(*)
            type(coll_message), optional, asynchronous :: got
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int32_t), value :: dest, send_tag, source, recv_tag
            integer(c_int) :: err
        end function

        ! mrecv: the message that coll_mprobe() has kept
        function coll_mrecv(comm, buf, count, dtype, id, got) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*) :: buf(*)
            type(coll_message), optional :: got
            integer(c_int64_t), value :: count, id
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function
        function coll_imrecv(comm, buf, count, dtype, id, got, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*), asynchronous :: buf(*)
            type(coll_message), optional, asynchronous :: got
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count, id
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function
        function coll_mrecv_init(comm, buf, count, dtype, id, got, req) bind(c) result(err)
            import
            !gcc$ attributes no_arg_check :: buf
            type(coll_comm), value :: comm
            type(*), asynchronous :: buf(*)
            type(coll_message), optional, asynchronous :: got
            type(coll_request), intent(out) :: req
            integer(c_int64_t), value :: count, id
            integer(c_int), value :: dtype
            integer(c_int) :: err
        end function

        ! wait until there is a message to receive; got says what it is
        function coll_probe(comm, source, tag, got) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t), value :: source, tag
            type(coll_message), intent(out), optional :: got
            integer(c_int) :: err
        end function
        ! is there one? found: 1 or 0
        function coll_iprobe(comm, source, tag, found, got) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t), value :: source, tag
            integer(c_int), intent(out) :: found
            type(coll_message), intent(out), optional :: got
            integer(c_int) :: err
        end function
        ! wait for a message, and keep it for coll_mrecv(), which got%id is for
        function coll_mprobe(comm, source, tag, got) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t), value :: source, tag
            type(coll_message), intent(out) :: got
            integer(c_int) :: err
        end function
        function coll_improbe(comm, source, tag, found, got) bind(c) result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int32_t), value :: source, tag
            integer(c_int), intent(out) :: found
            type(coll_message), intent(out) :: got
            integer(c_int) :: err
        end function
        ! elements that have come; -1: no whole number of them
        pure function coll_message_count(got, dtype) bind(c) result(count)
            import
            type(coll_message), intent(in) :: got
            integer(c_int), value :: dtype
            integer(c_int64_t) :: count
        end function
    end interface
end module
