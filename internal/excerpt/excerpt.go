// Package excerpt shows the surroundings of a frame: the instructions around its place,
// and the lines around it in its source file.
package excerpt

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/disassemble"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// maxFunction bounds in bytes how far before a frame's place decoding begins, where
// instructions have different lengths and only a function's entry tells where one begins.
const maxFunction = 64 << 10

// Code is up to n instructions before and behind a frame's place, and the one there: the
// call that the frame waits for, or the instruction that was interrupted. It is empty
// where the bytes are not known.
func Code(snap *target.Snapshot, f *report.Frame, n int) []report.Instruction {
	arch, state := snap.Arch, &stackwalk.State{Snapshot: snap, Module: f.Module}
	if f.Module != nil && f.Module.Image != nil {
		arch = f.Module.Image.Arch
	}
	if arch.Decoder == nil {
		return nil
	}
	var out []report.Instruction
	behind, pool := 0, make(literals)
	for at := begin(arch, state, f, n); behind <= n; {
		i, ok := pool.next(arch, state.Code(at), at, f.Mode)
		if !ok {
			break
		}
		size := uint64(len(i.Bytes))
		i.Here = f.CallSite-at < size
		if at += size; at > f.CallSite {
			behind++
		}
		out = append(out, i)
		if len(out) > 2*n+1+itBlock {
			out = out[1:]
		}
	}
	var printer disassemble.Printer
	for i := range out { // of a long function, most were decoded only to find these
		if out[i].Text != "" {
			continue
		}
		out[i].Text = printer.Next(arch, state.Code(out[i].Addr), out[i].Addr, f.Mode)
	}
	return out[max(0, len(out)-2*n-1):]
}

// itBlock is how many instructions T32's IT makes conditional: those in front of the first that
// is shown may begin such a block.
const itBlock = 4

// literals are the sizes in bytes of the words that instructions before read by their
// addresses, which compilers put between functions, by address: a handful, of the instructions
// that Code decodes.
type literals map[uint64]uint8

// next is the instruction at an address, or the word that another one reads there.
func (l literals) next(arch *cpu.Arch, code []byte, at uint64, mode cpu.Mode) (i report.Instruction, ok bool) {
	if size := l[at]; size > 0 && int(size) <= len(code) {
		return report.Instruction{Addr: at, Bytes: code[:size], Text: wordText(arch, code[:size])}, true
	}
	var insn [1]cpu.Insn
	if len(code) == 0 || arch.Decoder.Decode(code, at, mode, insn[:]) == 0 || int(insn[0].Len) > len(code) {
		return report.Instruction{}, false
	}
	if in := &insn[0]; in.Op == cpu.OpLoad && in.Base == cpu.NoReg && in.Index == cpu.NoReg && (in.Size == 4 || in.Size == 8) {
		l[uint64(in.Imm)&arch.AddrMask()] = in.Size
	}
	return report.Instruction{Addr: at, Bytes: code[:insn[0].Len], Insn: insn[0]}, true
}

// wordText is a word of data as assemblers write it.
func wordText(arch *cpu.Arch, word []byte) string {
	order := bin.Order(arch.BigEndian)
	if len(word) == 8 {
		return fmt.Sprintf(".quad %#x", order.U64(word))
	}
	return fmt.Sprintf(".word %#x", order.U32(word))
}

// begin is where decoding begins for n instructions before a frame's place: so many of
// equal length before it, or the function's entry, or the place itself.
func begin(arch *cpu.Arch, state *stackwalk.State, f *report.Frame, n int) uint64 {
	entry := f.FunctionAt()
	near := f.Function != "" && entry <= f.CallSite && f.CallSite-entry < maxFunction
	if fixed := arch.InsnAlignIn(f.Mode); fixed == 4 {
		at := f.CallSite&^3 - min(uint64(4*n), f.CallSite&^3)
		if near {
			at = max(at, entry)
		}
		for at < f.CallSite && len(state.Code(at)) == 0 {
			at += 4
		}
		return at
	}
	switch {
	case near:
		return entry
	case f.Exact:
		return f.PC
	}
	return f.CallSite
}

// maxSource bounds in bytes the file that lines are taken from.
const maxSource = 8 << 20

// Source is up to n lines before and behind a frame's line, and that one; empty where the
// file is not to be had. It is looked for below roots, as all of another machine's files
// are, or, where there are none, on this machine.
func Source(roots []string, f *report.Frame, n int) []report.SourceLine {
	if f.File == "" || f.Line <= 0 {
		return nil
	}
	name := f.File
	if !path.IsAbs(name) {
		name = path.Join(f.Dir, name)
	}
	text, err := readBelow(roots, name)
	if err != nil {
		return nil
	}
	var out []report.SourceLine
	number := 0
	for line := range bytes.Lines(text) {
		if number++; number > f.Line+n {
			break
		}
		if number >= f.Line-n {
			out = append(out, report.SourceLine{Number: number, Text: strings.TrimRight(string(line), "\r\n"), Here: number == f.Line})
		}
	}
	if number < f.Line {
		return nil // another version of the file
	}
	return out
}

// readBelow reads a file from the first of roots that has it.
func readBelow(roots []string, name string) (text []byte, err error) {
	if len(roots) == 0 {
		return read("", name)
	}
	for _, root := range roots {
		if text, err = read(root, name); err == nil {
			break
		}
	}
	return text, err
}

// read reads the first maxSource bytes of a regular file: below root, out of which no link
// leads, or of this machine where root is "".
func read(root, name string) ([]byte, error) {
	open, stat := os.Open, os.Stat
	if root != "" {
		r, err := os.OpenRoot(root)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		open, stat, name = r.Open, r.Stat, strings.TrimLeft(name, "/")
	}
	if st, err := stat(name); err != nil || !st.Mode().IsRegular() {
		return nil, os.ErrNotExist // a pipe's opening would wait
	}
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, os.ErrNotExist
	}
	return io.ReadAll(io.LimitReader(file, maxSource))
}
