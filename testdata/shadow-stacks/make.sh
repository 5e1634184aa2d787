#!/usr/bin/env bash
# Builds five programs with clang's shadow call stack for two processors, and records each where its overwritten stack
# stops it. Debian 12: clang-19, lld-19, binutils for both, qemu-user, python3.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p modules
port=31100
for cpu in aarch64 riscv64; do
	fixed=-ffixed-x18
	[ $cpu = riscv64 ] && fixed="-march=rv64gc -mno-relax"
	for name in overrun copy sized deep pointers; do
		port=$((port + 1))
		clang-19 --target=$cpu-linux-gnu -O1 -Wall -ffreestanding -fno-builtin -static -nostdlib -fuse-ld=lld-19 \
			-fno-asynchronous-unwind-tables -fno-unwind-tables -fsanitize=shadow-call-stack $fixed \
			-Wl,-z,max-page-size=4096,--build-id=none -o "$work/$name" $name.c
		$cpu-linux-gnu-nm "$work/$name" > "$work/nm"
		$cpu-linux-gnu-strip -s -R .comment -R .riscv.attributes -o modules/$name.$cpu "$work/$name"
		qemu-$cpu -s 131072 -g $port modules/$name.$cpu 2>/dev/null &
		sleep 1
		python3 ../record.py $cpu $port "$work/nm" 4096 @shadow:256 fault |
			sed 's|}$|, "images": [{"path": "modules/'$name.$cpu'"}]}|'
		kill %% 2>/dev/null || true
		wait || true
	done
done | gzip -9n > snaps.jsonl.gz
