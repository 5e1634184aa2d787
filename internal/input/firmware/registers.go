package firmware

import (
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/input/regtext"
)

// Hint is the processor whose registers vals most likely are, nil where no processor fits. Of the
// variants of one processor it is the first with registers as wide as the printed ones; of ARM's,
// the microcontroller profile where that profile's fault status registers are among vals. A
// register that is printed twice counts once. Where registers fit two families alike, as pc, sp and fp do, none is told.
func Hint(archs cpu.Set, vals []regtext.Value) *cpu.Arch {
	vals = once(vals)
	wide, micro := false, false
	for _, v := range vals {
		wide = wide || v.Digits == 16 || v.Value>>32 != 0
		micro = micro || microOnly(v.Name)
	}
	var best *cpu.Arch
	most, tied := 0, false
	for _, a := range archs {
		if a.Name == "xtensa" { // its registers have RISC-V's names, too; what only its makers print tells
			continue
		}
		if !hasPC(a, vals) && len(vals) < 8 || wide && a.RegSize < 8 || micro != a.ModeOnly && isARM(a) {
			continue
		}
		switch n := known(a, vals, wide); {
		case n < enough || n < most:
		case n > most:
			best, most, tied = a, n, false
		default:
			tied = tied || a.ELF.Machine != best.ELF.Machine
		}
	}
	if tied {
		return nil
	}
	return best
}

// once has the first value of each register.
func once(vals []regtext.Value) []regtext.Value {
	names := make(map[string]bool, len(vals))
	out := make([]regtext.Value, 0, len(vals))
	for _, v := range vals {
		if !names[v.Name] {
			names[v.Name] = true
			out = append(out, v)
		}
	}
	return out
}

// enough is the weight that tells a processor: that of three registers. Nearly every processor has
// a register called pc.
const enough = 3 * 4

// isARM tells whether the processor has variants with one mode only.
func isARM(a *cpu.Arch) bool { return a.ISABit && a.Status != cpu.NoReg && a.AddrSize == 4 }

// microOnly tells whether only the microcontroller profile has a register.
func microOnly(name string) bool {
	switch name {
	case "cfsr", "hfsr", "afsr", "mmfsr", "bfsr", "ufsr", "mmfar", "bfar", "shcsr", "icsr", "exc_return", "xpsr", "psr", "msp", "psp", "sfsr", "sfar":
		return true
	}
	return false
}

func hasPC(a *cpu.Arch, vals []regtext.Value) bool {
	for _, v := range vals {
		if r, ok := a.RegByName(v.Name); ok && r == a.PC {
			return true
		}
	}
	return false
}

// known weighs how well vals fit a processor: four points for each register of the processor, eight
// more for a register that only its family has, and, where nothing tells the width, one for the
// width that most firmware has.
func known(a *cpu.Arch, vals []regtext.Value, wide bool) (n int) {
	for _, v := range vals {
		if _, ok := a.RegByName(v.Name); ok {
			n += 4
		}
		switch v.Name {
		case "mcause", "mtval", "mstatus":
			if strings.HasPrefix(a.Name, "riscv") {
				n += 8
			}
		case "cause", "badvaddr":
			if strings.HasPrefix(a.Name, "mips") {
				n += 8
			}
		}
	}
	if n > 0 && !wide && a.RegSize == 4 {
		n++
	}
	return n
}

// maxIssues bounds the registers that are said to be printed twice.
const maxIssues = 4

// Registers are the values of arch's registers among vals. Of two values for one register the
// first counts; issues name the registers with two values.
func Registers(arch *cpu.Arch, vals []regtext.Value) (regs cpu.Registers, issues []string) {
	for _, v := range vals {
		r, ok := arch.RegByName(v.Name)
		if !ok {
			continue
		}
		val := v.Value
		if arch.Regs[r].Size == 4 {
			val &= 0xffff_ffff
		}
		switch old, has := regs.Lookup(r); {
		case !has:
			regs.Set(r, val)
		case old != val && r != arch.SP && len(issues) < maxIssues: // handlers print their own SP too
			issues = append(issues, fmt.Sprintf("%s is printed twice, as %#x and as %#x; the first is used", v.Name, old, val))
		}
	}
	return regs, issues
}

// ExceptionPC takes the exception PC, 0 where there is none, out of registers that have the PC as well.
func ExceptionPC(arch *cpu.Arch, vals []regtext.Value) (rest []regtext.Value, epc uint64) {
	if !slices.ContainsFunc(vals, func(v regtext.Value) bool { return v.Name == "pc" }) {
		return vals, 0
	}
	for _, v := range vals {
		r, ok := arch.RegByName(v.Name)
		switch {
		case !ok || r != arch.PC || v.Name == "pc":
			rest = append(rest, v)
		case v.Name == "epc" || v.Name == "cp0_epc" || v.Name == "sepc": // mepc is the firmware's
			epc = v.Value & arch.AddrMask()
		}
	}
	return rest, epc
}

// Start are the registers at an address, of which only the PC is known. On a processor with
// two instruction sets the address does not tell which: Thumb is the commoner by far.
func Start(arch *cpu.Arch, pc uint64) (regs cpu.Registers) {
	if arch.ISABit && arch.Status < cpu.MaxRegs {
		regs.Set(arch.Status, 1<<arch.StatusModeBit)
	}
	regs.Set(arch.PC, pc)
	return regs
}
