package mips

import (
	"slices"
	"strings"
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

// checkCallBefore asks at every instruction of a program whether it follows a
// call, and compares with what objdump's lines say.
func checkCallBefore(t *testing.T, c realProgram, lines []line) {
	asked, wrong := 0, 0
	for _, p := range programs(lines) {
		enc, mode := p.encoding(c)
		calls := returnAddresses(p, enc)
		for _, l := range p.lines {
			site, ok := c.arch.Decoder.CallBefore(p.code[:l.addr-p.start], l.addr, mode)
			want, isReturn := calls[l.addr]
			asked++
			if ok == isReturn && (!ok || sameSite(site, want, c.arch.AddrMask())) {
				continue
			}
			if wrong++; wrong <= 5 {
				t.Logf("before %s: got %+v %v, want %+v %v", l.text, site, ok, want, isReturn)
			}
		}
	}
	// In a compressed encoding a halfword of one instruction can look like
	// another, so that a few are wrong.
	if wrong > asked/2000 || wrong > 0 && c.compressed == inWords {
		t.Errorf("%d of %d wrong", wrong, asked)
	}
}

func sameSite(got, want cpu.CallSite, mask uint64) bool {
	return got.Addr == want.Addr && got.Direct == want.Direct && (!got.Direct || got.Target == want.Target&mask)
}

// encoding of a program that is uniform.
func (p program) encoding(c realProgram) (encoding, cpu.Mode) {
	if p.lines[0].compressed {
		return c.compressed, 1
	}
	return inWords, 0
}

// returnAddresses maps those of a program to the calls that objdump shows.
func returnAddresses(p program, enc encoding) map[uint64]cpu.CallSite {
	m := map[uint64]cpu.CallSite{}
	for k, l := range p.lines {
		e, skip := expect(l, enc)
		if skip != "" || e.kind != call || !e.writes.Has(RA) {
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
		s := cpu.CallSite{Addr: l.addr, Target: e.target, Direct: e.hasTarget}
		if l.mnemonic == "nal" {
			continue
		}
		m[ra] = s
	}
	return m
}

// checkCalls compares the scan for direct calls with objdump's lines.
func checkCalls(t *testing.T, c realProgram, lines []line) {
	for _, p := range programs(lines) {
		enc, mode := p.encoding(c)
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
}

// directCalls maps a program's calls to their targets.
func directCalls(p program, enc encoding, mask uint64) map[uint64]uint64 {
	m := map[uint64]uint64{}
	for k, l := range p.lines {
		e, skip := expect(l, enc)
		if skip == "" && e.kind == call && e.hasTarget && l.mnemonic != "nal" && (e.target != l.addr+8 || !takesRA(p.lines[k+1:])) {
			m[l.addr] = e.target & mask
		}
	}
	return m
}

// takesRA tells whether code takes the address in ra soon, as addu gp,gp,ra and move at,ra do.
func takesRA(lines []line) bool {
	return slices.ContainsFunc(lines[:min(len(lines), 5)], func(l line) bool { return strings.HasSuffix(l.text, ",$31") })
}

// TestScannedCalls: what holds its target is Absolute, and what calls under a condition on
// a register is no call that the scan finds.
func TestScannedCalls(t *testing.T) {
	a := archOf(t, "o32", false, plain)
	code := []byte{
		0x08, 0x04, 0x00, 0x0c, // jal 0x1020
		0, 0, 0, 0,
		0x05, 0x00, 0x11, 0x04, // bal 0x1020
		0, 0, 0, 0,
		0x20, 0x2b, 0x70, 0x06, // bltzal s3
	}
	want := []cpu.CallRef{{Site: 0x1000, Target: 0x1020, Absolute: true}, {Site: 0x1008, Target: 0x1020}}
	if got := a.Decoder.Calls(code, 0x1000, 0, nil); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
