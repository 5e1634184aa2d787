#!/usr/bin/env bash
# Builds modules/deep without anything that an unwinder could use, and records it in
# its innermost function under QEMU user mode's GDB stub.
# Debian 12: gcc-mips-linux-gnu, qemu-user, python3.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mips-linux-gnu-gcc -O2 -std=gnu11 -static -nostdlib -ffreestanding -fno-pic -mno-abicalls \
	-fno-asynchronous-unwind-tables -Wa,-mno-pdr -Wl,--build-id=sha1 -o "$work/deep" deep.c
mips-linux-gnu-nm "$work/deep" > "$work/nm"
mkdir -p modules
mips-linux-gnu-strip -s -o modules/deep "$work/deep"

qemu-mips -g 31002 modules/deep &
sleep 2
python3 ../record.py mips 31002 "$work/nm" 16384 leaf | gzip -9n > snaps.jsonl.gz
wait || true
