package mips

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// program is consecutive code with what objdump says of it.
type program struct {
	start uint64
	code  []byte
	lines []line
}

// programs cuts a disassembly where the addresses or the encoding jump.
func programs(lines []line) []program {
	var all []program
	for _, l := range lines {
		n := len(all)
		if n == 0 || all[n-1].start+uint64(len(all[n-1].code)) != l.addr || all[n-1].lines[0].compressed != l.compressed {
			all = append(all, program{start: l.addr})
			n++
		}
		p := &all[n-1]
		p.code = append(p.code, l.code...)
		p.lines = append(p.lines, l)
	}
	return all
}

// TestCallBefore asks at every instruction of real programs whether it follows a
// call, and compares with what objdump's lines say.
func TestCallBefore(t *testing.T) {
	for _, c := range realPrograms(t) {
		t.Run(c.name, func(t *testing.T) {
			asked, wrong := 0, 0
			for _, p := range programs(c.lines(t)) {
				enc, mode := inWords, cpu.Mode(0)
				if p.lines[0].compressed {
					enc, mode = c.compressed, 1
				}
				calls := returnAddresses(p, enc)
				for _, l := range p.lines {
					end := l.addr - p.start
					site, ok := c.arch.Decoder.CallBefore(p.code[:end], l.addr, mode)
					want, isReturn := calls[l.addr]
					asked++
					if ok != isReturn || ok && (site.Addr != want.Addr || site.Direct && want.Target != 0 && site.Target != want.Target&c.arch.AddrMask()) {
						if wrong++; wrong <= 5 {
							t.Logf("before %s: got %+v %v, want %+v %v", l.text, site, ok, want, isReturn)
						}
					}
				}
			}
			// In a compressed encoding a halfword of one instruction can look like
			// another, so that a few are wrong.
			if wrong > asked/2000 || wrong > 0 && c.compressed == inWords {
				t.Errorf("%d of %d wrong", wrong, asked)
			}
		})
	}
}

// returnAddresses maps those of a program to the calls that objdump shows.
func returnAddresses(p program, enc encoding) map[uint64]cpu.CallSite {
	m := map[uint64]cpu.CallSite{}
	for k, l := range p.lines {
		e, ok := expect(l, enc)
		if !ok || e.kind != call || !e.writes.Has(RA) {
			continue
		}
		behind := k + 1
		if e.slot {
			behind++
		}
		if behind >= len(p.lines) {
			continue
		}
		ra := p.lines[behind].addr
		s := cpu.CallSite{Addr: l.addr, Target: e.target}
		if e.hasTarget && e.target == ra { // bal .+8 reads the PC
			continue
		}
		m[ra] = s
	}
	return m
}

// TestCalls compares the scan for direct calls with objdump's lines.
func TestCalls(t *testing.T) {
	for _, c := range realPrograms(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range programs(c.lines(t)) {
				enc, mode := inWords, cpu.Mode(0)
				if p.lines[0].compressed {
					enc, mode = c.compressed, 1
				}
				want := directCalls(p, enc, c.arch.AddrMask())
				got := c.arch.Decoder.Calls(p.code, p.start, mode, nil)
				for _, r := range got {
					if target, ok := want[r.Site]; !ok || target != r.Target {
						t.Errorf("call at %#x to %#x; objdump: %#x", r.Site, r.Target, target)
					}
				}
				if len(got) != len(want) {
					t.Errorf("%#x: %d calls, want %d", p.start, len(got), len(want))
				}
			}
		})
	}
}

// directCalls maps a program's calls to their targets.
func directCalls(p program, enc encoding, mask uint64) map[uint64]uint64 {
	m := map[uint64]uint64{}
	for _, l := range p.lines {
		e, ok := expect(l, enc)
		if ok && e.kind == call && e.hasTarget && e.target != l.addr+8 {
			m[l.addr] = e.target & mask
		}
	}
	return m
}

// realProgram is a compiled program and how to read it.
type realProgram struct {
	name       string
	arch       *cpu.Arch
	compressed encoding
	path       string
}

func (p realProgram) lines(t *testing.T) []line {
	return objdump(t, p.arch.BigEndian, "-d", p.path)
}

// realPrograms are recorded programs, and one compiled for microMIPS.
func realPrograms(t *testing.T) []realProgram {
	t.Helper()
	var list []realProgram
	for _, c := range []struct {
		dir, abi   string
		big        bool
		v          variant
		compressed encoding
	}{
		{"mips", "o32", true, plain, inWords},
		{"mipsel", "o32", false, plain, inWords},
		{"mipsr6", "o32", true, release6, inWords},
		{"mips64", "n64", true, plain, inWords},
		{"mips64el", "n64", false, plain, inWords},
		{"mipsn32", "n32", true, plain, inWords},
		{"mips16", "o32", true, plain, inMIPS16},
	} {
		path := filepath.Join(truth, "public", c.dir, "pub-gcc-O2", "sym.elf")
		if _, err := os.Stat(path); err == nil {
			list = append(list, realProgram{c.dir, archOf(t, c.abi, c.big, c.v), c.compressed, path})
		}
	}
	if path, ok := compileMicro(t); ok {
		list = append(list, realProgram{"micromips", archOf(t, "o32", true, microMIPS), inMicro, path})
	}
	if len(list) == 0 {
		t.Skip("no programs")
	}
	return list
}
