package rtos

import (
	"fmt"
	"strings"
)

// The kernels, as target.Snapshot.OS has them.
const (
	freeRTOS = "FreeRTOS"
	rtThread = "RT-Thread"
	threadX  = "ThreadX"
	rtx5     = "RTX5"
	chibiOS  = "ChibiOS"
	zephyr   = "Zephyr"
	nuttX    = "NuttX"
	riot     = "RIOT"
	mynewt   = "Mynewt"
)

// stateReaders are asked in order, until one knows the control blocks. NuttX' before 10.3 are known by their layout alone (nuttx.go).
func stateReaders() []stateReader {
	return []stateReader{
		{kernel: freeRTOS, is: func(_ *ram, _ []*Task, sh shape) bool { return sh.owner > 0 }, read: statesFreeRTOS},
		{kernel: threadX, marked: isThreadX, bounds: shape{lo: 1, other: 3}, name: nameAt{word: 8}, read: statesThreadX},
		{kernel: rtx5, marked: isRTX, bounds: shape{lo: -2, other: -1}, name: nameAt{word: -13}, read: statesRTX},
		{kernel: rtThread, name: nameAt{side: -1}, marked: isRTThread, bounds: shape{lo: 3, other: 4}, is: areRTThread, read: statesRTThread},
		{kernel: chibiOS, is: func(_ *ram, _ []*Task, sh shape) bool { return sh.top }, learn: marksChibiOS, read: statesChibiOS},
		{kernel: riot, name: nameAt{side: 1}, is: func(_ *ram, _ []*Task, sh shape) bool { return sh.inside }, learn: marksRIOT, read: statesRIOT},
		{kernel: mynewt, name: nameAt{word: mynewtName}, is: areMynewt, learn: marksMynewt, read: statesMynewt},
		{kernel: nuttX, name: nameAt{side: 1}, is: areNuttX, learn: marksNuttX, read: statesNuttX},
		{kernel: zephyr, name: nameAt{side: 1}, is: isZephyr, learn: marksZephyr, read: statesZephyr},
	}
}

