#!/usr/bin/env bash
# Builds the programs into modules/ and takes the core under QEMU user mode.
# Debian 12: gcc-mips-linux-gnu, qemu-user.
set -euo pipefail
cd "$(dirname "$0")"
cc() { mips-linux-gnu-gcc -O2 -g -std=gnu11 -Wall -ffile-prefix-map="$PWD"=. "$@"; }

rm -rf modules && mkdir -p modules/usr/bin modules/usr/lib modules/lib
cc -shared -fPIC -Wl,-soname,libproto.so -o modules/usr/lib/libproto.so proto.c
cc -o modules/usr/bin/netd netd.c modules/usr/lib/libproto.so
cp -L /usr/mips-linux-gnu/lib/{libc.so.6,ld.so.1} modules/lib/

ulimit -c unlimited
cd modules
env -i qemu-mips -s 1048576 -L . usr/bin/netd || true # the core's AT_EXECFN is this path
gzip -9n < qemu_netd_*.core > ../core.gz
rm -f qemu_*.core core # the latter is of QEMU itself
