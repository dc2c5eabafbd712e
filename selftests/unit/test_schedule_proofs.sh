#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The checker over the full table of algorithms and sizes, by tools/collplan, which is
# built without sanitizers: it takes a minute or two on two processors. The checker
# itself is tested by test_schedule.c, under ASan.

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
make -s -C "$top/tools" "$top/.build/tools/collplan" >&2 || exit 1
exec "$top/.build/tools/collplan" check --tap
