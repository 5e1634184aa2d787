#!/usr/bin/env bash
# Builds the program for macOS with its dSYM, runs it on x86-64 Linux, and takes its core; then
# the same of 60 brackets for ../macos-deep.
# Debian 12: clang-19, lld-19, llvm-19 (dsymutil), gcc, libc6-dev.
set -euo pipefail
cd "$(dirname "$0")"
cc() { clang-19 --target=x86_64-apple-macos11 -O2 -g -ffreestanding -fno-stack-protector -funwind-tables -Wall -ffile-prefix-map="$PWD"=. "$@"; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# objects FLAG…: the object files
objects() {
	cc "$@" -c parser.c -o "$tmp/parser.o"
	cc "$@" -fomit-frame-pointer -c bare.c -o "$tmp/bare.o"
	archive
}
archive() {
	rm -f "$tmp/libbare.a"
	llvm-ar-19 --format=darwin rcs "$tmp/libbare.a" "$tmp/bare.o"
}
# program FILE CORE: the program of the object files, and its core
program() {
	ld64.lld-19 -arch x86_64 -platform_version macos 11 11 -undefined dynamic_lookup -e _start -oso_prefix "$tmp/" -o "$1" "$tmp/parser.o" "$tmp/libbare.a"
	"$tmp/run" "$1" "$tmp/core"
	gzip -9n < "$tmp/core" > "$2"
}
gcc -O2 -Wall -D_GNU_SOURCE -o "$tmp/run" run.c

objects
program parser core.gz
rm -rf parser.dSYM
dsymutil-19 -oso-prepend-path "$tmp" -o parser.dSYM parser
rm -r parser.dSYM/Contents/Resources/Relocations
llvm-strip-19 -x parser

deep=../macos-deep
objects -DTEXT="\"$(printf '[%.0s' {1..60})!\"" -femit-dwarf-unwind=always
program $deep/compact $deep/core.gz
rm -rf $deep/objects
mkdir $deep/objects
cp "$tmp/parser.o" "$tmp/libbare.a" $deep/objects
for o in parser bare; do llvm-objcopy-19 --remove-section __LD,__compact_unwind "$tmp/$o.o"; done
archive
program $deep/dwarf $deep/dwarf.gz
llvm-strip-19 -S $deep/dwarf
