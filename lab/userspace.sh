#!/bin/bash
# userspace.sh KERNEL BUSYBOX ARCH OUT: boots a Linux kernel in QEMU with programs of several kinds, crashes it, and keeps its memory.
#
# OUT.vmcore is the memory as an ELF dump (MIPS: OUT.ram, raw memory from address 0), OUT.root the files of the programs as they ran,
# OUT.names the symbols of the one without any. With backsight in $BACKSIGHT, OUT.chains says of each program in how many of its threads
# level3, level2, level1 and what called them stand in this order.
#
# KERNEL, BUSYBOX and ARCH are those of lab/kernels.sh. CROSS is the prefix of the compiler, COMPAT that of one for 32-bit programs
# on a 64-bit kernel, LIBS where the compiler's libraries are that programs load. The machine has MEMORY megabytes (256), and COUNT (0) further
# processes of the one with libraries. MODULES is where the kernel's modules are (lib/modules/RELEASE):
# with it, and ZRAM the name of a compression, what the programs keep in memory is swapped out to zram before the crash.
# With it, and KDUMP where Debian's packages makedumpfile and liblzo2-2 are unpacked, kdump writes OUT.vmcore, as a whole, and OUT.d31, without
# what makedumpfile -d 31 leaves out (amd64).
#
#	CROSS=aarch64-linux-gnu- COMPAT=arm-linux-gnueabihf- LIBS=/usr/aarch64-linux-gnu/lib BACKSIGHT=bin/backsight \
#		lab/userspace.sh boot/vmlinuz-6.1.0-50-arm64 bin/busybox arm64 /tmp/arm64
set -eu
kernel=$1 busybox=$2 arch=$3 out=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT

console=ttyS0 memory=${MEMORY-256} goarch=$arch
case $arch in
amd64) machine="qemu-system-x86_64 -M q35 -cpu Nehalem -smp 2" ;;
i386) machine="qemu-system-i386 -M q35 -smp 2" goarch=386 ;;
arm64) machine="qemu-system-aarch64 -M virt -cpu cortex-a57 -smp 2" console=ttyAMA0 ;;
armhf) machine="qemu-system-arm -M virt -cpu cortex-a15 -smp 2" console=ttyAMA0 goarch=arm ;;
mipsel) machine="qemu-system-mipsel -M malta -cpu 24Kf" goarch=mipsle ;;
riscv64) machine="qemu-system-riscv64 -M virt -smp 2" ;;
*) echo "no machine for $arch" >&2; exit 64 ;;
esac

