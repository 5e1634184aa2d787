#!/usr/bin/env bash
# Runs backsight, libunwind and libdwfl over the same sampled stacks in turn and prints
# the medians of CPU time a frame and the ratios.
#
# usage: bench/peers.sh [RUNS]
#
# STACKS is the folder with deep60 and clang. Debian 12: gcc, libunwind-dev, libdw-dev,
# xz-utils, python3; for clang's stacks the packages clang-14 and libclang-cpp14.
set -euo pipefail
cd "$(dirname "$0")"
STACKS=${STACKS:-../../shared/inputs/perf}
RUNS=${1:-5}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
gcc -O2 -w -o "$dir/libunwind" peers/libunwind.c -lunwind-x86_64 -lunwind
gcc -O2 -w -o "$dir/libdwfl" peers/libdwfl.c -ldw -lelf
go test -c -o "$dir/bench.test" .
for s in deep60 clang; do
	cp -r "$STACKS/$s" "$dir/$s"
	chmod -R u+w "$dir/$s"
	find "$dir/$s" -name '*.xz' -exec xz -d {} +
done
for ((i = 0; i < RUNS; i++)); do
	for s in deep60 clang; do
		rounds=5
		if [ $s = deep60 ]; then rounds=5000; fi
		for peer in libunwind libdwfl; do
			"$dir/$peer" "$dir/$s" $rounds | awk -F'\t' -v s=$s -v p=$peer '{print s "\t" p "\t" $2}'
		done
		for state in warm cold; do
			"$dir/bench.test" -test.run '^$' -test.bench "Walk/$s\$/$state" |
				awk -v s=$s -v st=$state '/ns\/frame/ {for (i = 1; i <= NF; i++) if ($i == "ns/frame") print s "\tbacksight, " st "\t" $(i-1)}'
		done
	done
done | python3 -c '
import sys, statistics, collections
figures = collections.defaultdict(list)
for line in sys.stdin:
    stacks, who, ns = line.rstrip("\n").split("\t")
    figures[stacks, who].append(float(ns))
print("| stacks | | ns a frame | × backsight, warm |\n|---|---|---|---|")
for (stacks, who), all in sorted(figures.items()):
    ns, own = statistics.median(all), statistics.median(figures[stacks, "backsight, warm"])
    print("| %s | %s | %.1f | %.1f |" % (stacks, who, ns, ns / own))
'
