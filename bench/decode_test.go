package bench_test

import (
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/synth/recorded"
)

// decoded are the recorded programs whose code the decoders are measured on, the C
// library with them. Where the program is of another mode than its C library, most of
// it would be read as what it is not: see below.
var decoded = []struct {
	name, dir string
	mode      cpu.Mode
}{
	{"x86_64", "x86_64/pub-gcc-O2", 0},
	{"i386", "i386/pub-gcc-O2", 0},
	{"aarch64", "aarch64/pub-gcc-O2", 0},
	{"thumb2", "armt2/pub-gcc-O2", 1},
	{"cortexm", "cortexm3/pub-gcc-Os", 1},
	{"riscv64", "riscv64/pub-gcc-O2", 0},
	{"rv32imac", "rv32imac/pub-gcc-Os", 0},
	{"mips", "mips/pub-gcc-O2", 0},
	{"mipsr6", "mipsr6/pub-gcc-O2", 0},
	{"mips64el", "mips64el/pub-gcc-O2", 0},
}

// BenchmarkDecode decodes all code of a program, 64 instructions at a time: real code
// in its order, for where a decoder goes is often mispredicted there, and never in a
// short listing. Time is the thread's.
func BenchmarkDecode(b *testing.B) {
	for _, c := range decoded {
		b.Run(c.name, func(b *testing.B) {
			decodes(b, recorded.Shared(b, "truth/public", c.dir, "naked.elf"), c.mode)
		})
	}
	// Small programs without a C library, for code that Debian has no library of. Some
	// 2,000 instructions are what a processor learns in part: the figures are higher than
	// those of a large program.
	for name, mode := range map[string]cpu.Mode{"a32": 0, "mips16": 1, "micromips": 1} {
		b.Run(name, func(b *testing.B) { decodes(b, recorded.Testdata(b, "modes", name+".elf"), mode) })
	}
}

func decodes(b *testing.B, path string, mode cpu.Mode) {
	img, err := elf.Open(path, image.Options{Archs: backsight.CPUs(), NoDebugFiles: true})
	if err != nil {
		b.Skip(err)
	}
	defer img.Close()
	text, ok := img.Sections.Named(".text")
	if !ok {
		b.Skip("no .text")
	}
	now, release := threadTime()
	defer release()
	out := make([]cpu.Insn, 64)
	b.ReportAllocs()
	n, start := 0, now()
	for b.Loop() {
		n += decodeAll(img.Arch.Decoder, text, mode, out)
	}
	b.ReportMetric(float64(n)/(now()-start).Seconds()/1e6, "Minsn/s")
}

// decodeAll returns how many instructions there are.
func decodeAll(d cpu.Decoder, text image.Section, mode cpu.Mode, out []cpu.Insn) (count int) {
	code, pc := text.Data, text.Addr
	for {
		n := d.Decode(code, pc, mode, out)
		if n == 0 {
			return count
		}
		size := 0
		for i := range out[:n] {
			size += int(out[i].Len)
		}
		code, pc, count = code[size:], pc+uint64(size), count+n
	}
}
