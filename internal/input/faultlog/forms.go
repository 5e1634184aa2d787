package faultlog

import (
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// form is what some words of a line say about a report.
type form struct {
	// words stand in the line.
	words string
	// title and os are of the report: what happened, and what runs there.
	title, os string
	// begins: a report may begin with the line. again: the line begins another report,
	// whatever came before. ends: the report ends with the line.
	begins, again, ends bool
	// cpus is the prefix of the processors' names that the form exists for, "" for any.
	cpus string
	// classic: of ARM's profiles it exists for those with banked registers, A and R.
	classic bool
	// stackAtSP: the first row of memory lies where SP was before the exception, but for
	// the alignment word; SP itself is not printed.
	stackAtSP bool
	// prose: the numbers of the line are no registers.
	prose bool
	// task: the report is of a task that did not crash. bare: nothing of the stack is printed, so that the link register alone tells of
	// a caller.
	task, bare bool
}

// forms are the words of known reports, the more specific first.
var forms = []form{
	// device/dump.h, device/ports/report.h.
	{words: recordMark, title: "dump", begins: true},
	{words: ownReport, title: "fault", begins: true, again: true},
	{words: ownEnd, ends: true},
	{words: "backsight: a fault in the report", ends: true},
	// CmBacktrace, cmb_en_US.h and cmb_zh_CN.h. Chinese comes as UTF-8 or as GBK.
	{words: "Firmware name:", begins: true, again: true, cpus: "arm", stackAtSP: true},
	{words: "固件名称：", begins: true, again: true, cpus: "arm", stackAtSP: true},
	{words: "\xb9\xcc\xbc\xfe\xc3\xfb\xb3\xc6", begins: true, again: true, cpus: "arm", stackAtSP: true},
	{words: "Fault on thread ", title: "fault", begins: true, cpus: "arm", stackAtSP: true},
	{words: "Fault on interrupt or bare metal", title: "fault", begins: true, cpus: "arm", stackAtSP: true},
	{words: "Assert on thread ", title: "assertion", begins: true, cpus: "arm", stackAtSP: true},
	{words: "Assert on interrupt or bare metal", title: "assertion", begins: true, cpus: "arm", stackAtSP: true},
	{words: "中发生断言", title: "assertion", begins: true, cpus: "arm", stackAtSP: true},
	{words: "环境下发生断言", title: "assertion", begins: true, cpus: "arm", stackAtSP: true},
	{words: "在线程(", title: "fault", begins: true, cpus: "arm", stackAtSP: true},
	{words: "在中断或裸机环境下", title: "fault", begins: true, cpus: "arm", stackAtSP: true},
	{words: "===== Thread stack information", begins: true, cpus: "arm", stackAtSP: true},
	{words: "===== Main stack information", begins: true, cpus: "arm", stackAtSP: true},
	{words: "===== 线程堆栈信息", begins: true, cpus: "arm", stackAtSP: true},
	{words: "===== 主堆栈信息", begins: true, cpus: "arm", stackAtSP: true},
	{words: "===== 主栈信息", begins: true, cpus: "arm", stackAtSP: true},
	// Teensy's core: CrashReport.cpp.
	{words: "CrashReport:", title: "crash", os: "Teensy", begins: true, again: true, cpus: "arm"},
	// RvBacktrace.
	{words: "RV_Backtrace Call Frame Start", title: "RvBacktrace", cpus: "riscv", begins: true},
	{words: "RV_Backtrace Call Frame End", ends: true},
	// Zephyr: arch/arm/core/cortex_m/fault.c, kernel/fatal.c.
	{words: "***** BUS FAULT *****", cpus: "arm", title: "bus fault", os: "Zephyr", begins: true, again: true},
	{words: "***** USAGE FAULT *****", cpus: "arm", title: "usage fault", os: "Zephyr", begins: true, again: true},
	{words: "***** MPU FAULT *****", cpus: "arm", title: "MPU fault", os: "Zephyr", begins: true, again: true},
	{words: "***** HARD FAULT *****", cpus: "arm", title: "hard fault", os: "Zephyr", begins: true, again: true},
	{words: "***** SECURE FAULT *****", cpus: "arm", title: "secure fault", os: "Zephyr", begins: true, again: true},
	{words: "***** Reserved Exception", title: "reserved exception", os: "Zephyr", begins: true, again: true},
	{words: "***** Debug monitor exception", title: "debug monitor", os: "Zephyr", begins: true, again: true},
	{words: "***** DATA ABORT *****", title: "data abort", os: "Zephyr", classic: true, begins: true, again: true},
	{words: "***** PREFETCH ABORT *****", title: "prefetch abort", os: "Zephyr", classic: true, begins: true, again: true},
	{words: "***** UNDEFINED INSTRUCTION ABORT *****", title: "undefined instruction", os: "Zephyr", classic: true, begins: true, again: true},
	{words: "Page fault at address 0x", title: "page fault", os: "Zephyr", begins: true, again: true, prose: true},
	{words: ">>> ZEPHYR FATAL ERROR", os: "Zephyr"},
	{words: "#CD:BEGIN#", title: "core dump", os: "Zephyr", begins: true},
	// ESP-IDF: components/esp_system/panic.c.
	{words: "Guru Meditation Error", title: "panic", os: "ESP-IDF", begins: true, again: true},
	{words: "abort() was called at PC", title: "abort", os: "ESP-IDF", begins: true, prose: true},
	{words: "register dump:", os: "ESP-IDF", begins: true},
	{words: "ELF file SHA256:", ends: true},
	// U-Boot: arch/{arm,riscv}/lib/interrupts*.c.
	{words: `"Synchronous Abort" handler`, title: "synchronous abort", os: "U-Boot", cpus: "aarch64", begins: true, again: true, bare: true},
	{words: `"Error" handler, esr`, title: "SError", os: "U-Boot", cpus: "aarch64", begins: true, again: true, bare: true},
	{words: "Unhandled exception: ", title: "exception", os: "U-Boot", cpus: "riscv", begins: true, again: true, bare: true, prose: true},
	{words: "reloc pc : [<", title: "exception", os: "U-Boot", classic: true, bare: true},
	// edk2: ArmPkg/Library/DefaultExceptionHandlerLib, UefiCpuPkg/Library/CpuExceptionHandlerLib.
	{words: "Synchronous Exception at 0x", title: "synchronous exception", os: "UEFI", cpus: "aarch64", begins: true, again: true, bare: true},
	{words: " X64 Exception Type - ", title: "exception", os: "UEFI", cpus: "x86_64", begins: true, again: true, bare: true, prose: true},
	{words: " IA32 Exception Type - ", title: "exception", os: "UEFI", cpus: "i386", begins: true, again: true, bare: true, prose: true},
	{words: " RISCV64 Exception Type - ", title: "exception", os: "UEFI", cpus: "riscv64", begins: true, again: true, bare: true, prose: true},
	// TF-A: bl31/aarch64/crash_reporting.S, bl32. OP-TEE: core/arch/arm/kernel/abort.c.
	{words: "nhandled Exception in EL3", title: "exception in EL3", os: "TF-A", cpus: "aarch64", begins: true, again: true, bare: true},
	{words: "nhandled Exception from EL", title: "exception", os: "TF-A", cpus: "aarch64", begins: true, again: true, bare: true},
	{words: "BACKTRACE: START: ", title: "backtrace", os: "TF-A", cpus: "aarch64", begins: true, bare: true},
	{words: "PANIC in EL3", title: "panic in EL3", os: "TF-A", cpus: "aarch64", begins: true, again: true, bare: true},
	{words: "PANIC at PC : 0x", title: "panic", os: "TF-A", cpus: "aarch64", begins: true, again: true, bare: true},
	{words: "data-abort at address 0x", title: "data abort", os: "OP-TEE", begins: true, again: true, bare: true, prose: true},
	{words: "prefetch-abort at address 0x", title: "prefetch abort", os: "OP-TEE", begins: true, again: true, bare: true, prose: true},
	{words: "undef-abort at address 0x", title: "undefined instruction", os: "OP-TEE", begins: true, again: true, bare: true, prose: true},
	// Xen: xen/arch/*/traps.c.
	{words: "----[ Xen-", os: "Xen", begins: true, again: true},
	{words: "FATAL PAGE FAULT", title: "page fault"}, {words: "FATAL TRAP: ", title: "trap"},
	// QNX: the kernel's dump, and slogger's line of a program that ended.
	{words: "QNX Version ", title: "shutdown", os: "QNX", begins: true, again: true, prose: true},
	{words: ") terminated SIG", title: "terminated", os: "QNX", begins: true, again: true, prose: true},
	// PMON, OpenTitan (sw/device/lib/testing/test_framework/ottf_isrs.c), Verix.
	{words: "Exception Epc=", title: "exception", os: "PMON", cpus: "mips", begins: true, again: true},
	{words: "===== Exception Frame @ ", title: "exception", os: "OpenTitan", cpus: "riscv", begins: true, again: true, prose: true},
	{words: "VERIX TERMINAL MGR ERR", title: "error", os: "Verix", classic: true, begins: true, again: true, bare: true},
	// RT-Thread: libcpu/arm/cortex-m*/cpuport.c, libcpu/risc-v.
	{words: "hard fault on thread:", title: "hard fault", os: "RT-Thread", begins: true},
	{words: "hard fault on handler", title: "hard fault in a handler", os: "RT-Thread", begins: true},
	{words: "Unhandled Exception ", title: "exception", os: "RT-Thread", begins: true},
	{words: "unhandled trap", title: "trap", os: "RT-Thread", begins: true},
	// NuttX: sched/misc/assert.c, arch/*/src/common/*_hardfault.c.
	{words: "PANIC!!! Hard Fault", cpus: "arm", title: "hard fault", os: "NuttX", begins: true},
	{words: "_hardfault:", cpus: "arm", title: "hard fault", os: "NuttX", begins: true},
	{words: "_taskdump: ", title: "task", os: "NuttX", begins: true, again: true, task: true},
	{words: "file:armv7-a/", title: "assertion", os: "NuttX", classic: true, begins: true},
	{words: "file:armv7-r/", title: "assertion", os: "NuttX", classic: true, begins: true},
	{words: "file:armv8-r/", title: "assertion", os: "NuttX", classic: true, begins: true},
	{words: "-m/arm_", title: "assertion", os: "NuttX", cpus: "arm", begins: true},
	{words: "up_assert:", title: "assertion", os: "NuttX", begins: true},
	{words: "_assert: Assertion failed", title: "assertion", os: "NuttX", begins: true},
	{words: "_assert_info: Assertion failed", title: "assertion", os: "NuttX", begins: true},
	{words: "_registerdump:", os: "NuttX", begins: true},
	{words: "dump_register:", os: "NuttX", begins: true},
	// Mbed OS: platform/cxxsupport, mbed_fault_handler.c.
	{words: "++ MbedOS Fault Handler ++", os: "Mbed OS", begins: true, again: true},
	{words: "-- MbedOS Fault Handler --", ends: true},
	{words: "FaultType: HardFault", title: "hard fault"},
	{words: "FaultType: MemManageFault", title: "memory management fault"},
	{words: "FaultType: BusFault", title: "bus fault"},
	{words: "FaultType: UsageFault", title: "usage fault"},
	// Rust: cortex-m-rt, panic-probe, probe-rs.
	{words: "HardFaultTrampoline", title: "hard fault", cpus: "arm"},
	{words: "cortex_m_rt", cpus: "arm"},
	{words: "panicked at ", title: "panic"},
	// TinyGo: runtime_cortexm_hardfault.go, runtime_tinygoriscv.go.
	{words: " with sp=", title: "fault", begins: true},
	{words: "exception with mcause=", title: "exception", begins: true},
	{words: "panic: runtime error at ", title: "panic", begins: true},
	// nRF5 SDK: hardfault_implementation.c.
	{words: "HARD FAULT at ", title: "hard fault", cpus: "arm", begins: true},
	// Hooks of kernels.
	{words: "STACK OVERFLOW", title: "stack overflow", begins: true, prose: true},
	{words: "Stack overflow", title: "stack overflow", begins: true, prose: true},
	{words: "stack overflow", title: "stack overflow", begins: true, prose: true},
	// The general case.
	{words: "HardFault", title: "hard fault", begins: true},
	{words: "Hard fault handler", title: "hard fault", begins: true},
	{words: "hard fault", title: "hard fault"},
	{words: "BusFault", title: "bus fault", begins: true},
	{words: "UsageFault", title: "usage fault", begins: true},
	{words: "MemManage", title: "memory management fault", begins: true},
	{words: "Assertion failed", title: "assertion"},
	{words: "assertion failed", title: "assertion"},
	{words: " trap: ", title: "trap", begins: true}, {words: "trap: mcause", title: "trap", begins: true}, {words: "trap: mepc", title: "trap", begins: true}, // no Bootstrap
	{words: "END OF REPORT", ends: true},
}

// formOf is what the words of a line say.
func formOf(line string) (f form, ok bool) {
	if i := formPhrases.First(line); i >= 0 {
		return forms[i], true
	}
	return f, false
}

// formPhrases are the words of the forms.
var formPhrases = phrases.List{Phrases: func() []string { return phrases.Of(forms, func(f *form) string { return f.words }) }}

// merge adds what another line says. What was said first stays.
func (f *form) merge(g form) {
	if f.title == "" {
		f.title = g.title
	}
	if f.os == "" {
		f.os = g.os
	}
	if f.cpus == "" {
		f.cpus = g.cpus
	}
	f.begins = f.begins || g.begins
	f.again = f.again || g.again
	f.classic = f.classic || g.classic
	f.stackAtSP = f.stackAtSP || g.stackAtSP
	f.task = f.task || g.task
	f.bare = f.bare || g.bare
}

// threadName reads the name of the thread that crashed.
func threadName(line string) (string, bool) {
	if _, rest, ok := strings.Cut(line, "_taskdump: "); ok {
		name, _, named := strings.Cut(rest, ": PID=")
		return name, named
	}
	for _, mark := range [...]struct{ before, behind string }{
		{"Fault on thread ", ""}, {"Assert on thread ", ""}, {"在线程(", ")"}, {"hard fault on thread: ", ""}, {"Current thread: ", ""},
		{`Detected in task "`, `"`},
		{" task: ", " process: "}, {"Thread: ", " backtrace"},
	} {
		_, rest, ok := strings.Cut(line, mark.before)
		if !ok {
			continue
		}
		if i := strings.IndexByte(rest, '('); i >= 0 && strings.HasPrefix(rest, "0x") { // Zephyr: 0x20000648 (main)
			rest = strings.TrimSuffix(rest[i+1:], ")")
		}
		if mark.behind != "" {
			rest, _, _ = strings.Cut(rest, mark.behind)
		}
		if rest = strings.TrimSpace(rest); rest != "" && rest != "unknown" && len(rest) <= 64 {
			return rest, true
		}
	}
	return "", false
}

// title says what the report is.
func (w *words) title() string {
	title := w.form.title
	if title == "" {
		title = "fault"
	}
	if w.thread != "" {
		title += " in " + w.thread
	}
	return title + w.own.state()
}
