#!/bin/bash
# processes.sh KERNEL BUSYBOX ARCH BACKSIGHT OUT: `backsight bt -p` in a machine that QEMU emulates, with /proc and nothing else.
#
# Writes OUT.log, the console: threads, stop time, chains that are as the source says, of a program with symbols, of one that starts and
# ends threads all the time, of one that is stripped; and what memory `backsight crash` takes. The arguments are those of
# lab/corepattern.sh; CC compiles the programs, STRIP takes their symbols away, NM lists them.
#
#	GOARCH=mipsle GOMIPS=softfloat CGO_ENABLED=0 go build -tags small -ldflags='-s -w' -o /tmp/bs ./cmd/backsight
#	CROSS=mipsel-linux-gnu- lab/processes.sh boot/vmlinuz-6.1.0-50-4kc-malta bin/busybox mipsel /tmp/bs /tmp/mipsel
set -eu
kernel=$1 busybox=$2 arch=$3 program=$4 out=$5
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
console=ttyS0 size="-smp 2 -m 512"
case $arch in
amd64) machine="qemu-system-x86_64 -M q35 -cpu Nehalem" ;;
i386) machine="qemu-system-i386 -M q35" ;;
arm64) machine="qemu-system-aarch64 -M virt -cpu cortex-a57" console=ttyAMA0 ;;
armhf) machine="qemu-system-arm -M virt -cpu cortex-a15" console=ttyAMA0 ;;
mipsel) machine="qemu-system-mipsel -M malta -cpu 24Kf" size="-m 256" ;;
mips64el) machine="qemu-system-mips64el -M malta -cpu MIPS64R2-generic" size="-m 512" ;;
riscv64) machine="qemu-system-riscv64 -M virt" ;;
*) echo "no machine for $arch" >&2; exit 64 ;;
esac
mkdir -p "$work"/tree/{bin,dev,proc,reports}
cp "$busybox" "$work/tree/bin/busybox"
cp "$program" "$work/tree/bin/backsight"
compile() { ${CROSS-}gcc -O1 -g -static -pthread -fno-optimize-sibling-calls -o "$work/tree/$1" "$here/testdata/$2"; }
compile threads threads.c
compile victim corepattern.c
compile bin/memory memory.c
${CROSS-}nm "$work/tree/threads" | grep -i ' t ' >"$work/tree/names"
${CROSS-}strip -o "$work/tree/stripped" "$work/tree/threads"
cp "$here/processes.init" "$work/tree/init"
chmod +x "$work/tree/init"
mknod "$work/tree/dev/console" c 5 1
mknod "$work/tree/dev/null" c 1 3
(cd "$work/tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initramfs"
timeout "${SECONDS_MOST:-900}" $machine $size -kernel "$kernel" -initrd "$work/initramfs" -append "console=$console quiet panic=-1" \
	-display none -nic none -no-reboot -monitor none -serial "file:$out.log"
grep -a '^==' "$out.log"
