#!/bin/bash
# kernels.sh KERNEL BUSYBOX ARCH OUT: boots a Linux kernel in QEMU with some sleeping tasks and
# the function graph tracer on, where the kernel has that, crashes it by sysrq-c, and keeps what
# a user would have: OUT.log, the console; OUT.vmcore, the memory as an ELF dump (MIPS: OUT.ram,
# raw memory from address 0).
#
# KERNEL is what distributions ship as vmlinuz, BUSYBOX a static busybox of ARCH: both are in
# Debian's packages linux-image-* and busybox-static (apt-get download PACKAGE:ARCH; dpkg -x).
# ARCH is Debian's name: amd64, arm64, armhf, mipsel, mips64el, riscv64.
#
#	lab/kernels.sh boot/vmlinuz-6.1.0-50-arm64 bin/busybox arm64 /tmp/arm64
#	backsight bt /tmp/arm64.vmcore
set -eu
kernel=$1 busybox=$2 arch=$3 out=$4
work=$(mktemp -d)
trap 'rm -rf "$work"; kill $(jobs -p) 2>/dev/null || true' EXIT

console=ttyS0
case $arch in
amd64) machine="qemu-system-x86_64 -M q35" ;;
arm64) machine="qemu-system-aarch64 -M virt -cpu cortex-a57" console=ttyAMA0 ;;
armhf) machine="qemu-system-arm -M virt -cpu cortex-a15" console=ttyAMA0 ;;
mipsel) machine="qemu-system-mipsel -M malta -cpu 24Kf" ;;
mips64el) machine="qemu-system-mips64el -M malta -cpu MIPS64R2-generic" ;;
riscv64) machine="qemu-system-riscv64 -M virt" ;;
*) echo "no machine for $arch" >&2; exit 64 ;;
esac

mkdir -p "$work"/root/{bin,dev,proc,sys}
cp "$busybox" "$work/root/bin/busybox"
cat >"$work/root/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t tracefs tracing /sys/kernel/tracing 2>/dev/null
$b sleep 1000 &
($b sleep 1000 | $b cat) &
$b sleep 1
echo function_graph >/sys/kernel/tracing/current_tracer 2>/dev/null && echo "tracer: function_graph"
$b sleep 1000 &
$b sleep 1
echo c >/proc/sysrq-trigger
INIT
chmod +x "$work/root/init"
mknod "$work/root/dev/console" c 5 1
(cd "$work/root" && find . | cpio -o -H newc --quiet | gzip) >"$work/initramfs"

mkfifo "$work/monitor.in" "$work/monitor.out"
$machine -m 160 -kernel "$kernel" -initrd "$work/initramfs" -append "console=$console panic=0" \
	-display none -nic none -no-reboot -serial "file:$out.log" -monitor "pipe:$work/monitor" &
cat "$work/monitor.out" >/dev/null &
exec 3>"$work/monitor.in"
for _ in $(seq 300); do
	grep -q 'end Kernel panic' "$out.log" 2>/dev/null && break
	sleep 1
done
case $arch in
mips*) echo "pmemsave 0 $((160 << 20)) \"$out.ram\"" >&3 ;;
*) echo "dump-guest-memory $out.vmcore" >&3 ;;
esac
echo quit >&3
wait %1