// layouts are those of the ports, from their documentation and their context switches. Of
// two that fit a task equally well the first counts.
func layouts() []layout {
	return append([]layout{
		// FreeRTOS, portable/GCC/ARM_CM0 before 11.1, ARM_CM3; Keil RTX5 without floating point; RT-Thread,
		// libcpu/arm/cortex-m0, -m3.
		{kernel: freeRTOS, cpus: "arm", micro: true, saved: words("r4-r11 frame")},
		// Keil RTX5, irq_armv7m.S, with floating point: s16–s31 below r4–r11, EXC_RETURN in the
		// control block.
		{kernel: rtx5, cpus: "arm", micro: true, saved: words("floats r4-r11 frame"), returnAt: -22},
		// FreeRTOS, ARM_CM4F, ARM_CM7: stmdb {r4-r11, r14} below s16–s31; ARM_CM0 since 11.1; with MPU before 10.6:
		// CONTROL first.
		{kernel: freeRTOS, cpus: "arm", micro: true, saved: words("r4-r11 exc floats frame")},
		{kernel: freeRTOS, cpus: "arm", micro: true, owned: true, saved: words("exc r4-r11 frame")},
		{kernel: freeRTOS, cpus: "arm", micro: true, owned: true, saved: words("- r4-r11 frame")},
		{kernel: freeRTOS, cpus: "arm", micro: true, owned: true, saved: words("- r4-r11 exc floats frame")},
		// FreeRTOS, ARM_CM23, ARM_CM33, non-secure or without TrustZone: PSPLIM, LR first.
		{kernel: freeRTOS, cpus: "arm", micro: true, saved: words("- exc r4-r11 floats frame")},
		// FreeRTOS, ARM_CM33 with TrustZone: the secure context first; with MPU before 10.6: CONTROL.
		{kernel: freeRTOS, cpus: "arm", micro: true, saved: words("context - exc r4-r11 floats frame")},
		{kernel: freeRTOS, cpus: "arm", micro: true, owned: true, saved: words("context - - exc r4-r11 floats frame")},
		// FreeRTOS with MPU since 10.6, in the control block with a copy of the frame: ARM_CM33; with keys for signed
		// return addresses behind; ARM_CM3_MPU, ARM_CM4_MPU; ARM_CM0.
		{kernel: freeRTOS, cpus: "arm", micro: true, owned: true, ends: true, saved: words("r4-r11 copy psp - - exc frame")},
		{kernel: freeRTOS, cpus: "arm", micro: true, owned: true, ends: true, saved: words("r4-r11 copy psp - - exc -4 frame")},
		{kernel: freeRTOS, cpus: "arm", micro: true, owned: true, ends: true, saved: words("- r4-r11 exc psp copy frame")},
		{kernel: freeRTOS, cpus: "arm", micro: true, owned: true, ends: true, saved: words("r4-r11 copy psp - exc frame")},
		// RT-Thread, cortex-m33: struct stack_frame: the secure context, LR, PSPLIM, CONTROL.
		{kernel: rtThread, cpus: "arm", micro: true, saved: words("context exc - - r4-r11 floats frame")},
		// RT-Thread, cortex-m4, cortex-m7: a flag, 0 or 1, whether there are s16–s31. ThreadX,
		// cortex_m3 and later: LR, then s16–s31 below r4–r11.
		{kernel: rtThread, cpus: "arm", micro: true, saved: words("flag r4-r11 flagfloats frame")},
		{kernel: threadX, cpus: "arm", micro: true, saved: words("exc floats r4-r11 frame")},
		// RIOT, cpu/cortexm_common/thread_arch.c: as FreeRTOS, ARM_CM4F; Cortex-M0.
		{kernel: riot, cpus: "arm", micro: true, saved: words("r4-r11 exc floats frame")},
		{kernel: riot, cpus: "arm", micro: true, saved: words("r8-r11 r4-r7 exc frame")},
		// Mynewt, kernel/os/src/arch: cortex_m3, and cortex_m0; cortex_m4, cortex_m7 and, with the bit of EXC_RETURN alone, cortex_m33
		// with floating point.
		{kernel: mynewt, cpus: "arm", micro: true, saved: words("r4-r11 frame")},
		{kernel: mynewt, cpus: "arm", micro: true, saved: words("r4-r11 exc floats frame")},
		{kernel: mynewt, cpus: "arm", micro: true, saved: words("ftype r4-r11 floats frame")},
		// ThreadX, cortex_m0.
		{kernel: threadX, cpus: "arm", micro: true, saved: words("exc r8-r11 r4-r7 frame")},
		// NuttX, arch/arm/include/armv7-m/irq.h and armv8-m: SP, PRIMASK or BASEPRI, r4–r11;
		// since 12.0 CONTROL; EXC_RETURN, which old flat builds leave out. With floating point
		// there is room for s16–s31, whether they were saved or not.
		{kernel: nuttX, cpus: "arm", micro: true, saved: words("- - r4-r11 - exc frame")},
		{kernel: nuttX, cpus: "arm", micro: true, saved: words("- - r4-r11 - exc -16 frame")},
		{kernel: nuttX, cpus: "arm", micro: true, saved: words("- - r4-r11 exc frame")},
		{kernel: nuttX, cpus: "arm", micro: true, saved: words("- - r4-r11 exc -16 frame")},
		{kernel: nuttX, cpus: "arm", micro: true, saved: words("- - r4-r11 frame")},
		// Zephyr: struct _callee_saved of the thread: v1–v8, PSP.
		{kernel: zephyr, cpus: "arm", micro: true, saved: words("frame"), before: words("r4-r11")},
		// ChibiOS, ARMCMx: struct port_intctx without floating point; the switch is a call.
		{kernel: chibiOS, cpus: "arm", micro: true, saved: words("r4-r11 pc")},
		// With it: s16–s31 first.
		{kernel: chibiOS, cpus: "arm", micro: true, saved: words("-16 r4-r11 pc")},
		// FreeRTOS, portable/GCC/ARM_CR5, ARM_CA9: whether there are floating-point registers, here
		// none; the nesting; what SRSDB pushed.
		{kernel: freeRTOS, cpus: "arm", saved: words("zero - r0-r12 lr pc cpsr")},
		// RT-Thread, libcpu/arm/cortex-a, cortex-r4: rt_hw_stack_init, without floating point.
		{kernel: rtThread, cpus: "arm", saved: words("cpsr r0-r12 lr pc")},
		// NuttX, arch/risc-v/include/irq.h: EPC, x1–x31 with SP among them, the status. RT-Thread has
		// the same registers, and no SP in the third word.
		{kernel: nuttX, cpus: "riscv", saved: words("pc ra sp - - t0-t2 s0-s1 a0-a7 s2-s11 t3-t6")},
		// RT-Thread, libcpu/risc-v: struct rt_hw_stack_frame. Kernels that switch by calls only
		// have the same without mstatus.
		{kernel: rtThread, cpus: "riscv", saved: words("pc ra - - - t0-t2 s0-s1 a0-a7 s2-s11 t3-t6")},
		// Zephyr: struct _callee_saved: SP, since 3.1 RA, s0–s11. Before, the switch was a trap, which saved a struct __esf of exp.h, with gp
		// before 2.7.
		{kernel: zephyr, cpus: "riscv", after: words("pc s0-s11")},
		{kernel: zephyr, cpus: "riscv", saved: words("ra tp t0-t6 a0-a7 pc mstatus -"), after: words("s0-s11")},
		{kernel: zephyr, cpus: "riscv", saved: words("ra gp tp t0-t6 a0-a7 pc mstatus"), after: words("s0-s11")},
		// ThreadX, ports/risc-v64: tx_thread_system_return.S, which is called, and tx_thread_context_save.S, without floating point.
		{kernel: threadX, cpus: "riscv", saved: words("zero s11 s10 s9 s8 s7 s6 s5 s4 s3 s2 s1 s0 pc - -"),
			preempted: words("- s11 s10 s9 s8 s7 s6 s5 s4 s3 s2 s1 s0 t6 t5 t4 t3 t2 t1 t0 a7 a6 a5 a4 a3 a2 a1 a0 ra - pc -")},
		// Mynewt, kernel/os/src/arch/rv32imac/ctx.s.
		{kernel: mynewt, cpus: "riscv32", saved: words("pc s0-s11 ra - - t0-t6 a0-a7")},
		// FreeRTOS, portable/MPLAB/PIC32MX/ISR_Support.h.
		{kernel: freeRTOS, cpus: "mips", saved: words("- - - - - s0-s7 v0-v1 a0-a3 t0-t9 s8 ra pc -")},
	}, freeRTOSRISCV()...)
}

