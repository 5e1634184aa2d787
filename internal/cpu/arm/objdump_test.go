package arm

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/difftest"
	"github.com/backsight/backsight/internal/synth/recorded"
)

// line is one instruction as objdump prints it.
type line struct {
	addr     uint64
	code     []byte
	thumb    bool
	mnemonic string
	operands string
}

// dump runs objdump and keeps the instructions, not the data. A32 is printed in words,
// Thumb in halfwords, so the width of the groups tells the mode.
func dump(t testing.TB, args ...string) (lines []line) {
	difftest.Objdump(t, "arm-linux-gnueabihf-objdump", func(l difftest.Line) {
		if m := l.Mnemonic(); m == "" || m[0] == '.' || m[0] == '@' {
			return
		}
		lines = append(lines, line{
			addr: l.Addr, code: l.Code(binary.LittleEndian), thumb: len(l.Units[0]) == 4,
			mnemonic: l.Mnemonic(), operands: l.Operands(),
		})
	}, args...)
	return lines
}

// writes is what in changes among the general registers, as the decoder says.
func writes(in *cpu.Insn) cpu.RegSet {
	set := difftest.Written(in)
	if in.Op == cpu.OpUnknown {
		set |= in.List
	}
	return set.Without(PC)
}

// flow is the kind of transfer; a load of the PC is one, and conditions are compared
// apart, for any A32 instruction may have one.
func flow(in *cpu.Insn) string {
	switch f := difftest.Flow(in); {
	case f == "branch":
		return "jump"
	case in.Op == cpu.OpSyscall:
		return "syscall"
	case f != "":
		return f
	case in.Op == cpu.OpLoad && in.Dst == PC, in.Op == cpu.OpLoadMulti && in.List.Has(PC):
		if in.Flags&cpu.FlagReturn != 0 {
			return "return"
		}
		return "jump"
	}
	return ""
}

var noOffset = regexp.MustCompile(`\[\w+\]!$`)

// tolerated are the differences that stay, all in encodings which the manual
// calls UNPREDICTABLE or UNDEFINED and objdump prints without a word.
func tolerated(l *line, in *cpu.Insn) (reason string) {
	pc := strings.Contains(l.operands, "pc")
	switch {
	case pc && (in.Op == cpu.OpUnknown || in.Op == cpu.OpClobber || in.Op == cpu.OpNop):
		return "the PC as an operand where it cannot be one"
	case pc && (strings.Contains(l.operands, "pc!") || strings.HasPrefix(l.mnemonic, "ldm") || strings.HasPrefix(l.mnemonic, "stm")):
		return "the PC as a base that changes"
	case (in.Op == cpu.OpCall || in.Op == cpu.OpJump) && in.Target&^3 == l.addr&^3 && strings.Contains(l.operands, "<"):
		return "a relocation, which objdump follows"
	case in.Op == cpu.OpJump && in.Src == PC:
		return "ldr pc with write-back by a register: it is gone anyway"
	case strings.HasSuffix(l.operands, "{}"), strings.Contains(strings.ToLower(l.operands), "unpredictable"):
		return "data among the code"
	case strings.Contains(l.operands, "}^"):
		return "write-back with user registers"
	case in.Base == SP && (in.Dst == SP || in.Dst2 == SP):
		return "SP is loaded and written back"
	case strings.Contains(l.operands, "#0]!"), strings.Contains(l.operands, "], #0"), strings.Contains(l.operands, "#-0"), noOffset.MatchString(l.operands), in.Op == cpu.OpAddImm && in.Imm == 0:
		return "write-back of nothing"
	case strings.HasPrefix(l.operands, "lr, [") && in.Op == cpu.OpUnknown, strings.HasPrefix(l.operands, "lr, [") && in.Op == cpu.OpClobber:
		return "ldrd lr: the second register is the PC"
	case l.mnemonic[0] == 'v' && in.Op == cpu.OpAddImm && (l.code[0] > 32 || strings.Contains("vldr vstr", l.mnemonic[:4])):
		return "more than 16 registers; a system register of v8.1-M"
	case l.mnemonic == "cdp" && in.Op == cpu.OpClobber:
		return "a vector instruction in a file that does not ask for them"
	case strings.HasPrefix(l.mnemonic, "msr"):
		return "bits that should be zero"
	case l.thumb && strings.HasPrefix(l.mnemonic, "crc32"):
		return "objdump prints the wrong destination"
	case l.thumb && len(l.code) == 4 && l.code[2]&15 == 13 && strings.Contains("csel csinc csinv csneg cinc cinv cneg cset csetm orrs.w movs.w", l.mnemonic):
		return "SP as the operand is the room of v8.1-M's shifts by a register"
	case l.thumb && strings.HasPrefix(l.mnemonic, "ldr") && in.Op == cpu.OpUnknown:
		return "bits that must be zero"
	}
	return ""
}

