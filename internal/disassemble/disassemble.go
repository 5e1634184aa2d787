// Package disassemble writes machine instructions as assemblers' manuals do, for people:
// golang.org/x/arch knows x86, A32, A64 and RISC-V; MIPS is written here. What an
// instruction does to a stack is told by its cpu.Decoder, not by this text.
package disassemble

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"golang.org/x/arch/arm/armasm"
	"golang.org/x/arch/arm64/arm64asm"
)

// Printer writes instructions that lie one behind the other: T32's IT makes up to four behind
// it conditional. The zero value is ready.
type Printer struct{ it itState }

// Next is the next instruction, as Text writes it; in an IT block with its condition.
func (p *Printer) Next(arch *cpu.Arch, code []byte, pc uint64, mode cpu.Mode) (text string) {
	if print := printerOf(arch.Name); print != nil {
		return print(p, arch, code, pc, mode)
	}
	return ""
}

// Text is the instruction at the beginning of code, which lies at address pc, in GNU's
// syntax; "" where the bytes are no instruction, or of a kind that nobody here can write
// (microMIPS, vectors). Branch targets are addresses in pc's address space.
func Text(arch *cpu.Arch, code []byte, pc uint64, mode cpu.Mode) string {
	return new(Printer).Next(arch, code, pc, mode)
}

// printer writes an instruction of one family of processors.
type printer func(p *Printer, arch *cpu.Arch, code []byte, pc uint64, mode cpu.Mode) string

func x86(_ *Printer, arch *cpu.Arch, code []byte, pc uint64, _ cpu.Mode) string {
	return x86Text(code, pc, 8*arch.AddrSize)
}

func arm(p *Printer, arch *cpu.Arch, code []byte, pc uint64, mode cpu.Mode) (text string) {
	switch {
	case mode != 0 && len(code) >= 2:
		text, p.it = thumbText(arch, code, pc, p.it)
	case mode != 0 || len(code) < 4:
	case bin.Order(arch.BigEndian).U32(code)>>24 == 0xf4:
		return thumbWord{arch: arch, word: bin.Order(arch.BigEndian).U32(code)}.neonTransfer()
	default:
		if insn, err := decodedARM(bin.Order(arch.BigEndian).U32(code)); err == nil {
			return absolute(arch, armasm.GNUSyntax(insn), pc+4) // the printer counts from the next one
		}
	}
	return text
}

func arm64(_ *Printer, arch *cpu.Arch, code []byte, pc uint64, mode cpu.Mode) string {
	if mode != 0 || len(code) < 4 {
		return ""
	}
	insn, err := decoded(arm64asm.Decode, code)
	if err != nil {
		return ""
	}
	if insn.Op == arm64asm.ADRP {
		pc &^= 0xfff // counts from the page
	}
	return absolute(arch, arm64asm.GNUSyntax(insn), pc)
}

func riscv(_ *Printer, arch *cpu.Arch, code []byte, pc uint64, mode cpu.Mode) string {
	if mode != 0 || len(code) < 2 {
		return ""
	}
	return riscvText(arch, code, pc)
}

func mips(_ *Printer, arch *cpu.Arch, code []byte, pc uint64, mode cpu.Mode) string {
	switch {
	case mode != 0 && len(code) >= 2 && hasMIPS16(arch):
		return mips16Text(arch, code, pc)
	case mode != 0 || len(code) < 4:
		return ""
	}
	return mipsText(arch, bin.Order(arch.BigEndian).U32(code), pc)
}

// absolute replaces a distance from base, ".+0x40", ".-0x40" or ".+0xffffffffffffffc0", by the
// address, which has the processor's width.
func absolute(arch *cpu.Arch, text string, base uint64) string {
	at := strings.LastIndex(text, ".")
	if at < 0 || at+2 > len(text) || text[at+1] != '+' && text[at+1] != '-' {
		return text
	}
	distance, err := strconv.ParseUint(text[at+2:], 0, 64)
	if err != nil {
		return text
	}
	if text[at+1] == '-' {
		distance = -distance
	}
	return text[:at] + fmt.Sprintf("%#x", (base+distance)&arch.AddrMask())
}
