// Package readers measures what other programs make of our tables: GDB with a debug file, and a
// stack walker that goes by the STACK CFI records of a Breakpad symbol file and nothing else.
package readers

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
	"github.com/backsight/backsight/target"
)

// StackCFI are the STACK CFI records of a symbol file, in order of address.
type StackCFI struct {
	arch *cpu.Arch
	base uint64 // of the module
	list []initRecord
	regs map[string]cpu.Reg // by the names in the file
}

// initRecord is a STACK CFI INIT record with the records that change it.
type initRecord struct {
	addr, size uint64
	rules      []string
	changes    []changeRecord
}

type changeRecord struct {
	addr  uint64
	rules []string
}

// ReadStackCFI reads a symbol file of a module that is loaded at base.
func ReadStackCFI(r io.Reader, arch *cpu.Arch, base uint64) (*StackCFI, error) {
	s := &StackCFI{arch: arch, base: base, regs: map[string]cpu.Reg{}}
	for i := range arch.Regs {
		for _, n := range arch.Regs[i].Names {
			s.regs[n], s.regs["$"+strings.TrimPrefix(n, "$")] = cpu.Reg(i), cpu.Reg(i)
		}
	}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		if rest, ok := strings.CutPrefix(lines.Text(), "STACK CFI "); ok {
			if err := s.record(strings.Fields(rest)); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	slices.SortFunc(s.list, func(a, b initRecord) int { return cmp.Compare(a.addr, b.addr) })
	return s, lines.Err()
}

func (s *StackCFI) record(f []string) error {
	if len(f) > 3 && f[0] == "INIT" {
		addr, err := strconv.ParseUint(f[1], 16, 64)
		size, err2 := strconv.ParseUint(f[2], 16, 64)
		s.list = append(s.list, initRecord{addr: addr + s.base, size: size, rules: f[3:]})
		return cmp.Or(err, err2)
	}
	if len(f) < 2 || len(s.list) == 0 {
		return fmt.Errorf("a record of %d fields", len(f))
	}
	addr, err := strconv.ParseUint(f[0], 16, 64)
	last := &s.list[len(s.list)-1]
	last.changes = append(last.changes, changeRecord{addr + s.base, f[1:]})
	return err
}

// at are the expressions that hold at an address: by name, those of the INIT record changed by those
// up to the address; nil where none covers it.
func (s *StackCFI) at(pc uint64) map[string][]string {
	i, exact := slices.BinarySearchFunc(s.list, pc, func(r initRecord, pc uint64) int { return cmp.Compare(r.addr, pc) })
	if !exact {
		i--
	}
	if i < 0 || pc-s.list[i].addr >= s.list[i].size {
		return nil
	}
	rules := map[string][]string{}
	assign(rules, s.list[i].rules)
	for _, c := range s.list[i].changes {
		if c.addr <= pc {
			assign(rules, c.rules)
		}
	}
	return rules
}

// assign takes "name: token token … name: …".
func assign(rules map[string][]string, tokens []string) {
	name := ""
	for _, t := range tokens {
		if n, ok := strings.CutSuffix(t, ":"); ok {
			name = n
			rules[name] = nil
			continue
		}
		rules[name] = append(rules[name], t)
	}
}

// maxFrames is enough for every recorded chain.
const maxFrames = 1000

// Backtrace walks the stack of a snapshot's first thread as a minidump's walker does: by the records
// alone, with the registers that the ABI preserves kept where no record mentions them.
func (m *modules) Backtrace(snap *target.Snapshot) (pcs []uint64, err error) {
	regs := snap.Threads[0].Regs
	pc, _, ok := snap.Arch.PCOf(&regs)
	site := pc
	for ok && len(pcs) < maxFrames {
		pcs = append(pcs, pc)
		rules, err := m.at(snap, pc, site)
		if err != nil {
			return pcs, err
		}
		if m.program.exceptionReturn(pc) { // nothing runs there
			pcs = pcs[:len(pcs)-1]
		}
		if pc, ok = m.program.step(snap, &regs, rules); pc == 0 {
			break
		}
		if site = pc; !m.program.interrupts(rules) {
			site--
		}
	}
	return pcs, nil
}

// exceptionReturn tells whether a Cortex-M's return address is what stands there while an exception is
// handled, for which a record has the frame that was pushed.
func (s *StackCFI) exceptionReturn(pc uint64) bool {
	return s.arch.ModeOnly && cortexm.ExcReturn(pc).Valid()
}

// interrupts tells whether a frame was not called but interrupted: its records restore registers
// that a call may change.
func (s *StackCFI) interrupts(rules map[string][]string) bool {
	for name := range rules {
		if r, ok := s.regs[name]; ok && r != s.arch.SP && r != s.arch.LR && !s.arch.Preserved.Has(r) {
			return true
		}
	}
	return false
}

// step makes the caller's registers of the callee's, and returns the caller's PC.
func (s *StackCFI) step(snap *target.Snapshot, regs *cpu.Registers, rules map[string][]string) (uint64, bool) {
	m := machine{cfi: s, snap: snap, regs: regs}
	if rules == nil || !m.run(rules[".cfa"]) {
		return 0, false
	}
	m.cfa, m.hasCFA = m.result, true
	if !m.run(rules[".ra"]) {
		return 0, false
	}
	ra, _ := s.arch.SplitCode(m.result)
	var caller cpu.Registers
	for set := s.arch.Preserved; set != 0; set = set.Without(set.First()) {
		if v, ok := regs.Lookup(set.First()); ok {
			caller.Set(set.First(), v)
		}
	}
	caller.Set(s.arch.SP, m.cfa)
	for name, tokens := range rules {
		if r, ok := s.regs[name]; ok && m.run(tokens) {
			caller.Set(r, m.result)
		}
	}
	*regs = caller
	return ra, true
}

// machine evaluates one expression in postfix form.
type machine struct {
	cfi    *StackCFI
	snap   *target.Snapshot
	regs   *cpu.Registers
	cfa    uint64
	hasCFA bool
	stack  []uint64
	result uint64
}

// run evaluates an expression into result; false where it has no value.
func (m *machine) run(tokens []string) bool {
	m.stack = m.stack[:0]
	for _, t := range tokens {
		if !m.token(t) {
			return false
		}
	}
	if len(m.stack) != 1 {
		return false
	}
	m.result = m.stack[0]
	return true
}

func (m *machine) token(t string) bool {
	n := len(m.stack)
	switch {
	case t == "^" && n > 0:
		v, ok := m.snap.Memory.Uint(m.stack[n-1], m.cfi.arch.RegSize)
		m.stack[n-1] = v
		return ok
	case strings.Contains("+-*/%", t) && n > 1:
		v, ok := binary(t, m.stack[n-2], m.stack[n-1])
		m.stack = append(m.stack[:n-2], v&m.cfi.arch.AddrMask())
		return ok
	case t == ".cfa":
		m.stack = append(m.stack, m.cfa)
		return m.hasCFA
	}
	if r, ok := m.cfi.regs[t]; ok {
		v, known := m.regs.Lookup(r)
		m.stack = append(m.stack, v)
		return known
	}
	v, err := strconv.ParseInt(t, 10, 64)
	m.stack = append(m.stack, uint64(v))
	return err == nil
}

// binary applies an operator.
func binary(operator string, a, b uint64) (v uint64, ok bool) {
	switch {
	case operator == "+":
		return a + b, true
	case operator == "-":
		return a - b, true
	case operator == "*":
		return a * b, true
	case b == 0:
		return 0, false
	case operator == "/":
		return a / b, true
	}
	return a % b, true
}