// compare returns in what the decoder and the oracle disagree, "" for nothing.
func compare(in *cpu.Insn, e effect, linked bool) string {
	var d []string
	want := func(what string, ok bool, a, b any) {
		if !ok {
			d = append(d, fmt.Sprintf("%s %v, want %v", what, a, b))
		}
	}
	if linked && e.flow == "jump" {
		e.flow, e.writes = "call", e.writes.With(LR)
	}
	want("flow", flow(in) == e.flow, flow(in), e.flow)
	if in.Flags&cpu.FlagPadding != 0 { // movs r0,r0; mov r8,r8
		e.writes = 0
	}
	want("writes", writes(in) == e.writes, fmt.Sprintf("%x", writes(in)), fmt.Sprintf("%x", e.writes))
	want("conditional", e.condUntold || (in.Flags&cpu.FlagConditional != 0) == e.cond, in.Flags, e.cond)
	if e.direct {
		want("target", in.Target == e.target && in.TargetMode == e.mode, fmt.Sprintf("%x:%d", in.Target, in.TargetMode), fmt.Sprintf("%x:%d", e.target, e.mode))
	}
	if e.spKnown {
		delta := int64(in.WB)
		if in.Op == cpu.OpAddImm && in.Dst == SP && in.Src == SP {
			delta = in.Imm
		}
		want("sp", delta == e.spDelta, delta, e.spDelta)
	}
	if e.literal != 0 && (in.Op == cpu.OpLoad || in.Op == cpu.OpConst) && in.Base == cpu.NoReg {
		want("literal", uint64(in.Imm) == e.literal, fmt.Sprintf("%x", in.Imm), fmt.Sprintf("%x", e.literal))
	}
	return strings.Join(d, "; ")
}

// check compares runs of consecutive lines, decoded in one call each, so that
// IT blocks are seen whole.
func check(t *testing.T, d decoder, name string, lines []line) int {
	t.Helper()
	tally := difftest.Tally{CPU: "arm " + mostly(lines), File: name}
	defer tally.Log(t)
	out := make([]cpu.Insn, 1)
	for i := 0; i < len(lines); {
		n, code := i, []byte{}
		for ; n < len(lines) && lines[n].thumb == lines[i].thumb && lines[n].addr == lines[i].addr+uint64(len(code)); n++ {
			code = append(code, lines[n].code...)
		}
		mode := cpu.Mode(0)
		if lines[i].thumb {
			mode = 1
		}
		if len(out) < n-i {
			out = make([]cpu.Insn, n-i)
		}
		got := d.Decode(code, lines[i].addr, mode, out[:n-i])
		if got != n-i {
			t.Errorf("%#x: %d instructions, want %d", lines[i].addr, got, n-i)
		}
		for k := range got {
			l, in := &lines[i+k], &out[k]
			if int(in.Len) != len(l.code) {
				t.Errorf("%#x: %s %s: length %d", l.addr, l.mnemonic, l.operands, in.Len)
				return tally.Compared
			}
			e, ok := read(l.mnemonic, l.operands, l.thumb)
			if !ok {
				tally.Accept("what only data looks like: a condition where there is none, a coprocessor of the past")
				continue
			}
			tally.Compared++
			linked := k > 0 && lines[i+k-1].operands == "lr, pc" && !l.thumb
			diff := compare(in, e, linked)
			if diff == "" {
				continue
			}
			if reason := tolerated(l, in); reason != "" {
				tally.Accept(reason)
				continue
			}
			t.Errorf("%#x: %x %s %s: %s", l.addr, l.code, l.mnemonic, l.operands, diff)
			if tally.Wrong++; tally.Wrong > 40 {
				return tally.Compared
			}
		}
		i = n
	}
	return tally.Compared
}

// mostly is the mode of most lines.
func mostly(lines []line) string {
	thumb := 0
	for i := range lines {
		if lines[i].thumb {
			thumb++
		}
	}
	if 2*thumb > len(lines) {
		return "Thumb-2"
	}
	return "A32"
}

// TestBinaries compares every instruction of real programs with objdump. Those
// with symbols have the mapping symbols that tell A32, Thumb and data apart; the
// bare-metal one is Thumb alone, and is compared literal pools and all.
func TestBinaries(t *testing.T) {
	for _, file := range withSymbols(t) {
		t.Run(filepath.Base(file), func(t *testing.T) { check(t, decoder{}, file, dump(t, "-d", file)) })
	}
	for name, file := range recorded.Programs(t, "cortexm3/*", "naked") {
		t.Run(name, func(t *testing.T) { check(t, decoder{micro: true}, name, dump(t, "-M", "force-thumb", "-d", file)) })
	}
}

// withSymbols are programs with symbols: testdata's, and larger ones where they are
// at hand.
func withSymbols(t *testing.T) []string {
	files := []string{recorded.Testdata(t, "modes/a32.elf"), recorded.Testdata(t, "modes/t32.elf")}
	for _, c := range recorded.Cases(t, "arm[at]*/*-O2") {
		if file, ok := recorded.Program(t, &c, "sym"); ok {
			files = append(files, file)
		}
	}
	return files
}

