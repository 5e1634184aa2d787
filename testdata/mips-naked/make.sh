#!/usr/bin/env bash
# Builds modules/packer without anything that an unwinder could use, and records
# it at interesting places under QEMU user mode's GDB stub.
# Debian 12: gcc-mips-linux-gnu, qemu-user, python3.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mips-linux-gnu-gcc -O2 -std=gnu11 -Wall -static -nostdlib -ffreestanding -fno-pic -mno-abicalls \
	-fno-asynchronous-unwind-tables -Wa,-mno-pdr -Wl,--build-id=sha1 -o "$work/packer" packer.c
mips-linux-gnu-nm "$work/packer" > "$work/nm"
mkdir -p modules
mips-linux-gnu-strip -s -o modules/packer "$work/packer"

qemu-mips -g 31001 modules/packer &
sleep 1
python3 ../record.py mips 31001 "$work/nm" 49152 \
	split*4 dispatch+2 forward+2 cached+2 window+1 window+40 block+3 block+12 checksum+4 checksum+30 |
	gzip -9n > snaps.jsonl.gz
wait || true
