#!/usr/bin/env bash
# Builds the programs into modules/ and takes the core under QEMU user mode.
# Debian 12: gcc-aarch64-linux-gnu, qemu-user.
set -euo pipefail
cd "$(dirname "$0")"
cc() { aarch64-linux-gnu-gcc -O2 -g -std=gnu11 -Wall -ffile-prefix-map="$PWD"=. "$@"; }

rm -rf modules && mkdir -p modules/usr/bin modules/usr/lib modules/lib
cc -shared -fPIC -Wl,-soname,libplug.so -o modules/usr/lib/libplug.so plug.c
cc -o modules/usr/bin/sensor sensor.c modules/usr/lib/libplug.so
cp -L /usr/aarch64-linux-gnu/lib/{libc.so.6,ld-linux-aarch64.so.1} modules/lib/

ulimit -c unlimited
cd modules
env -i qemu-aarch64 -s 1048576 -L . usr/bin/sensor || true # the core's AT_EXECFN is this path
gzip -9n < qemu_sensor_*.core > ../core.gz
rm -f qemu_*.core core # the latter is of QEMU itself
