#!/usr/bin/env bash
# Builds the firmware for each processor and kernel, runs each scenario in each form under
# QEMU, and keeps what was printed and all of RAM behind the report. An argument is a pattern of
# names: make.sh 'm3-*'.
# Debian 12: gcc-arm-none-eabi, gcc-riscv64-unknown-elf, gcc-mips-linux-gnu, qemu-system-arm,
# qemu-system-misc, qemu-system-mips.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
common="-Os -g1 -std=gnu11 -ffreestanding -nostdlib -ffunction-sections -Wl,--gc-sections -fno-builtin -Wall -Wno-main -Wno-array-bounds"

build() { # name, kernel (freertos, …), compiler, objcopy, source, script, flags
	local name=$1 kernel=$2 cc=$3 copy=$4 source=$5 script=$6; shift 6
	[[ $kernel == *11 ]] && kernel=${kernel%11} && set -- "$@" -DSINCE11
	$cc "$@" $common -DRTOS=${kernel^^} -T "$script" -o "$work/$name.elf" "$source" -lgcc
	$copy --strip-debug "$work/$name.elf" "$name.elf"
}
run() { # name, scenario, form, machine…
	local name=$1 scenario=$2 form=$3; shift 3
	(cd "$work" && rm -f ram.bin && timeout 30 "$@" -nographic -monitor none -serial none \
		-semihosting-config "enable=on,target=native,arg=fw,arg=$scenario,arg=$form" -kernel "$name.elf" 2>&1) > "$work/$name/$scenario.$form.log" || true
	[ "$form" != plain ] || mv "$work/ram.bin" "$work/$name/$scenario.ram"
}
pack() { # name: all captures in one file
	rm -f "$1.zip"
	(cd "$work/$1" && python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
    for name in sorted(sys.argv[2:]): z.writestr(zipfile.ZipInfo(name), open(name, "rb").read(), zipfile.ZIP_DEFLATED, 9)' "$here/$1.zip" *)
}
wanted() { [[ $1 == $only ]]; }
only=${1:-*}
scenarios="read leaf null wild float deep large interrupt nested startup"
fewer="read null float interrupt lazy chained startup" # for kernels that differ in layouts only
declare -A more=([zephyr]=" runaway") # whose stacks lie one on the other

cortexm() { # kernel, CPU, scenarios, forms
	wanted $2-$1 || return 0
	local kernel=$1 cpu=$2 name=$2-$1 machine flags at="-Wl,--defsym=FLASH=0 -Wl,--defsym=RAM=0x20000000"
	mkdir -p "$work/$name"
	machine="qemu-system-arm -M mps2-an385"; flags="-mcpu=cortex-m3"
	[ $cpu = m4f ] && machine="qemu-system-arm -M mps2-an386" && flags="-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
	[ $cpu = m33 ] && machine="qemu-system-arm -M mps2-an505" && flags="-mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16" && at="-Wl,--defsym=FLASH=0x10000000 -Wl,--defsym=RAM=0x38000000"
	[[ $3 == "$fewer"* ]] && flags="$flags -ffixed-r9"
	build $name $kernel arm-none-eabi-gcc arm-none-eabi-objcopy arm.c arm.ld -mthumb $flags $at
	for s in $3; do for f in $4; do run $name $s $f $machine; done; done
	pack $name
}
riscv() { # kernel, CPU, scenarios, forms
	wanted $2-$1 || return 0
	local kernel=$1 cpu=$2 name=$2-$1 machine flags
	mkdir -p "$work/$name"
	machine="qemu-system-riscv32 -M virt -bios none"; flags="-march=rv32imac -misa-spec=2.2 -mabi=ilp32"
	[ $cpu = rv64 ] && machine="qemu-system-riscv64 -M virt -bios none" && flags="-march=rv64imac -misa-spec=2.2 -mabi=lp64 -mcmodel=medany"
	[[ $3 == "$fewer"* ]] && flags="$flags -ffixed-x27"
	build $name $kernel riscv64-unknown-elf-gcc riscv64-unknown-elf-objcopy riscv.c riscv.ld $flags
	for s in $3; do [[ $s == @(float|lazy|chained) ]] || for f in $4; do run $name $s $f $machine; done; done
	pack $name
}
for kernel in threadx rtx5 nuttx zephyr chibios; do
	for cpu in m3 m4f m33; do
		[[ $kernel-$cpu == @(nuttx|chibios)-m33 ]] || cortexm $kernel $cpu "$fewer${more[$kernel]:-}" plain
	done
done
for cpu in m3 rv32 rv64; do # -DSINCE11: contexts and control blocks of later versions
	port=cortexm; [[ $cpu == rv* ]] && port=riscv
	$port freertos11 $cpu "read interrupt overflow" plain
done
for kernel in nuttx zephyr; do
	for cpu in rv32 rv64; do riscv $kernel $cpu "$fewer${more[$kernel]:-}" plain; done
done
for kernel in freertos rtthread; do
	for cpu in m3 m4f m33; do cortexm $kernel $cpu "$scenarios lazy" "plain cmbacktrace zephyr nuttx rtthread mbed words"; done
	for cpu in rv32 rv64; do riscv $kernel $cpu "$scenarios" "plain rvbacktrace zephyr nuttx esp"; done
	wanted a15-$kernel || continue
	name=a15-$kernel; mkdir -p "$work/$name"
	build $name $kernel arm-none-eabi-gcc arm-none-eabi-objcopy classic.c classic.ld -mcpu=cortex-a15 -marm -mfloat-abi=soft -mno-unaligned-access
	for s in ${scenarios/null /}; do for f in plain zephyr nuttx; do run $name $s $f qemu-system-arm -M virt -nic none -cpu cortex-a15; done; done
	pack $name
done
wanted malta-freertos || exit 0
name=malta-freertos; mkdir -p "$work/$name"
build $name freertos mips-linux-gnu-gcc mips-linux-gnu-objcopy mips.c mips.ld -EB -mips32r2 -mfp32 -mno-abicalls -fno-pic -fno-pie -no-pie -static -G0 -Wl,--build-id=none -Wl,-z,max-page-size=4096
for s in $scenarios; do for f in plain words; do run $name $s $f qemu-system-mips -M malta -cpu 24Kf -icount shift=3; done; done
pack $name
