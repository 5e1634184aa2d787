#!/usr/bin/env bash
# Builds modules/fw.bin, the bytes of the flash at address 0, and records it under
# QEMU's mps2-an385 board through the GDB stub.
# Debian 12: gcc-arm-none-eabi, qemu-system-arm, python3.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -Os -std=gnu11 -Wall -ffreestanding -nostdlib \
	-fno-asynchronous-unwind-tables -T fw.ld -o "$work/fw.elf" fw.c
arm-none-eabi-nm "$work/fw.elf" > "$work/nm"
mkdir -p modules
arm-none-eabi-objcopy -O binary "$work/fw.elf" modules/fw.bin

qemu-system-arm -M mps2-an385 -nographic -monitor none -serial none -S -gdb tcp:127.0.0.1:31002 -kernel "$work/fw.elf" &
qemu=$!
sleep 1
python3 ../record.py cortexm 31002 "$work/nm" 4096 \
	average+3 execute+1 ratio+1 fault+1 halt+4 | gzip -9n > snaps.jsonl.gz
kill $qemu
wait || true
