package faultlog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/internal/signals"
	"github.com/backsight/backsight/target"
)

// fault says why the report was made.
func (w *words) fault(arch *cpu.Arch) *target.Fault {
	if f := w.own.signal; f.Signal != 0 {
		f.Name = cmp.Or(signals.Name(f.Signal, strings.HasPrefix(arch.Name, "mips")), fmt.Sprintf("signal %d", f.Signal))
		f.HasAddress = f.HasAddress && signals.HasAddress(f.Name, f.Code)
		return &f
	}
	f := &target.Fault{Name: w.form.title}
	if f.Name == "" {
		f.Name = "fault"
	}
	if arch.Micro() {
		status := w.vals.faultStatus(w.said)
		reasons := status.Reasons()
		if w.overflow {
			reasons = append(reasons, "stack overflow, as the device found")
		}
		f.Status = strings.Join(reasons, "; ")
		f.Address, f.HasAddress = status.Address()
		return f
	}
	var text string
	var addressed bool
	var address uint64
	switch {
	case arch.Name == nameXtensa:
		text, address, addressed = w.xtensa()
	case strings.HasPrefix(arch.Name, "mips"):
		text, address, addressed = w.vals.mips()
	case strings.HasPrefix(arch.Name, "riscv"):
		text, address, addressed = w.vals.riscv()
	default:
		text, address, addressed = w.vals.syndrome(arch)
	}
	if w.said.panic != "" && (text == "" || strings.HasPrefix(text, ownCause)) {
		text = strings.TrimPrefix(text+": "+w.said.panic, ": ")
	}
	f.Status = text
	if addressed {
		f.Address, f.HasAddress = address&arch.AddrMask(), true
	}
	return f
}

// sentence is what is printed in the place of bits of CFSR or HFSR.
type sentence struct {
	text string
	bits uint64
}

// sentences are what Zephyr prints in the place of CFSR, one for each bit (arch/arm/core/
// cortex_m/fault.c). Memory management and bus faults have some in common.
var sentences = []sentence{
	{"Instruction Access Violation", 1 << 0}, {"Data Access Violation", 1 << 1}, {"MMFAR Address: ", cortexm.MMARValid},
	{"Instruction bus error", 1 << 8}, {"Imprecise data bus error", 1 << 10}, {"Precise data bus error", 1 << 9}, {"BFAR Address: ", cortexm.BFARValid},
	{"Attempt to execute undefined instruction", 1 << 16}, {"Illegal use of the EPSR", 1 << 17}, {"Illegal load of EXC_RETURN into PC", 1 << 18},
	{"No coprocessor instructions", 1 << 19}, {"Stack overflow (context area not valid)", 1 << 20},
	{"Unaligned memory access", 1 << 24}, {"Division by zero", 1 << 25},
	{"Unstacking error", 0}, {"Stacking error", 1<<4 | 1<<12}, {"Floating-point lazy state preservation error", 1<<5 | 1<<13},
}

// causedBy are what CmBacktrace prints in the place of CFSR and HFSR (cmb_en_US.h, cmb_zh_CN_UTF8.h), one for each bit. Those of
// HFSR are shifted.
var causedBy = []sentence{
	{"Hard fault is caused by failed vector fetch", vectorTable}, {"取中断向量时出错", vectorTable},
	{"Memory management fault is caused by instruction access violation", 1 << 0}, {"允许访问的区域取指令", 1 << 0},
	{"Memory management fault is caused by data access violation", 1 << 1}, {"允许访问的区域读、写数据", 1 << 1},
	{"Memory management fault is caused by unstacking error", 1 << 3}, {"出栈时企图访问不被允许的区域", 1 << 3},
	{"Memory management fault is caused by stacking error", 1 << 4}, {"入栈时企图访问不被允许的区域", 1 << 4},
	{"Memory management fault is caused by floating-point lazy", 1 << 5}, {"存储器管理错误，原因：惰性保存浮点状态", 1 << 5},
	{"The memory management fault occurred address is ", cortexm.MMARValid}, {"发生存储器管理错误的地址", cortexm.MMARValid},
	{"Bus fault is caused by instruction access violation", 1 << 8}, {"发生总线错误，原因：指令总线错误", 1 << 8},
	{"Bus fault is caused by precise data access violation", 1 << 9}, {"发生总线错误，原因：精确的数据总线错误", 1 << 9},
	{"Bus fault is caused by imprecise data access violation", 1 << 10}, {"发生总线错误，原因：不精确的数据总线错误", 1 << 10},
	{"Bus fault is caused by unstacking error", 1 << 11}, {"发生总线错误，原因：出栈时发生错误", 1 << 11},
	{"Bus fault is caused by stacking error", 1 << 12}, {"发生总线错误，原因：入栈时发生错误", 1 << 12},
	{"Bus fault is caused by floating-point lazy", 1 << 13}, {"发生总线错误，原因：惰性保存浮点状态", 1 << 13},
	{"The bus fault occurred address is ", cortexm.BFARValid}, {"发生总线错误的地址", cortexm.BFARValid},
	{"Usage fault is caused by attempts to execute an undefined instruction", 1 << 16}, {"企图执行未定义指令", 1 << 16},
	{"Usage fault is caused by attempts to switch to an invalid state", 1 << 17}, {"试图切换到 ARM 状态", 1 << 17},
	{"bad value in the EXC_RETURN number", 1 << 18}, {"无效的异常返回码", 1 << 18},
	{"Usage fault is caused by attempts to execute a coprocessor instruction", 1 << 19}, {"企图执行协处理器指令", 1 << 19},
	{"硬件检测到栈溢出", 1 << 20}, {"that an unaligned access fault has taken place", 1 << 24}, {"企图执行非对齐访问", 1 << 24},
	{"ndicates a divide by zero has taken place", 1 << 25}, {"企图执行除 0 操作", 1 << 25},
}

