// Package unknown is the processor of captures that do not say which they are of.
package unknown

import "github.com/backsight/backsight/cpu"

// Arch is a processor of which nothing is known but how many bytes its addresses have: a list of calls can be shown without more.
// Only such a processor has no PC.
func Arch(addrSize int) *cpu.Arch {
	return &cpu.Arch{Name: "unknown", AddrSize: addrSize, RegSize: addrSize, RegisterFile: cpu.RegisterFile{PC: cpu.NoReg, SP: cpu.NoReg}}
}
