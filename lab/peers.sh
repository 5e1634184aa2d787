#!/bin/bash
# peers.sh BACKSIGHT: `backsight bt -p`, eu-stack -p and gdb -p on a process of 500 threads with libLLVM. For each, as a row of
# lab/results/live.md: the time, of two processors; how long one thread of the process saw that it stood still; frames; and below strace,
# which makes them slower, the time from the first thread's stop to the last one's end: gdb would take minutes. PRIORITY, if set, is put before the
# commands: "chrt -r 1" on a machine that does other work.
set -eu
program=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'kill "${pid-}" 2>/dev/null || :; rm -rf "$work"' EXIT
gcc -O1 -g -pthread -fno-optimize-sibling-calls -o "$work/gap" "$here/testdata/gap.c" -ldl
llvm=$(ls /usr/lib/*/libLLVM-*.so.1 | head -n 1)
mkfifo "$work/ask" "$work/answer"
${PRIORITY-} "$work/gap" 500 "$llvm" <"$work/ask" >"$work/answer" &
exec 3>"$work/ask" 4<"$work/answer"
read -r pid <&4
sleep 1

# frames FILE: threads that are alike stand once, with their numbers or how many they are.
frames() {
	awk '
	/^Threads? / {
		title = $0; sub(/ ".*/, "", title)
		alike = gsub(/,/, "", title) + 1
		if (title ~ / others/) {sub(/ others.*/, "", title); sub(/.* /, "", title); alike += title}
	}
	/^TID / {alike = 1}
	/^#/ {n += alike}
	END {print n}' "$1"
}
# span COMMAND…: milliseconds in which threads stood still.
span() {
	strace -f --seccomp-bpf -e trace=ptrace -ttt -o "$work/calls" "$@" >"$work/traced" 2>&1 || :
	awk '/PTRACE_(ATTACH|INTERRUPT|DETACH)/ {if (!from) from = $2; to = $2} END {printf "%d ms", (to - from) * 1000}' "$work/calls"
}
# row NAME COMMAND…: the shortest of three runs.
row() {
	local name=$1 best= from took gap
	shift
	for _ in 1 2 3; do
		echo >&3 && read -r gap <&4
		from=$(date +%s%N)
		${PRIORITY-} "$@" >"$work/out" 2>"$work/said" || :
		took=$((($(date +%s%N) - from) / 1000))
		echo >&3 && read -r gap <&4
		if [ -z "$best" ] || [ "$gap" -lt "${best#* }" ]; then best="$took $gap"; fi
	done
	echo "| $name | $((${best% *} / 1000)) ms | $((${best#* } / 1000)) ms | $(frames "$work/out") | $(span "$@") |"
}
row "backsight bt -p" "$program" bt -p "$pid" --no-index
row "eu-stack -p" eu-stack -p "$pid"
span() { printf -; }
row "gdb -p" gdb -nx -batch -p "$pid" -ex "set debuginfod enabled off" -ex "thread apply all bt"
