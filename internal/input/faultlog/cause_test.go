package faultlog

import (
	"context"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// causeTests are a report's status registers, behind the other ones, and what they say.
var causeTests = []struct {
	name, regs, text, want string
	addr                   uint64
}{
	{"mcause, mtval", riscvRegs, "mcause 5 mtval 10\n", "read was refused, at 0x10", 0x10},
	{"mcause in 64 bits", riscvRegs, "MCAUSE: 000000000000000f MTVAL: 0000000000001230\n", "write to a page that is not there or read-only, at 0x1230", 0x1230},
	{"mstatus: user mode", riscvRegs, "mcause 7 mtval 20 mstatus 00000080\n", "write was refused, at 0x20, in user mode", 0x20},
	{"mstatus: machine mode", riscvRegs, "mcause 7 mtval 20 mstatus 00001880\n", "write was refused, at 0x20", 0x20},
	{"mtval: the instruction", riscvRegs, "mcause 2 mtval ffffffff\n", "illegal instruction: 0xffffffff", 0},
	{"mcause of a CLIC", riscvRegs, "MCAUSE  : 0x38000005 MTVAL : 0x00000008\n", "read was refused, at 0x8", 8},
	{"an interrupt", riscvRegs, "mcause 80000007\n", "interrupt 7", 0},
	{"Cause, BadVAddr", mipsRegs, "Cause : 00000008 BadVA : 00000010\n", "no translation for a read or a fetch, at 0x10", 0x10},
	{"Cause: coprocessor", mipsRegs, "Cause : 1000002c\n", "coprocessor 1 is off", 0},
	{"Cause: delay slot", mipsRegs, "Cause : 80000014 BadVA : 00000003\n", "write to an address that is not aligned or not allowed, at 0x3, in the delay slot of the branch at EPC", 3},
	{"ESR, FAR: write", arm64Regs, "ESR_ELn: 0x0000000096000046 FAR_ELn: 0x0000000000000010\n", "write of a page that is not there, at 0x10", 0x10},
	{"ESR, FAR: fetch", arm64Regs, "ESR_EL1: 0x000000008600000f FAR_EL1: 0x0000000040001000\n", "instruction fetch was refused by the page's permission, at 0x40001000", 0x40001000},
	{"ESR, no FAR", arm64Regs, "ESR_EL3: 0x0000000096000410 FAR_EL3: 0x0000000000000000\n", "read ended in an external abort", 0},
	{"ESR: undefined", arm64Regs, "ESR_EL1: 0x0000000002000000\n", "undefined instruction", 0},
	{"DFSR, DFAR: Cortex-R, the MPU", armRegs, "DFSR 0000080d DFAR 60000000\n", "write was refused by the page's permission, at 0x60000000", 0x60000000},
	{"DFSR: alignment", armRegs, "DFSR 00000001 DFAR 20000001\n", "read of an address that is not aligned, at 0x20000001", 0x20000001},
	{"IFSR, IFAR", armRegs, "IFSR 00000005 IFAR 50000000\n", "instruction fetch of a page that is not there, at 0x50000000", 0x50000000},
	{"CmBacktrace", "Firmware name: fw\n" + cortexRegs, "Bus fault is caused by precise data access violation\nThe bus fault occurred address is a0000000\n",
		"precise data bus error (PRECISERR), at 0xa0000000", 0xa0000000},
	{"CmBacktrace in Chinese", "固件名称：fw\n" + cortexRegs, "发生总线错误，原因：精确的数据总线错误\n发生总线错误的地址：a0000000\n",
		"precise data bus error (PRECISERR), at 0xa0000000", 0xa0000000},
	{"SFSR, SFAR", cortexRegs, "SFSR 00000048 SFAR 30000000\n", "access to secure memory by non-secure code (AUVIOL), at 0x30000000", 0x30000000},
	{"DFSR of a Cortex-M", cortexRegs, "HFSR 80000000 DFSR 00000002\n", "debug event while no debugger is there: a breakpoint instruction (DEBUGEVT); breakpoint (BKPT)", 0},
}

// The other registers of a report.
const (
	riscvRegs  = "trap: mepc 80000100\nra 80000200 sp 80010000\na0 00000000 t0 00000000 s0 00000000\n"
	mipsRegs   = "HardFault\nepc   : 80100100\nv0 00000000 a0 00000000 t0 00000000\ngp 00000000 sp 80110000 fp 00000000 ra 80100200\n"
	arm64Regs  = "E: ELR_ELn: 0x0000000040001a2c\nE: x0:  0x0000000000000000 x1:  0x0000000000000001\nE: x30: 0x0000000040001a00\n"
	armRegs    = "Data abort\nR0 00000000 R1 00000001 R2 00000000 R3 00000000\nR12 00000000 LR 20000100 PC 20000200 CPSR 6000001f\n"
	cortexRegs = "HardFault\nR0 00000000 R1 00000001 R2 00000000 R3 00000000\nR12 00000000 LR 08000101 PC 08000200 xPSR 01000000\n"
)

// TestCauses: status registers in words, of each processor.
func TestCauses(t *testing.T) {
	for _, c := range causeTests {
		s, err := openAny(c.regs + c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if f := s.Fault; f.Status != c.want || f.HasAddress != (c.addr != 0) || f.Address != c.addr {
			t.Errorf("%s: %q, address %v %#x; want %q, %#x", c.name, f.Status, f.HasAddress, f.Address, c.want, c.addr)
		}
	}
}

// openAny is open with the processors that are rarely microcontrollers among the others.
func openAny(text string) (*target.Snapshot, error) {
	all := append(cpu.Set(arm64.Archs()), archs()...)
	env := &input.Env{Archs: all, Files: input.NewFiles(input.FileOptions{Archs: all})}
	s, err := console.Format(Reader()).Open(context.Background(), input.NewCapture("log", []byte(text)), env)
	if err != nil {
		return nil, err
	}
	return s.Next(context.Background())
}

// TestNotPushed: where the processor could not push its frame, the registers are none.
func TestNotPushed(t *testing.T) {
	s, err := openAny(cortexRegs + "CFSR 00001000\n")
	if err != nil {
		t.Fatal(err)
	}
	if !s.Threads[0].Stale || len(s.Issues) != 1 || !strings.Contains(s.Issues[0].Text, "could not push") {
		t.Errorf("stale %v, %v", s.Threads[0].Stale, s.Issues)
	}
}
