#!/usr/bin/env bash
# Builds the programs into modules/ and takes the kernel's core. Run as root on an
# x86-64 Linux whose core_pattern is "core". The program runs in a root of its own,
# so that the core names files as a device would.
# Debian 12: gcc, libc6-dev.
set -euo pipefail
cd "$(dirname "$0")"
cc() { gcc -O2 -g1 -std=gnu11 -Wall -ffile-prefix-map="$PWD"=. "$@"; }

rm -rf modules && mkdir -p modules/usr/bin modules/usr/lib modules/lib64
cc -shared -fPIC -Wl,-soname,libtree.so -o modules/usr/lib/libtree.so tree.c
cc -o modules/usr/bin/server server.c modules/usr/lib/libtree.so -Wl,-rpath,/usr/lib -pthread
cp -L /lib/x86_64-linux-gnu/libc.so.6 modules/usr/lib/
cp -L /lib64/ld-linux-x86-64.so.2 modules/lib64/

ulimit -c unlimited
env -i "$(command -v chroot)" modules /usr/bin/server || true
gzip -9n < modules/core* > core.gz
rm modules/core*
