#!/bin/bash
# corepattern.sh KERNEL BUSYBOX ARCH BACKSIGHT OUT: `backsight crash` as the kernel's handler of cores, in a machine that QEMU emulates.
#
# Writes OUT.log, the console: a hundred crashes with the size and the time of each, a storm, a full disk, no process IDs left, a handler
# that is killed, and what is left behind. BACKSIGHT is the command for ARCH, as lab/kernels.sh has KERNEL, BUSYBOX and ARCH; CC compiles
# the program that crashes. STORM is how many crashes a storm has.
#
#	GOARCH=arm64 CGO_ENABLED=0 go build -o /tmp/bs ./cmd/backsight
#	CC=aarch64-linux-gnu-gcc lab/corepattern.sh boot/vmlinuz-6.1.0-50-arm64 bin/busybox arm64 /tmp/bs /tmp/arm64
set -eu
kernel=$1 busybox=$2 arch=$3 program=$4 out=$5
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
console=ttyS0 size="-smp 2 -m 512"
case $arch in
amd64) machine="qemu-system-x86_64 -M q35 -cpu Nehalem" ;;
arm64) machine="qemu-system-aarch64 -M virt -cpu cortex-a57" console=ttyAMA0 ;;
armhf) machine="qemu-system-arm -M virt -cpu cortex-a15" console=ttyAMA0 ;;
i386) machine="qemu-system-i386 -M q35" ;;
mipsel) machine="qemu-system-mipsel -M malta -cpu 24Kf" size="-m 256" ;;
mips64el) machine="qemu-system-mips64el -M malta -cpu MIPS64R2-generic" size="-m 512" ;;
riscv64) machine="qemu-system-riscv64 -M virt" ;;
*) echo "no machine for $arch" >&2; exit 64 ;;
esac
mkdir -p "$work"/tree/{bin,dev,proc,sys,tmp,var/log,full}
cp "$busybox" "$work/tree/bin/busybox"
cp "$program" "$work/tree/bin/backsight"
${CC:-gcc} -O1 -g -static -pthread -o "$work/tree/victim" "$here/testdata/corepattern.c"
cp "$here/corepattern.init" "$work/tree/init"
chmod +x "$work/tree/init"
mknod "$work/tree/dev/console" c 5 1
mknod "$work/tree/dev/null" c 1 3
(cd "$work/tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initramfs"
timeout "${SECONDS_MOST:-900}" $machine $size -kernel "$kernel" -initrd "$work/initramfs" -append "console=$console quiet panic=-1 storm=${STORM:-1000}" \
	-display none -nic none -no-reboot -monitor none -serial "file:$out.log"
grep -a '^==' "$out.log"