// TestLibraries compares Debian's libraries for the profiles and for old cores:
// libgcc always, the larger ones with BACKSIGHT_LONG.
func TestLibraries(t *testing.T) {
	long := difftest.Long()
	cases := []struct {
		pattern string
		long    bool
		d       decoder
		args    []string
	}{
		{"/usr/lib/gcc/arm-none-eabi/*/thumb/v6-m/nofp/libgcc.a", false, decoder{micro: true}, nil},
		{"/usr/lib/gcc/arm-none-eabi/*/thumb/v8.1-m.main+mve/hard/libgcc.a", false, decoder{micro: true}, nil},
		{"/usr/lib/gcc/arm-none-eabi/*/arm/v5te/softfp/libgcc.a", false, decoder{}, nil},
		{"/usr/lib/arm-none-eabi/newlib/thumb/v[678]*-m*/*/libc.a", true, decoder{micro: true}, nil},
		{"/usr/lib/arm-none-eabi/newlib/thumb/v[678]*-m*/*/libm.a", true, decoder{micro: true}, nil},
		{"/usr/lib/arm-none-eabi/newlib/arm/v5te/*/libc.a", true, decoder{}, nil},
		{"/usr/arm-linux-gnueabihf/lib/libc.a", true, decoder{}, nil},
		{"/usr/arm-linux-gnueabihf/lib/libc.so.6", true, decoder{}, []string{"-M", "force-thumb"}},
	}
	for _, c := range cases {
		files, _ := filepath.Glob(c.pattern)
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				if c.long && !long {
					t.Skip("BACKSIGHT_LONG is not set")
				}
				check(t, c.d, file, dump(t, append(c.args, "-d", file)...))
			})
		}
	}
}

// TestFurtherBinaries compares what BACKSIGHT_BINARIES names; without mapping symbols
// the name tells whether it is Thumb, and literal pools are compared like random words.
func TestFurtherBinaries(t *testing.T) {
	for _, file := range difftest.Files(elf.EM_ARM, nil) {
		t.Run(file, func(t *testing.T) {
			args := []string{"-d", file}
			if strings.Contains(file, "armhf") || strings.Contains(file, "t32") {
				args = append(args, "-M", "force-thumb")
			}
			check(t, decoder{}, file, slices.DeleteFunc(dump(t, args...), func(l line) bool { return !allocated(&l) }))
		})
	}
}

// TestRandomWords compares encodings that compilers do not make.
func TestRandomWords(t *testing.T) {
	n := 20000
	if difftest.Long() {
		n = 1000000
	}
	random := rand.New(rand.NewSource(1))
	for _, c := range []struct {
		mode    cpu.Mode
		d       decoder
		machine string
	}{{0, decoder{}, "armv8-a"}, {1, decoder{}, "armv8-a"}, {1, decoder{micro: true}, "armv8.1-m.main"}} {
		mode := c.mode
		code := make([]byte, 0, 4*n)
		for len(code) < cap(code) {
			w := randomWord(random.Uint32(), mode)
			code = append(code, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
		}
		file := difftest.Raw(t, code)
		args := []string{"-b", "binary", "-m", c.machine, "-D", file}
		if mode == 1 {
			args = append(args, "-M", "force-thumb")
		}
		var known []line
		for _, l := range dump(t, args...) {
			if allocated(&l) {
				known = append(known, l)
			}
		}
		t.Logf("%d of %d compared", check(t, c.d, "random words", known), n)
	}
}

// randomWord makes r an instruction: mostly unconditional in A32, mostly of two
// halfwords in Thumb, and with the coprocessors that exist on today's CPUs, for
// objdump reads the FPA's and Maverick's instructions into the others.
func randomWord(r uint32, mode cpu.Mode) uint32 {
	w := r
	if mode == 1 {
		w = w<<16 | w>>16 | 0xe800_0000
	} else if r>>30 != 0 {
		w = w&0x0fff_ffff | 0xe000_0000
	}
	if w>>26&3 == 3 {
		w = w&^0xf00 | [4]uint32{10, 11, 14, 15}[r>>5&3]<<8
	}
	if mode == 1 {
		w = w<<16 | w>>16
	}
	return w
}

// allocated leaves out what objdump marks as no good instruction, and compares
// without S, which it reads into A32's unallocated miscellaneous space.
func allocated(l *line) bool {
	text := l.mnemonic + " " + l.operands
	for _, bad := range []string{"UNPREDICTABLE", "undefined", "illegal", "UNDEFINED", "??", "cfl", "cfs", "invalid", "overflow", "FPCXT", "unknown"} {
		if strings.Contains(text, bad) {
			return false
		}
	}
	if !l.thumb {
		base, _, _, _ := split(l.mnemonic)
		if strings.Contains(" tst teq cmp cmn ", " "+base+" ") && l.code[2]&0x10 == 0 {
			return false
		}
	}
	return l.mnemonic[0] != '<' && l.mnemonic[0] != '@'
}
