#!/bin/bash
# hosts.sh: the command as other hosts run it: Windows on amd64 in wine, and a small MIPS box in QEMU's user mode, Go's
# memory held below 48 MB. Each prints what the command prints here, byte for byte, or the script ends with an error. What a
# machine lacks (Debian's wine and gcc-mingw-w64-x86-64, qemu-user) is said and left out. Go asks for a library of Windows that wine
# 8.0 does not have, for random numbers: a stand-in is made.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export WINEDEBUG=-all WINEPREFIX=$dir/wine CGO_ENABLED=0

# same NAME COMMAND…: five tasks by the command, compared with this machine's.
same() {
	local name=$1 n=0 args begun
	shift
	while read -r args; do
		n=$((n + 1)) begun=$(date +%s%N)
		# shellcheck disable=SC2086 # words
		"$dir/here" $args >"$dir/want"
		# shellcheck disable=SC2086
		"$@" $args </dev/null | tr -d '\r' >"$dir/got"
		if ! cmp -s "$dir/want" "$dir/got"; then
			echo "FAIL $name: $args"
			diff "$dir/want" "$dir/got" | head -n 20
			return 1
		fi
		printf 'ok   %-8s %5d ms  %s\n' "$name" $((($(date +%s%N) - begun) / 1000000)) "$args"
	done <<-'TASKS'
		bt --debug-dir testdata --sysroot testdata/mips-deref/modules testdata/mips-deref/core.gz
		bt --debug-dir testdata -f jsonl --image testdata/mips-naked/modules/packer testdata/mips-naked/snaps.jsonl.gz
		explain --debug-dir testdata testdata/mips-naked/modules/packer 0x4001dc
		table --format json testdata/mips-naked/modules/packer
		bt --debug-dir testdata --sysroot testdata/aarch64-signal/modules testdata/aarch64-signal/core.gz
	TASKS
}

go build -trimpath -o "$dir/here" ./cmd/backsight
if command -v wine >/dev/null && command -v x86_64-w64-mingw32-gcc >/dev/null; then
	cat >"$dir/prng.c" <<-'EOT'
		#include <windows.h>
		BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
		__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE p, SIZE_T n) { return SystemFunction036(p, (ULONG)n); }
	EOT
	x86_64-w64-mingw32-gcc -shared -o "$dir/bcryptprimitives.dll" "$dir/prng.c" -ladvapi32
	wineboot -i >/dev/null 2>&1 || :
	cp "$dir/bcryptprimitives.dll" "$WINEPREFIX/drive_c/windows/system32/"
	GOOS=windows GOARCH=amd64 go build -trimpath -o "$dir/there.exe" ./cmd/backsight
	same windows wine "$dir/there.exe"
else
	echo "no wine, or no mingw: Windows is left out"
fi
if command -v qemu-mipsel >/dev/null; then
	GOARCH=mipsle GOMIPS=softfloat go build -trimpath -o "$dir/there" ./cmd/backsight
	same mipsle env GOMEMLIMIT=48MiB qemu-mipsel -B 0x100000000 -R 0x20000000 "$dir/there"
else
	echo "no qemu-mipsel: the small host is left out"
fi
