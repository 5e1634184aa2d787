#!/usr/bin/env bash
# Builds the laboratory's programs, without a C library, in the instruction sets that
# share a processor with another one. Debian 12: gcc-arm-linux-gnueabihf,
# libc6-dev-armhf-cross, gcc-mips-linux-gnu, libc6-dev-mips-cross.
set -euo pipefail
cd "$(dirname "$0")"
src=../../lab/programs/src

build() {
	local out=$1
	shift
	"$@" -w -O2 -nostdlib -static -Wl,--unresolved-symbols=ignore-all,-z,muldefs,-e,main \
		-o "$out" $src/{calls,flow,frames,odd,signals,fill}.c
}

build a32.elf arm-linux-gnueabihf-gcc -marm
build t32.elf arm-linux-gnueabihf-gcc -mthumb
build mips16.elf mips-linux-gnu-gcc -mips16
build micromips.elf mips-linux-gnu-gcc -mmicromips -mips32r2
