package x86

import (
	"debug/elf"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/difftest"
	"github.com/backsight/backsight/internal/synth/recorded"
)

// binaries are what the differential tests run over: recorded programs and, where
// present, libraries, with OpenSSL's and glibc's assembly in them; V8's in the long run.
func binaries(t *testing.T, arch string) (files []string) {
	files = map[string][]string{
		"x86_64": {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"},
		"i386":   {"/usr/i686-linux-gnu/lib/libc.so.6", "/usr/i686-linux-gnu/lib/libm.so.6", "/lib32/libc.so.6"},
	}[arch]
	if difftest.Long() && arch == "x86_64" {
		files = append(files, "/usr/bin/node", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1")
	}
	for _, c := range recorded.Cases(t, arch+"/*") {
		if file, ok := recorded.Program(t, &c, "naked"); ok {
			files = append(files, file)
		}
	}
	machine := map[string]elf.Machine{"x86_64": elf.EM_X86_64, "i386": elf.EM_386}[arch]
	return append(files, difftest.Files(machine, nil)...)
}

// section is executable code of a file.
type section struct {
	name string
	addr uint64
	data []byte
}

func sections(t *testing.T, path string) []section {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var list []section
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR == 0 || s.Type != elf.SHT_PROGBITS {
			continue
		}
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, section{s.Name, s.Addr, data})
	}
	return list
}

// line is one instruction in objdump's listing.
type line struct {
	addr uint64
	size int
	text string
}

// disassemble runs objdump over from–to of a section and hands on its lines.
func disassemble(t *testing.T, path string, s section, from, to uint64, each func(line)) {
	difftest.Objdump(t, "objdump", func(l difftest.Line) { each(line{l.Addr, len(l.Units), l.Text}) },
		"-d", "-z", "-w", "--insn-width=16", "-j", s.name,
		fmt.Sprintf("--start-address=%#x", from), fmt.Sprintf("--stop-address=%#x", to), path)
}

// differ compares the decoder with objdump over a stretch of code.
type differ struct {
	t      *testing.T
	a      *cpu.Arch
	d      decoder
	s      section
	tally  *difftest.Tally
	counts map[string]int
}

func (d *differ) fail(kind string, l line, i *cpu.Insn, want string) {
	d.tally.Wrong++
	if d.counts[kind]++; d.counts[kind] > 12 {
		return
	}
	at := l.addr - d.s.addr
	d.t.Errorf("%s %#x: % x  %s\n   decoded %s (%d bytes), want %s",
		kind, l.addr, d.s.data[at:at+uint64(l.size)], l.text, format(d.a, i), i.Len, want)
}

// unreadable are the lines of objdump that do not state one instruction.
func unreadable(text string) bool {
	t := split(text)
	return strings.Contains(text, "(bad)") || strings.HasPrefix(text, ".byte") || t.mnemonic == ""
}

// deliberate tells why a known difference stays, all but the first in data among code.
func (d *differ) deliberate(code []byte, l line, i *cpu.Insn) string {
	switch t := split(l.text); {
	case code[0] == 0x9b && l.size > 1 && i.Len == 1:
		return "objdump takes fwait and the next instruction for one: fstcw, finit"
	case d.d.long && (t.mnemonic == "jmpw" || t.mnemonic == "callw") && code[0] == 0x66:
		return "a near branch with 66 in 64-bit mode: objdump reads it as AMD does, the decoder as Intel"
	case d.d.long && t.mnemonic[0] == 'v' && i.Op == cpu.OpUnknown:
		return "REX, 66, F2 or F3 in front of VEX faults; objdump reads on"
	}
	return ""
}

