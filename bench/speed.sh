#!/usr/bin/env bash
# Measures what captures cost to open, to unwind and to write, beside what else does so, and writes lab/results/speed.md with the
# commit that was measured.
#
# usage: bench/speed.sh [DIR]   DIR keeps the captures (some 1.5 GB)
#
# Debian 12: gcc, elfutils, nodejs, linux-perf, clang-14; what is not there is left out. Cores are written to the working
# directory: /proc/sys/kernel/core_pattern is "core".
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
RUNS=${RUNS:-7}
dir=${1:-${TMPDIR:-/tmp}/backsight-speed}
mkdir -p "$dir/images"
commit=$(git describe --always --dirty --abbrev=12)
CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$dir/backsight" ./cmd/backsight
gcc -O2 -static -w -o "$dir/spent" bench/speed/spent.c
cd "$dir"

has() { command -v "$1" >/dev/null; }

# core NAME COMMAND…: the core file of a program that aborts.
core() {
	local name=$1
	shift
	[ -e "$name.core" ] && return
	mkdir -p crash
	(cd crash && rm -f core* && ulimit -c unlimited && exec "$@") >/dev/null 2>&1 || :
	mv crash/core* "$name.core" 2>/dev/null || echo "no core file of $*" >&2
}

# links DIR CORE N: N names of a core.
links() {
	mkdir -p "$1"
	for i in $(seq "$3"); do ln -f "$2" "$1/$i.core"; done
}

make_captures() {
	gcc -O2 -g -o small "$here/bench/speed/small.c"
	gcc -O1 -g -o threads "$here/bench/speed/threads.c" -pthread
	core small "$dir/small"
	gcc -O1 -fno-optimize-sibling-calls -o deep "$here/bench/speed/deep.c"
	core deep10k "$dir/deep" 10000
	core deep100k "$dir/deep" 100000
	links small100 small.core 100
	links small400 small.core 400
	core threads2k "$dir/threads" 2000
	core threads10k "$dir/threads" 10000
	if [ ! -e images.core ]; then
		(
			cd images
			for i in $(seq 0 999); do echo "int f$((i + 1))(int); int f$i(int x) { return f$((i + 1))(x) + 1; }" >"f$i.c"; done
			echo 'void abort(void); int f1000(int x) { abort(); }' >f1000.c
			echo 'int f0(int); int main(void) { return f0(3); }' >main.c
			for i in $(seq 0 1000); do gcc -O1 -fPIC -shared -o "libf$i.so" "f$i.c"; done
			gcc -O1 -o main main.c -Wl,--unresolved-symbols=ignore-all -Wl,--no-as-needed $(seq -f "$PWD/libf%g.so" 0 1000)
		)
		core images "$dir/images/main"
		(cd images && sed 's/f0/f751/g' main.c >main250.c && gcc -O1 -o main250 main250.c -Wl,--unresolved-symbols=ignore-all -Wl,--no-as-needed $(seq -f "$PWD/libf%g.so" 751 1000))
		core images250 "$dir/images/main250"
	fi
	if has node; then
		core node node -e 'function f(n) { if (n == 0) process.abort(); return f(n - 1) + 1 } setTimeout(() => f(20), 50)'
		links node30 node.core 30
	fi
	if [ ! -e noise.log ]; then
		awk 'BEGIN { for (i = 0; i < 2100000; i++)
			printf "[%5d.%06d] usb 1-%d: new high-speed USB device number %d using xhci_hcd, state 0x%08x\n", i / 1000, i % 1000 * 1000, i % 9, i % 99, i * 2654435761 % 4294967296 }' >noise.log
		head -c 100000000 noise.log >half.log
	fi
	if [ ! -e sparse.ram ]; then
		truncate -s 4G sparse.ram
		for i in $(seq 0 79); do head -c 1M /dev/urandom | dd of=sparse.ram bs=1M seek=$((50 * i)) conv=notrunc status=none; done
		truncate -s 4G sparse20.ram
		for i in $(seq 0 19); do head -c 1M /dev/urandom | dd of=sparse20.ram bs=1M seek=$((200 * i)) conv=notrunc status=none; done
	fi
	if has perf && has clang-14; then
		record 8192 clang8 600
		record 8192 clang8x8 5000
		record 65528 clang64 300
	fi
	if has perf && [ ! -e naked.data ]; then
		gcc -O2 -s -fno-asynchronous-unwind-tables -fno-unwind-tables -o naked "$here/bench/speed/naked.c"
		perf record -q -F 1000 -e cpu-clock:u --call-graph dwarf,8192 -o naked.data ./naked >/dev/null 2>&1 || rm -f naked.data
	fi
}

# record STACK NAME HERTZ: a recording of clang.
record() {
	[ -e "$2.data" ] && return
	{
		printf '#include <%s>\n' regex map algorithm functional string vector
		for i in $(seq 30); do
			echo "bool f$i(const std::string &s) { std::regex r(\"a$i+\"); std::map<int, std::string> m; for (int i = 0; i < $i; i++) m[i] = s; std::vector<std::string> v; for (auto &p : m) v.push_back(p.second); std::sort(v.begin(), v.end(), [](auto &a, auto &b) { return a.size() + $i < b.size(); }); return std::regex_match(v[0], r); }"
		done
	} >big.cc
	perf record -q -F "$3" -e cpu-clock:u --call-graph "dwarf,$1" -o "$2.data" -- clang-14 -O2 -c big.cc -o big.o >/dev/null 2>&1 || rm -f "$2.data"
}

# spent COMMAND…: wall time, CPU time, peak memory; dashes where there is no such program.
spent() { if has "$1"; then ./spent "$RUNS" "$@"; else echo '– – –'; fi; }

