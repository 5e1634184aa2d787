#!/usr/bin/env bash
# Builds the program for macOS with its dSYM, runs it on x86-64 Linux, and takes its core.
# Debian 12: clang-19, lld-19, llvm-19 (dsymutil), gcc, libc6-dev.
set -euo pipefail
cd "$(dirname "$0")"
cc() { clang-19 --target=x86_64-apple-macos11 -O2 -g -ffreestanding -fno-stack-protector -funwind-tables -Wall -ffile-prefix-map="$PWD"=. "$@"; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cc -c parser.c -o "$tmp/parser.o"
cc -fomit-frame-pointer -c bare.c -o "$tmp/bare.o"
ld64.lld-19 -arch x86_64 -platform_version macos 11 11 -undefined dynamic_lookup -e _start -o parser "$tmp/parser.o" "$tmp/bare.o"
rm -rf parser.dSYM
dsymutil-19 -o parser.dSYM parser
rm -r parser.dSYM/Contents/Resources/Relocations
llvm-strip-19 -x parser
gcc -O2 -Wall -D_GNU_SOURCE -o "$tmp/run" run.c
"$tmp/run" parser "$tmp/core"
gzip -9n < "$tmp/core" > core.gz
