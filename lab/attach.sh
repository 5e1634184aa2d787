#!/bin/bash
# attach.sh BACKSIGHT ATTACHES: attaches so often to a process that counts interrupted calls, stops and wait statuses, and prints its counts.
# One in ten by a command of its own, the others by one command.
set -eu
program=$1 attaches=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'kill "${pid-}" 2>/dev/null || :; rm -rf "$work"' EXIT
${CC:-gcc} -O1 -pthread -w -o "$work/attached" "$here/testdata/attached.c"
"$work/attached" >"$work/counts" &
until read -r pid <"$work/counts"; do sleep 0.1; done 2>/dev/null
sleep 0.5
each=$((attaches / 10)) failed=0
for _ in $(seq $each); do "$program" bt -p "$pid" >"$work/out" 2>&1 || failed=$((failed + 1)); done
"$program" bt -p "$pid" --every 1ms --count $((attaches - each)) -f folded >"$work/folded" 2>"$work/said" || failed=$((failed + 1))
kill -TERM "$pid"
wait
echo "$attaches attaches, $failed commands failed; stacks seen: $(awk '{n+=$NF} END {print n}' "$work/folded")"
sort -u "$work/said" | head -n 5
tail -n +2 "$work/counts"
