#!/usr/bin/env bash
# Compares backsight, eu-stack and gdb on the core file of a program with 16 threads
# of about 40 frames each, linked to libLLVM-14: what opening large binaries costs.
#
# usage: bench/peers-llvm.sh [DIR]   DIR keeps the program and its core (1.3 GB)
#
# SOURCES holds deep36.c and mt.c. Debian 12: gcc, llvm-14-dev, gdb, elfutils, python3.
set -euo pipefail
cd "$(dirname "$0")/.."
SOURCES=${SOURCES:-../shared/inputs/perf/llvm-core}
RUNS=${RUNS:-5}
dir=${1:-${TMPDIR:-/tmp}/backsight-peers}
mkdir -p "$dir"

CGO_ENABLED=0 go build -o "$dir/backsight" ./cmd/backsight
if [ ! -e "$dir/mt" ]; then
	gcc -O2 -w -I"$(llvm-config-14 --includedir)" -o "$dir/mt" "$SOURCES"/{mt,deep36}.c $(llvm-config-14 --ldflags --libs) -pthread
fi
if [ ! -e "$dir/core" ]; then
	"$dir/mt" 16 >"$dir/ready" 2>/dev/null &
	until grep -q ready "$dir/ready"; do sleep 0.1; done
	sleep 0.5
	gcore -o "$dir/core" $! >/dev/null 2>&1
	kill $!
	mv "$dir/core.$!" "$dir/core"
fi
python3 bench/measure.py "$RUNS" \
	"backsight bt $dir/core" \
	"backsight bt --debug-dir /nonexistent $dir/core" \
	"backsight bt --no-symbols $dir/core" \
	"eu-stack --core $dir/core" \
	"eu-stack -i -s --core $dir/core" \
	"eu-stack -q --core $dir/core" \
	"gdb -nx -batch -ex 'thread apply all bt' $dir/mt $dir/core"
