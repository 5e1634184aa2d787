package faultlog

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
	"github.com/backsight/backsight/internal/input/regtext"
)

// values are the registers of a report, those of faults among them, in its order.
type values []regtext.Value

// hasPC tells whether the report prints the program counter.
func (vals values) hasPC() bool {
	return slices.ContainsFunc(vals, func(v regtext.Value) bool { return isPC(v.Name) })
}

// noFrame tells whether a report of a Cortex-M has all but an exception frame, since that would have been in no memory.
func (vals values) noFrame() bool {
	has := func(name string) bool { _, ok := vals.of(name); return ok }
	return !vals.hasPC() && has("cfsr") && (has("sp") || has("psp"))
}

// pc is the program counter.
func (vals values) pc() (uint64, bool) {
	i := slices.IndexFunc(vals, func(v regtext.Value) bool { return isPC(v.Name) })
	if i < 0 {
		return 0, false
	}
	return vals[i].Value, true
}

// hasStatus tells whether the link register and a status register stand beside the program counter.
func (vals values) hasStatus() bool {
	_, lr := vals.of("lr")
	_, cpsr := vals.of("cpsr")
	_, xpsr := vals.of("xpsr")
	return lr && (cpsr || xpsr)
}

// of is the first value that the report prints for a name.
func (vals values) of(name string) (uint64, bool) {
	for _, v := range vals {
		if v.Name == name {
			return v.Value, true
		}
	}
	return 0, false
}

// faultStatus are the fault status registers of a Cortex-M. CFSR is printed as a whole, or
// as its parts.
func (vals values) faultStatus(said said) (s cortexm.FaultStatus) {
	cfsr, whole := vals.of("cfsr")
	parts := said.bits & (1<<hardShift - 1)
	s.HFSR = said.bits >> hardShift
	for _, v := range vals {
		switch v.Name {
		case "mmfsr":
			parts |= v.Value & 0xff
		case "bfsr":
			parts |= v.Value & 0xff << cortexm.BusShift
		case "ufsr":
			parts |= v.Value & 0xffff << cortexm.UsageShift
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
	if s.CFSR = parts; whole {
		s.CFSR = cfsr
	}
	if _, ok := vals.of("bfar"); !ok && said.bits&cortexm.BFARValid == 0 {
		s.CFSR &^= cortexm.BFARValid // valid, and not printed
	}
	if _, ok := vals.of("mmfar"); !ok && said.bits&cortexm.MMARValid == 0 {
		s.CFSR &^= cortexm.MMARValid
	}
	return s
}

// excReturn is the value of LR in the handler, EXC_RETURN; where the report does not print it, the
// EXC_RETURN of a basic frame.
func (vals values) excReturn() (cortexm.ExcReturn, bool) {
	for _, v := range vals {
		if e := cortexm.ExcReturn(v.Value); v.Name == "exc_return" && v.Value>>32 == 0 && e.Valid() {
			return e, true
		}
	}
	return 0xffff_fff9, false
}

// pushed tells whether the exception frame, R0 to R3, R12, LR, PC, stands behind value i, in its order: i is the handler's own.
func (vals values) pushed(i int) bool {
	r0 := slices.IndexFunc(vals, func(v regtext.Value) bool { return v.Name == "r0" })
	return r0 > i && slices.ContainsFunc(vals[r0:], func(v regtext.Value) bool { return v.Name == vals[i].Name })
}

// renamed are the values under the names that their report means. NuttX prints FP between R6 and
// R8, and R11 as well: this FP is R7, the frame pointer of Thumb code. Where a handler prints LR
// twice, the handler's own LR is EXC_RETURN.
func (vals values) renamed(arch *cpu.Arch) values {
	if !arch.ISABit || arch.Status == cpu.NoReg {
		return vals
	}
	count := make(map[string]int)
	for _, v := range vals {
		count[v.Name]++
	}
	out := slices.Clone(vals)
	for i := range out {
		switch v := &out[i]; {
		case v.Name == "fp" && count["r11"] > 0 && count["r7"] == 0:
			v.Name = "r7"
		case v.Name == "lr" && count["lr"] > 1 && (v.Value>>32 == 0 && cortexm.ExcReturn(v.Value).Valid() || vals.pushed(i)):
			v.Name = "exc_return"
			count["lr"]--
		}
	}
	return out
}
