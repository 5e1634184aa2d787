#!/usr/bin/env bash
# Builds program and libraries for each CPU, with no library but these, and records them under QEMU with the
# laboratory's tracer. What is built is the same each time, and so are the chains.
# Debian 12: gcc, g++, g++-aarch64-linux-gnu, qemu-user.
set -euo pipefail
cd "$(dirname "$0")"
work=/tmp/libraries # the program's path lies on its stack
mkdir "$work"
trap 'rm -rf "$work"' EXIT

# build CPU PREFIX: each library in another way, as the packages of a distribution are.
build() {
	local dir=$work/$1 cxx=$2-g++
	mkdir -p "$dir/lib"
	common=(-std=c++17 -Wall -Wextra -Werror -ffreestanding -nostdlib -fPIC -fvisibility=hidden -fasynchronous-unwind-tables
		-fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-stack-protector -Wl,-z,now -Wl,-z,max-page-size=4096 -L"$dir/lib")
	library() { "$cxx" "${common[@]}" -shared -s -o "$dir/lib/lib$1.so" "src/$1.cc" "${@:2}"; }
	library base -O2 -fno-omit-frame-pointer
	library tree -O2 -lbase
	library text -O2 -lbase -ltree
	library pass -Os -lbase -ltree
	library machine -O3 -fno-plt -lbase -ltree
	"$cxx" "${common[@]}" -O2 -pie -o "$dir/full" src/main.cc -Wl,-rpath,'$ORIGIN/lib' -lmachine -lpass -ltext -ltree -lbase
	"$2-strip" -s -o "$dir/program" "$dir/full"
}

# record CPU ROOT: ROOT has the dynamic linker, which has returned before the first capture.
record() {
	rm -rf "$1"
	(cd ../.. && go run ./lab trace -o "testdata/libraries/$1/compiler-gcc-O2" -emulator "qemu-$1" -L "$2" -symbols "$work/$1/full" "$work/$1/program")
}

build x86_64 x86_64-linux-gnu
build aarch64 aarch64-linux-gnu
record x86_64 /
record aarch64 /usr/aarch64-linux-gnu