# row WHAT FILE WANTED PEER… -- ARGUMENTS: a row of the table.
row() {
	local what=$1 file=$2 wanted=$3 peer=()
	shift 3
	while [ "$1" != -- ]; do peer+=("$1") && shift; done
	shift
	[ -e "$file" ] || return 0
	local own other='– – –'
	own=$(spent "$dir/backsight" "$@")
	[ ${#peer[@]} -gt 0 ] && other=$(spent "${peer[@]}")
	printf '| %s | %s | %s | %s |\n' "$what" "$(cells $own)" "$(cells $other)" "$wanted"
}

cells() { echo "$1 | $2 | $3"; }

# growth WHAT TIMES SMALL LARGE: the exponent by which CPU time grows from one command line to one of so many times the input.
growth() {
	local before after
	before=$(spent "$dir/backsight" $3)
	after=$(spent "$dir/backsight" $4)
	echo "$before $after $2" | awk -v what="$1" '{ printf "| %s | %s | %s | %.2f |\n", what, $2, $5, log($5 / $2) / log($7) }'
}

# both WHAT ARGUMENTS…: how much faster all processors are than one.
both() {
	local what=$1 alone
	shift
	alone=$(GOMAXPROCS=1 spent "$dir/backsight" "$@")
	echo "$alone $(spent "$dir/backsight" "$@")" | awk -v what="$what" '{ printf "| %s | %s | %s | %.2f |\n", what, $1, $4, $1 / $4 }'
}

# ratio A B: how many times as large as the file A the file B is.
ratio() { echo "$(stat -c %s "$1") $(stat -c %s "$2")" | awk '{ print $2 / $1 }'; }

make_captures
mkdir -p empty
{
	cat <<-END
		# What captures cost

		Written by \`bench/speed.sh\`; measured: $commit, $(stat -c %s backsight | awk '{ printf "%.1f", $1 / 1e6 }') MB stripped, $(go env GOVERSION), $(nproc) processors
		($(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo)), load $(cut -d' ' -f1 /proc/loadavg) at the start. Medians of $RUNS runs: wall and CPU time in milliseconds,
		peak resident set in MiB, pages of files among that. Beside: eu-stack, and for recordings perf script --no-inline.

		| \`bt\` of | wall | CPU | peak | beside: wall | CPU | peak | wanted |
		|---|---|---|---|---|---|---|---|
	END
	row 'nothing (`version`)' small – -- version
	row 'a small core' small.core '5 ms, 10 MiB' eu-stack --core small.core -- bt --debug-dir empty small.core
	row 'the same, with the debug files of libc' small.core – eu-stack -i -s --core small.core -- bt small.core
	row 'node (50 MB)' node.core '60 ms, 40 MiB' eu-stack --core node.core -- bt node.core
	row '1,000 images, a chain through all' images.core '40 ms' eu-stack -n 2000 --core images.core -- bt -n 2000 images.core
	row '10,000 threads' threads10k.core '64 MiB' -- bt threads10k.core
	row 'raw memory of 4 GB, 80 MB of them data' sparse.ram "holes are not read" -- bt --ram sparse.ram@0
	row 'a log of 200 MB without a report' noise.log '670 ms, 32 MiB' -- bt noise.log
	for r in clang8 clang8x8 clang64; do
		row "$r.data, $(stat -c %s $r.data 2>/dev/null | awk '{ printf "%.0f", $1 / 1e6 }') MB, folded" $r.data '10 × perf, 64 MiB' perf script --no-inline -i $r.data -- bt -f folded $r.data
	done
	if has perf; then
		printf '\n%s\n\n| recording | samples | the same | Backsight goes further | perf does | another frame |\n|---|---|---|---|---|---|\n' 'Frames beside those of perf script; `naked` has neither symbols nor unwind tables:'
		for r in clang8 clang8x8 clang64 naked; do
			[ ! -e $r.data ] || echo "| $r.data | $(python3 "$here/bench/speed/frames.py" ./backsight $r.data) |"
		done
	fi
	printf '\n%s\n\n| from … to | CPU ms | CPU ms | exponent |\n|---|---|---|---|\n' 'Growth of CPU time:'
	growth '2,000 to 10,000 threads' 5 'bt threads2k.core' 'bt threads10k.core'
	growth '10,000 to 100,000 frames' 10 'bt -n 200000 deep10k.core' 'bt -n 200000 deep100k.core'
	growth '250 to 1,000 images' 4 'bt -n 2000 images250.core' 'bt -n 2000 images.core'
	growth '100 to 400 captures' 4 'bt small100/*' 'bt small400/*'
	growth 'a log of 100 to 200 MB' "$(ratio half.log noise.log)" 'bt half.log' 'bt noise.log'
	growth 'raw memory of 20 to 80 MB' 4 'bt --ram sparse20.ram@0' 'bt --ram sparse.ram@0'
	[ ! -e clang8x8.data ] || growth 'a recording, to one of more samples' "$(ratio clang8.data clang8x8.data)" 'bt -f folded clang8.data' 'bt -f folded clang8x8.data'
	printf '\n%s\n\n| `bt` of | one: ms | all: ms | times as fast |\n|---|---|---|---|\n' 'One processor, and all of them:'
	both '10,000 threads' bt threads10k.core
	[ ! -e node.core ] || both '30 cores of node' bt node30/*
	both '400 small cores' bt small400/*
	[ ! -e clang8x8.data ] || both 'samples of clang8x8.data' bt -f folded clang8x8.data
	[ ! -e naked.data ] || both 'samples of naked.data' bt -f folded naked.data
} >"$here/lab/results/speed.md.new"
mv "$here/lab/results/speed.md.new" "$here/lab/results/speed.md"
