#!/bin/bash
# kernels.sh [-step|-boot] KERNEL BUSYBOX ARCH OUT: boots a Linux kernel in QEMU with some sleeping tasks.
#
# Without -step the kernel is crashed by sysrq-c, with the function graph tracer on where the kernel
# has that (with -boot from its start on, before its threads begin), and the script keeps what a user would have: OUT.log, the console; OUT.vmcore, the
# memory as an ELF dump (MIPS: OUT.ram, raw memory from address 0). With backsight in $BACKSIGHT it
# says of how many tasks the backtrace ends at the root: OUT.whole.
#
# With -step the tracer is off, and `lab kernelsteps` stops the machine in functions of the kernel and
# checks a backtrace at each of their instructions: OUT.steps.
#
# KERNEL is what distributions ship as vmlinuz, BUSYBOX a static busybox of ARCH: both are in
# Debian's packages linux-image-* and busybox-static (apt-get download PACKAGE:ARCH; dpkg -x).
# ARCH is Debian's name: amd64, arm64, armhf, i386, mipsel, mips64el, riscv64.
#
#	BACKSIGHT=bin/backsight lab/kernels.sh boot/vmlinuz-6.1.0-50-arm64 bin/busybox arm64 /tmp/arm64
set -eu
step= boot=
case $1 in
-step) step=1 && shift ;;
-boot) boot=1 && shift ;;
esac
kernel=$1 busybox=$2 arch=$3 out=$4
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT

console=ttyS0 options=
case $arch in
amd64) machine="qemu-system-x86_64 -M q35" ;;
i386) machine="qemu-system-i386 -M q35" ;;
arm64) machine="qemu-system-aarch64 -M virt -cpu cortex-a57" console=ttyAMA0 ;;
armhf) machine="qemu-system-arm -M virt -cpu cortex-a15" console=ttyAMA0 ;;
mipsel) machine="qemu-system-mipsel -M malta -cpu 24Kf" ;;
mips64el) machine="qemu-system-mips64el -M malta -cpu MIPS64R2-generic" ;;
riscv64) machine="qemu-system-riscv64 -M virt" ;;
*) echo "no machine for $arch" >&2; exit 64 ;;
esac
if [ -n "$step" ]; then options=step; fi
if [ -n "$boot" ]; then options=ftrace=function_graph; fi

mkdir -p "$work"/tree/{bin,dev,proc,sys}
cp "$busybox" "$work/tree/bin/busybox"
cat >"$work/tree/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t tracefs tracing /sys/kernel/tracing 2>/dev/null
$b sleep 1000 &
($b sleep 1000 | $b cat) &
$b sleep 1
if $b grep -q step /proc/cmdline; then
	echo "ready to be stepped"
	while :; do echo "line" | $b cat >/dev/null; $b usleep 1000; done
fi
echo function_graph >/sys/kernel/tracing/current_tracer 2>/dev/null && echo "tracer: function_graph"
$b sleep 1000 &
$b sleep 1
echo c >/proc/sysrq-trigger
INIT
chmod +x "$work/tree/init"
mknod "$work/tree/dev/console" c 5 1
(cd "$work/tree" && find . | cpio -o -H newc --quiet | gzip) >"$work/initramfs"

mkfifo "$work/monitor.in" "$work/monitor.out"
rm -f "$out.log"
$machine -m 160 -kernel "$kernel" -initrd "$work/initramfs" -append "console=$console panic=0 $options" \
	-display none -nic none -no-reboot -serial "file:$out.log" -monitor "pipe:$work/monitor" &
cat "$work/monitor.out" >/dev/null &
exec 3>"$work/monitor.in"
for _ in $(seq 300); do
	grep -q 'end Kernel panic\|ready to be stepped' "$out.log" 2>/dev/null && break
	sleep 1
done
echo stop >&3
case $arch in
mips*) dump=$out.ram memory="--ram $out.ram@0" && echo "pmemsave 0 $((160 << 20)) \"$dump\"" >&3 ;;
*) dump=$out.vmcore memory=$out.vmcore && echo "dump-guest-memory $dump" >&3 ;;
esac
if [ -n "$step" ]; then
	echo "gdbserver unix:$work/gdb,server=on,wait=off" >&3
	until [ -S "$work/gdb" ]; do sleep 1; done
	go run ./lab kernelsteps -gdb "unix:$work/gdb" -dump "$dump" | tee "$out.steps"
	kill %1
else
	echo quit >&3
	wait %1
	if [ -n "${BACKSIGHT:-}" ]; then
		"$BACKSIGHT" bt $memory 2>/dev/null >"$out.txt" || true
		echo "$arch: $(grep -c 'stop: root' "$out.txt") of $(grep -c '^Thread' "$out.txt") whole" | tee "$out.whole"
	fi
fi
