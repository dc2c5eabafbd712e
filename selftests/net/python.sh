#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The Python package: every call, compared with numpy; the examples in its texts; its types.

# shellcheck source=selftests/net/lib.sh
. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3
package=$top/.build/lib/python3/dist-packages
rank=$top/selftests/net/python_rank.py
tensors=$top/selftests/net/python_tensors.py
doc=$top/selftests/net/python_doc.py
export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1

# calls RANKS NODES [VARIABLE=VALUE]
calls()
{
	env "${@:3}" "$tools/collrun" -t 200 -n "$1" --nodes "$2" "$python" "$rank" >"$log" 2>&1 </dev/null
	ok $? "every call, $1 ranks, $2 nodes${3:+, $3}"
}

# named RANKS NODES
named()
{
	"$tools/collrun" -t 200 -n "$1" --nodes "$2" "$python" "$tensors" >"$log" 2>&1 </dev/null
	ok $? "named tensors, $1 ranks, $2 nodes"
}

# exchanged RANKS: they meet by a function of their own, over files
exchanged()
{
	local dir r pids=() bad=0

	dir=$(mktemp -d)
	for ((r = 0; r < $1; r++)); do
		timeout 100 "$python" - "$dir" $r "$1" >>"$log" 2>&1 <<-'END' &
			import os, sys, time
			import numpy as np
			import coll
			where, me, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
			def exchange(mine, timeout_ms):
			    with open(f"{where}/.{me}", "wb") as f:
			        f.write(mine)
			    os.rename(f"{where}/.{me}", f"{where}/{me}")
			    while sum(os.path.exists(f"{where}/{r}") for r in range(n)) < n:
			        time.sleep(0.01)
			    return [open(f"{where}/{r}", "rb").read() for r in range(n)]
			with coll.Comm(me, n, exchange=exchange) as comm:
			    assert comm.allreduce(np.array([me]))[0] == n * (n - 1) // 2
		END
		pids+=($!)
	done
	for r in "${pids[@]}"; do
		wait "$r" || bad=1
	done
	rm -rf "$dir"
	ok $bad "$1 ranks meet by a function of the application"
}

# gives_up NAME <PROGRAM: an exception leaves the with statement of rank 0, and rank 1 is told
gives_up()
{
	local program

	program=$(mktemp)
	cat >"$program"
	timeout -k 5 60 "$tools/collrun" -k -n 2 "$python" "$program" >"$log" 2>&1 </dev/null
	# 1: of the exception
	(($? == 1)) && grep -q "^ValueError: the program is wrong" "$log" && grep -q "^rank 1 is told True" "$log"
	ok $? "$1"
	rm -f "$program"
}

gives_up_message()
{
	gives_up "an exception behind a message without partner" <<-'END'
		import errno, sys
		import numpy as np
		import coll
		with coll.Comm() as comm:
		    if comm.rank == 0:
		        comm.isend(np.zeros(100000), 1, tag=1)
		        raise ValueError("the program is wrong")
		    try:
		        comm.barrier()
		    except coll.Error as e:
		        print("rank 1 is told", e.errno in (errno.ESHUTDOWN, errno.EHOSTDOWN))
	END
}

# Each rank has posted what the other one does not. Rank 0 has dropped one, too.
gives_up_tensor()
{
	gives_up "an exception behind a tensor without partner" <<-'END'
		import errno
		import numpy as np
		import coll
		with coll.Comm() as comm:
		    with coll.Tensors(comm) as tensors:
		        if comm.rank == 0:
		            tensors.barrier("dropped")
		            a = tensors.allreduce("a", np.zeros(10))
		            raise ValueError("the program is wrong")
		        try:
		            tensors.barrier("b").wait()
		        except coll.Error as e:
		            print("rank 1 is told", e.errno in (errno.ESHUTDOWN, errno.EHOSTDOWN))
	END
}

# The function that lets ranks meet raises: that is the cause.
exchange_raises()
{
	"$python" - >"$log" 2>&1 <<-'END'
		import coll
		def fails(kind):
		    def exchange(mine, timeout_ms):
		        raise kind("no network")
		    try:
		        coll.Comm(0, 2, exchange=exchange)
		    except BaseException as e:
		        return e
		e = fails(OSError)
		assert isinstance(e, coll.Error) and isinstance(e.__cause__, OSError), repr(e)
		assert isinstance(fails(KeyboardInterrupt), KeyboardInterrupt)
	END
	ok $? "an exchange that raises"
}

plan 15
: >"$log"
"$tools/collrun" -t 200 -n 2 "$python" "$doc" >"$log" 2>&1 </dev/null
ok $? "examples in its texts, 2 ranks"
"$python" "$doc" hints >"$log" 2>&1
ok $? "types of arguments and results"
calls 1 1
calls 2 1
calls 4 1
calls 3 2
calls 4 2 COLL_NO_URING=1
named 1 1
named 3 1
named 4 2
: >"$log"
gives_up_message
gives_up_tensor
exchange_raises
exchanged 3
# what is no device says so
COLL_DEVICE=/dev/null "$python" -c 'import coll; coll.Comm()' >"$log" 2>&1
[[ $? == 1 ]] && grep -q "^coll._error.Error: \[Errno [0-9]*\] init: " "$log"
ok $? "an error names the call"
finish
