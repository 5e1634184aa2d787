package faultlog

import (
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
	"github.com/backsight/backsight/target"
)

// fault says why the report was made.
func (w *words) fault(arch *cpu.Arch) *target.Fault {
	f := &target.Fault{Name: w.form.title}
	if f.Name == "" {
		f.Name = "fault"
	}
	if _, micro := arch.Layouts[cpu.CortexMFrame]; micro {
		status := w.faultStatus()
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
	case strings.HasPrefix(arch.Name, "mips"):
		text, address, addressed = w.mips()
	case strings.HasPrefix(arch.Name, "riscv"):
		text, address, addressed = w.riscv()
	default:
		text, address, addressed = w.syndrome(arch)
	}
	f.Status = text
	if addressed {
		f.Address, f.HasAddress = address&arch.AddrMask(), true
	}
	return f
}

// value is the first value that the report prints for a name.
func (w *words) value(name string) (uint64, bool) {
	for _, v := range w.vals {
		if v.Name == name {
			return v.Value, true
		}
	}
	return 0, false
}

// faultStatus are the fault status registers of a Cortex-M. CFSR is printed as a whole, or
// as its parts.
func (w *words) faultStatus() (s cortexm.FaultStatus) {
	for _, v := range w.vals {
		switch v.Name {
		case "cfsr":
			s.CFSR |= v.Value
		case "mmfsr":
			s.CFSR |= v.Value & 0xff
		case "bfsr":
			s.CFSR |= v.Value & 0xff << cortexm.BusShift
		case "ufsr":
			s.CFSR |= v.Value & 0xffff << cortexm.UsageShift
		case "hfsr":
			s.HFSR = v.Value
		case "dfsr":
			s.DFSR = v.Value
		case "sfsr":
			s.SFSR = v.Value
		case "mmfar":
			s.MMFAR = v.Value
		case "bfar":
			s.BFAR = v.Value
		case "sfar":
			s.SFAR = v.Value
		}
	}
	return s
}

// takeStack takes what CmBacktrace says of a stack that overflowed, in 1.4 with its bounds:
//
//	stack_pointer: 0x1fffb950, stack_start_addr: 0x20002530, stack_end_addr: 0x20002b6c
//	Error: Thread stack(1fffb950) was overflow
func (w *words) takeStack(line string) {
	if strings.Contains(line, "stack(") && strings.Contains(line, "was overflow") || strings.Contains(line, "栈(") && strings.Contains(line, "溢出") {
		w.overflow = true
	}
	if _, rest, ok := strings.Cut(line, "stack_start_addr: "); ok {
		lo, hi, _ := strings.Cut(rest, ", stack_end_addr: ")
		a, ok1 := firstHex(lo)
		b, ok2 := firstHex(hi)
		if ok1 && ok2 && a < b {
			w.stack = target.Range{Lo: a, Hi: b}
		}
	}
}