// freeRTOSRISCV are the contexts of FreeRTOS, portable/GCC/RISC-V/portContext.h: since 11.3 mstatus stands in front, and the
// registers of floating point and vectors behind it where they were in use; since 10.5 the nesting was saved before
// mstatus, until then not at all. RV32E has fewer registers.
func freeRTOSRISCV() (out []layout) {
	for _, set := range [...]struct {
		cpus, regs string
		embedded   bool
	}{{"riscv", "ra t0-t2 s0-s1 a0-a7 s2-s11 t3-t6", false}, {"riscv32", "ra t0-t2 s0-s1 a0-a5", true}} {
		for _, form := range [...]string{"pc %s nesting mstatus", "pc %s mstatus", "pc mstatus %s nesting", "pc mstatus fs4 %s nesting",
			"pc mstatus fs8 %s nesting", "pc mstatus vs16 %s nesting", "pc mstatus vs16 fs4 %s nesting", "pc mstatus vs16 fs8 %s nesting"} {
			out = append(out, layout{kernel: freeRTOS, cpus: set.cpus, saved: words(fmt.Sprintf(form, set.regs)), embedded: set.embedded,
				owned: set.embedded || strings.HasPrefix(form, "pc mstatus")})
		}
	}
	// ESP-IDF, components/riscv/include/riscv/rvruntime-frames.h, as far as the entry of interrupts saves that.
	return append(out, layout{kernel: freeRTOS, cpus: "riscv32", owned: true, saved: words("pc ra sp - - t0-t2 s0-s1 a0-a7 s2-s11 t3-t6")})
}