root=$out.root
rm -rf "$root" "$out.log"
mkdir -p "$root"/{bin,dev,proc,lib,lib64}
cp "$busybox" "$root/bin/busybox"
build() { "$1gcc" -O2 -pthread -fno-optimize-sibling-calls -o "$root/bin/$2" "$here/testdata/userspace.c" "${@:3}"; }
build "${CROSS-}" static -static
build "${CROSS-}" dynamic -pie -fPIE
build "${CROSS-}" naked -static -fno-asynchronous-unwind-tables -fno-unwind-tables
"${CROSS-}nm" "$root/bin/naked" | grep -i ' t ' | sort >"$out.names"
"${CROSS-}strip" "$root/bin/naked"
if [ -n "${COMPAT-}" ]; then build "$COMPAT" compat -static; fi
CGO_ENABLED=0 GOARCH=$goarch GOMIPS=softfloat go build -ldflags='-s -w' -o "$root/bin/golang" "$here/testdata/userspace.go"
ldso=$("${CROSS-}readelf" -l "$root/bin/dynamic" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
cp -L "${LIBS:-/lib/x86_64-linux-gnu}/libc.so.6" "$root/lib/"
cp -L "${LIBS:-/lib/x86_64-linux-gnu}/$(basename "$ldso")" "$root$ldso"

if [ -n "${ZRAM-}" ]; then
	mkdir -p "$root/modules" "$root/sys"
	for m in zsmalloc zlib_deflate lz4_compress lz4hc_compress 842_compress 842_decompress zstd_compress lz4 zstd zram; do
		find "$MODULES" -name "$m.ko*" -exec cp {} "$root/modules/" \;
	done
	find "$root/modules" -name '*.xz' -exec unxz {} +
	echo "$ZRAM" >"$root/modules/algorithm"
fi
if [ -n "${KDUMP-}" ]; then
	mkdir -p "$work"/second/{bin,dev,proc,lib,lib64,tmp} "$root/kdump"
	cp "$busybox" "$KDUMP"/usr/bin/makedumpfile "$work/second/bin/"
	cp -L /lib64/ld-linux-x86-64.so.2 "$work/second/lib64/"
	for l in "$KDUMP"/lib/*/liblzo2.so.2 /lib/x86_64-linux-gnu/lib{dw,elf,z,c,lzma,bz2}.so.[0-9] /lib/x86_64-linux-gnu/libbz2.so.1.0; do cp -L "$l" "$work/second/lib/"; done
	for m in virtio virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk; do find "$MODULES" -name $m.ko -exec cp {} "$work/second/" \;; done
	cat >"$work/second/init" <<'SECOND'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t devtmpfs dev /dev
for m in virtio virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk; do [ ! -f /$m.ko ] || $b insmod /$m.ko; done
$b dd if=/proc/vmcore of=/dev/vda bs=1M
LD_LIBRARY_PATH=/lib /bin/makedumpfile -F -l -d 31 /proc/vmcore | $b dd of=/dev/vdb bs=1M iflag=fullblock
$b sync
echo "--- dumped, end Kernel panic"
$b sleep 1000
SECOND
	chmod +x "$work/second/init"
	ln "$work/second/bin/busybox" "$work/second/busybox"
	mknod "$work/second/dev/console" c 5 1
	(cd "$work/second" && find . | cpio -o -H newc --quiet | gzip -1) >"$root/kdump/initramfs"
	"${CROSS-}gcc" -O2 -static -o "$root/kdump/kexec" "$here/testdata/kexec.c"
	cp "$kernel" "$root/kdump/vmlinuz"
	truncate -s 700M "$out.vmcore" "$out.d31"
	disks="-drive file=$out.vmcore,format=raw,if=virtio -drive file=$out.d31,format=raw,if=virtio"
	memory=$((memory + 384)) APPEND="crashkernel=256M ${APPEND-}"
fi
cat >"$root/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
if [ -d /modules ]; then
	$b mount -t sysfs sys /sys
	$b mount -t devtmpfs dev /dev
	$b mount -t cgroup2 cgroup /sys/fs/cgroup
	for m in zsmalloc zlib_deflate lz4_compress lz4hc_compress 842_compress 842_decompress zstd_compress lz4 zstd zram; do
		[ ! -f /modules/$m.ko ] || $b insmod /modules/$m.ko
	done
	$b cat /modules/algorithm >/sys/block/zram0/comp_algorithm
	$b cat /sys/block/zram0/comp_algorithm
	echo 64M >/sys/block/zram0/disksize
	$b mkswap /dev/zram0
	$b swapon /dev/zram0
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	$b mkdir /sys/fs/cgroup/programs
	echo $$ >/sys/fs/cgroup/programs/cgroup.procs
fi
for p in static dynamic naked compat; do
	if [ -x /bin/$p ]; then
		for way in sleep read spin threads signal enormous; do
			[ $way = spin -o $way = enormous ] && [ $p != static ] || LD_LIBRARY_PATH=/lib /bin/$p $way &
		done
	fi
done
/bin/golang &
$b sleep 1000 &
for n in $($b seq COUNT); do LD_LIBRARY_PATH=/lib /bin/dynamic sleep & done
$b sleep 5
$b grep AnonHuge /proc/meminfo
if [ -d /modules ]; then
	echo $$ >/sys/fs/cgroup/cgroup.procs
	echo 0 >/sys/fs/cgroup/programs/memory.high
	$b cat /proc/swaps /sys/block/zram0/mm_stat
fi
if [ -d /kdump ]; then
	/kdump/kexec /kdump/vmlinuz /kdump/initramfs "console=ttyS0 nr_cpus=1 reset_devices irqpoll"
fi
echo c >/proc/sysrq-trigger
INIT
sed -i "s/COUNT/${COUNT-0}/" "$root/init"
chmod +x "$root/init"
mknod "$root/dev/console" c 5 1
mknod "$root/dev/null" c 1 3
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initramfs"

mkfifo "$work/monitor.in" "$work/monitor.out"
$machine -m $memory ${disks-} -kernel "$kernel" -initrd "$work/initramfs" -append "console=$console panic=0 ${APPEND-}" \
	-display none -nic none -no-reboot -serial "file:$out.log" -monitor "pipe:$work/monitor" &
cat "$work/monitor.out" >/dev/null &
exec 3>"$work/monitor.in"
for _ in $(seq 300); do
	grep -q '^---.*end Kernel panic\|\] ---\[ end Kernel panic' "$out.log" 2>/dev/null && break
	sleep 1
done
echo stop >&3
dump=$out.vmcore
case ${KDUMP:+kdump}$arch in
kdump*) ;;
mips*) rm -f "$out.ram" && dump="--ram $out.ram@0" && echo "pmemsave 0 $((memory << 20)) \"$out.ram\"" >&3 ;;
*) rm -f "$dump" && echo "dump-guest-memory $dump" >&3 ;;
esac
echo quit >&3
wait %1
if [ -z "${BACKSIGHT-}" ]; then exit; fi
"$BACKSIGHT" bt --user='*' --goroutines=false --sysroot "$root" $dump >"$out.txt" 2>"$out.issues"
awk -v names="$out.names" '
function named(pc,  i) { # the function of the program without symbols
	for (i = 1; i < n && at[i + 1] <= pc; i++);
	return name[i]
}
function ended() {
	if (program == "") return
	threads[program]++; whole[program] += root && !guess
	right[program] += chain ~ /level3 level2 level1 (main|worker|handler) / || chain ~ / main / && chain !~ /level/
	chain = ""
}
BEGIN { while ((getline line < names) > 0) { split(line, w, " "); at[++n] = "0x" w[1]; name[n] = w[3] } }
/^Process / { ended(); sub(".*/", "", $3); next_program = $3; program = "" }
/^Threads? / { ended(); program = next_program; guess = root = 0; chain = " " }
/entered from user space/ { guess = 0; chain = " " }
/^#/ { f = $3; sub(/\+.*/, "", f); sub(/^main\./, "", f); chain = chain (f == "naked" ? named($2) : f) " "; guess += /\?/ }
/stop: root/ { root = 1 }
END { ended(); for (p in threads) print p ": " threads[p] " backtraces, " whole[p] " whole, " right[p] " through level3, level2, level1" }
' "$out.txt" | sort | tee "$out.chains"