func (d *differ) check(l line) {
	at := l.addr - d.s.addr
	if at >= uint64(len(d.s.data)) {
		return
	}
	var out [1]cpu.Insn
	if d.d.Decode(d.s.data[at:], l.addr, 0, out[:]) == 0 {
		return
	}
	if unreadable(l.text) {
		d.tally.Accept("data among code that is no instruction to objdump")
		return
	}
	i := &out[0]
	d.tally.Compared++
	if reason := d.deliberate(d.s.data[at:], l, i); reason != "" {
		d.tally.Accept(reason)
		return
	}
	if int(i.Len) != l.size {
		d.fail("length", l, i, strconv.Itoa(l.size))
		return
	}
	e := expect(d.a, l.text, l.addr+uint64(l.size))
	switch got := kind(i); {
	case got != e.kind:
		d.fail("kind", l, i, e.kind)
		return
	case e.direct && (i.Target != e.target || i.Flags&cpu.FlagMemory != 0 || i.Src != cpu.NoReg):
		d.fail("target", l, i, fmt.Sprintf("%#x", e.target))
	case e.kind == "syscall":
		return
	}
	if w := writes(d.a, i); w != e.writes {
		d.fail("writes", l, i, "writes "+set(d.a, e.writes))
	}
	text := format(d.a, i)
	switch {
	case e.exact != "" && text != e.exact:
		d.fail("effect", l, i, e.exact)
	case e.store && !strings.HasPrefix(text, e.mem+"."):
		d.fail("store", l, i, "store "+e.mem)
	case e.store && storeSize(split(l.text)) != 0 && int(i.Size) != storeSize(split(l.text)):
		d.fail("size", l, i, strconv.Itoa(storeSize(split(l.text))))
	case !e.store && i.Op == cpu.OpStore && i.Base != d.a.SP:
		d.fail("spurious store", l, i, "none")
	case (e.kind == "call" || e.kind == "jump") && e.mem != "" && !e.direct && !strings.Contains(text, e.mem):
		d.fail("pointer", l, i, e.mem)
	}
}

// storeSize derives the size of a plain store, 0 where the text does not say.
func storeSize(t text) int {
	if len(t.operands) < 2 || !suffixed(t.mnemonic, "mov") && t.mnemonic != "movnti" {
		if t.mnemonic == "movaps" || t.mnemonic == "movups" || t.mnemonic == "movdqa" || t.mnemonic == "movdqu" {
			return 16
		}
		return 0
	}
	if _, size, ok := register(Archs()[0], t.operands[0]); ok {
		return size
	}
	if t.operands[0][0] == '%' {
		return 0
	}
	return map[byte]int{'b': 1, 'w': 2, 'l': 4, 'q': 8}[t.mnemonic[len(t.mnemonic)-1]]
}

func kind(i *cpu.Insn) string {
	switch i.Op {
	case cpu.OpSyscall:
		return "syscall"
	case cpu.OpUnknown:
		return "unknown"
	}
	return difftest.Flow(i)
}

// writes collects the registers that an effect changes.
func writes(a *cpu.Arch, i *cpu.Insn) cpu.RegSet {
	s := i.List
	if i.Op != cpu.OpCompareImm {
		s = s.With(i.Dst).With(i.Dst2)
	}
	if i.WB != 0 {
		s = s.With(i.Base)
	}
	if i.Op == cpu.OpLeave {
		s = s.With(a.SP).With(a.FP)
	}
	return s
}

// The listing of objdump agrees with the decoder in every instruction: length,
// kind, direct target, registers written, and the whole effect where the text
// gives it. BACKSIGHT_LONG=1 runs over all of all binaries, otherwise over samples.
func TestAgainstObjdump(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	for _, a := range Archs() {
		t.Run(a.Name, func(t *testing.T) {
			for _, path := range binaries(t, a.Name) {
				tally := &difftest.Tally{CPU: a.Name, File: path}
				for _, s := range sections(t, path) {
					d := &differ{t: t, a: a, d: *a.Decoder.(*decoder), s: s, tally: tally, counts: map[string]int{}}
					for _, r := range s.samples(1 << 16) {
						disassemble(t, path, s, r[0], r[1], d.check)
					}
				}
				tally.Log(t)
			}
		})
	}
}

// samples are ranges of a section: its first bytes and as many from the middle on; in
// the long run all of it.
func (s *section) samples(size uint64) [][2]uint64 {
	end := s.addr + uint64(len(s.data))
	if difftest.Long() || end-s.addr <= size {
		return [][2]uint64{{s.addr, end}}
	}
	half := s.addr + uint64(len(s.data))/2 + 1
	return [][2]uint64{{s.addr, s.addr + size}, {half, min(half+size, end)}}
}