// vectorTable is HFSR.VECTTBL.
const (
	hardShift   = 32
	vectorTable = 1 << 1 << hardShift
)

var causePhrases = phrases.List{Phrases: func() []string { return phrases.Of(causedBy, func(c *sentence) string { return c.text }) }}

// takeCause takes the bit that a line of CmBacktrace says.
func (s *said) takeCause(line string) bool {
	i := causePhrases.First(line)
	if i >= 0 {
		s.bits |= causedBy[i].bits
	}
	return i >= 0
}

// said is what a report says in sentences: bits of CFSR and HFSR, bus: of a bus fault; why ESP-IDF stopped.
type said struct {
	bits  uint64
	bus   bool
	panic string
}

// panics are where firmware says in words why it stopped, which registers do not always tell: watchdogs and the stack's protection
// have causes of a chip's own.
var panics = []struct{ before, behind string }{
	{"panic'ed (", ")"},                  // Guru Meditation Error: Core  0 panic'ed (Stack protection fault).
	{"Unhandled exception: ", ""},        // U-Boot: Unhandled exception: Load access fault
	{" Exception Type - ", "  CPU Apic"}, // edk2: !!!! X64 Exception Type - 0E(#PF - Page-Fault)  CPU Apic ID - 00000000 !!!!
	{"-abort at ", ""},                   // OP-TEE: Core data-abort at address 0x20 (translation fault)
	{"] FAULT: ", ". "},                  // OpenTitan
}

// takePanic takes these words.
func (s *said) takePanic(line string) {
	for _, p := range panics {
		_, rest, ok := strings.Cut(line, p.before)
		if !ok || s.panic != "" {
			continue
		}
		rest = rest[:min(len(rest), maxPanic)]
		if p.behind != "" {
			rest, _, _ = strings.Cut(rest, p.behind)
		}
		s.panic = strings.TrimSpace(strings.TrimRight(rest, "! "))
	}
}

// maxPanic bounds such words in bytes.
const maxPanic = 64

// take takes the bits of CFSR that a line says. Of those that two faults have in common the
// fault's own counts, whose name stands before.
func (s *said) take(line string) {
	s.bus = s.bus || strings.Contains(line, "BUS FAULT")
	for _, sentence := range sentences {
		if !strings.Contains(line, sentence.text) {
			continue
		}
		bits := sentence.bits
		if memory, bus := bits&0xff, bits&0xff00; memory != 0 && bus != 0 {
			if bits = memory; s.bus {
				bits = bus
			}
		}
		s.bits |= bits
		return
	}
}

// overflowed reads the name of the task that a kernel or its hook found to have overflowed:
//
//	STACK OVERFLOW in net                                          a hook of FreeRTOS
//	***ERROR*** A stack overflow in task net has been detected.    ESP-IDF
//	thread:net stack overflow                                      RT-Thread
func overflowed(line string) (name string, ok bool) {
	i := strings.Index(strings.ToLower(line), overflowWords)
	if i < 0 {
		return "", false
	}
	if _, before, is := strings.Cut(line[:i], "thread:"); is {
		name = strings.TrimSpace(before)
	} else {
		rest := strings.Fields(line[i+len(overflowWords):])
		for len(rest) > 0 && slices.Contains(overflowProse, strings.ToLower(strings.Trim(rest[0], ":,!"))) {
			rest = rest[1:]
		}
		if len(rest) > 0 {
			name = strings.Trim(rest[0], `:,.!"'()`)
		}
	}
	return name, name != "" && len(name) <= maxPanic
}

const overflowWords = "stack overflow"

// overflowProse stands between these words and a task's name.
var overflowProse = []string{"", "in", "of", "at", "by", "on", "detected", "task", "thread", "the", "-"}

// takeStack takes what CmBacktrace says of a stack that overflowed, in 1.4 with its bounds:
//
//	stack_pointer: 0x1fffb950, stack_start_addr: 0x20002530, stack_end_addr: 0x20002b6c
//	Error: Thread stack(1fffb950) was overflow
//
// and ESP-IDF of a stack whose bounds the processor watches:
//
//	Stack bounds: 0x4082b090 - 0x4082c280
func (w *words) takeStack(line string) {
	if strings.Contains(line, "stack(") && strings.Contains(line, "was overflow") || strings.Contains(line, "栈(") && strings.Contains(line, "溢出") {
		w.overflow = true
	}
	if name, ok := overflowed(line); ok && !w.overflow {
		w.overflow = true
		if w.thread == "" {
			w.thread = name
		}
	}
	for _, form := range [...]struct{ lo, hi string }{{"stack_start_addr: ", ", stack_end_addr: "}, {"Stack bounds: ", " - "}} {
		if _, rest, ok := strings.Cut(line, form.lo); ok {
			lo, hi, _ := strings.Cut(rest, form.hi)
			a, ok1 := firstHex(lo)
			b, ok2 := firstHex(hi)
			if ok1 && ok2 && a < b {
				w.stack = target.Range{Lo: a, Hi: b}
			}
		}
	}
}
