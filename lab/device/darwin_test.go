package device_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/compactunwind"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/macho"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/machofile"
	"github.com/backsight/backsight/internal/unwind/compact"
	"github.com/backsight/backsight/lab/device"
	"github.com/backsight/backsight/unwind"
)

// TestCompactInPlace: the C reader of compact unwind gives, for each function of a program that Apple's linker made and of one with
// each kind of encoding, in a page of either kind, the rule that this program's own reader gives.
func TestCompactInPlace(t *testing.T) {
	if !device.Available() {
		t.Skip("no C compiler")
	}
	x8664, a64 := x86.Archs()[0], arm64.Archs()[0]
	encodings := map[*cpu.Arch][]uint32{
		x8664: {0x0100_0000, 0x0105_58d1, 0x0103_0042, 0x0101_0007, 0x0201_0000, 0x0202_0400, 0x0208_1800, 0x0204_080b, 0x0208_18ff,
			0x0208_1c00, 0x0202_0406, 0x0303_2400, 0x03f0_0000, 0x0400_0040, 0},
		a64: {0x0400_0000, 0x0400_0003, 0x0400_0911, 0x0200_2001, 0x0200_0000, 0x0300_0040, 0},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for arch, list := range encodings {
		programs := []string{made(t, arch, list, true), made(t, arch, list, false)}
		if arch == x8664 {
			programs = append(programs, "../../testdata/macos-core/parser", "../../testdata/macos-deep/compact")
		}
		reader := buildCompact(t, arch)
		for _, program := range programs {
			compareCompact(t, arch, reader, program)
		}
		for range 100 {
			damaged(t, random, reader, programs[random.IntN(2)])
		}
	}
}

// buildCompact compiles the reader for this machine, with another one's registers.
func buildCompact(t *testing.T, arch *cpu.Arch) (reader string) {
	t.Helper()
	reader = filepath.Join(t.TempDir(), "compact")
	cc := exec.CommandContext(t.Context(), device.Compiler, "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-fsanitize=address,undefined",
		fmt.Sprintf("-DBS_MACHINE=%d", arch.ELF.Machine), "-DBS_WORD=8", "-o", reader, "../../device/test/compact.c",
		"../../device/ports/darwin/compact.c", "../../device/ports/darwin/images.c")
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return reader
}

// made is a Mach-O file whose functions of 16 bytes have the given encodings. Each begins with sub $0x40, %rsp.
func made(t *testing.T, arch *cpu.Arch, encodings []uint32, compressed bool) (path string) {
	const textAt, infoAt = 0x1000, 0x2000
	n := uint32(len(encodings))
	var code []byte
	for range n {
		code = append(code, 0x48, 0x81, 0xec, 0x40, 0, 0, 0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90)
	}
	info := machofile.U32(1, 28, 0, 28, 0, 28, 2, textAt, 52, 0, textAt+16*n, 0, 0)
	if compressed {
		info = append(info, machofile.U32(3, 12|n<<16, (12+4*n)|n<<16)...)
		for i := range n {
			info = append(info, machofile.U32(i<<24|16*i)...)
		}
		info = append(info, machofile.U32(encodings...)...)
	} else {
		info = append(info, machofile.U32(2, 8|n<<16)...)
		for i, e := range encodings {
			info = append(info, machofile.U32(textAt+16*uint32(i), e)...)
		}
	}
	section := func(name string, at uint64, data []byte, flags uint32) []byte {
		s := append(machofile.Name(name), machofile.Name("__TEXT")...)
		s = append(s, machofile.U64(machofile.Base+at, uint64(len(data)))...)
		return append(s, machofile.U32(uint32(at), 0, 0, 0, flags, 0, 0, 0)...)
	}
	segment := machofile.Command(machofile.LCSegment64, machofile.Name("__TEXT"), machofile.U64(machofile.Base, 0x3000, 0, 0x3000),
		machofile.U32(5, 5, 2, 0), section("__text", textAt, code, machofile.PureInstructions), section("__unwind_info", infoAt, info, 0))
	cpuType := uint32(machofile.CPUTypeX86_64)
	if arch.Name == "aarch64" {
		cpuType = machofile.CPUTypeARM64
	}
	file := make([]byte, 0x3000)
	copy(file, append(machofile.Header64(cpuType, 3, machofile.Execute, 1, segment, 0), segment...))
	copy(file[textAt:], code)
	copy(file[infoAt:], info)
	path = filepath.Join(t.TempDir(), "made")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// damaged lets the reader, which a read outside of the section would end, look at a file with some bytes of the section changed.
func damaged(t *testing.T, random *rand.Rand, reader, program string) {
	t.Helper()
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		data[0x2000+random.IntN(160)] = byte(random.Uint32())
	}
	path := filepath.Join(t.TempDir(), "damaged")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), reader, path)
	cmd.Stdin = strings.NewReader("100001000 100001018 100001040 1000010e0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// compareCompact compares the rules at the beginning of each entry of a program, and behind all.
func compareCompact(t *testing.T, arch *cpu.Arch, reader, program string) {
	t.Helper()
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(program, data, []image.Format{macho.Format()}, image.Options{Archs: append(x86.Archs(), arm64.Archs()...)})
	if err != nil {
		t.Fatal(err)
	}
	var places, want []string
	compactunwind.Of(img).Entries(func(e compactunwind.Entry) bool {
		var rule stackwalk.Rule
		rule.Reset()
		places = append(places, fmt.Sprintf("%x", e.Lo))
		if (compact.Source{}).Rule(&stackwalk.Query{Image: img, Arch: arch, PC: e.Lo}, &rule) == unwind.Found {
			want = append(want, rowOf(arch, &rule))
		} else {
			want = append(want, "none")
		}
		return true
	})
	cmd := exec.CommandContext(t.Context(), reader, program)
	cmd.Stdin = strings.NewReader(strings.Join(places, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(want) < 2 || len(got) != len(want) {
		t.Fatalf("%s: %d rules, want %d", program, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s, %s: %s, want %s", program, places[i], got[i], want[i])
		}
	}
}

// rowOf is a rule as device/test/compact.c prints it: registers by DWARF's numbers on x86-64, from x16 on by order on arm64.
func rowOf(arch *cpu.Arch, r *stackwalk.Rule) string {
	names := strings.Fields("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15")
	if arch.Name == "aarch64" {
		names = strings.Fields("x16 x17 x18 x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 x30 sp")
	}
	number := make(map[cpu.Reg]int)
	for i, name := range names {
		reg, _ := arch.RegByName(name)
		number[reg] = i
	}
	const kept, lost, raInRegister = -32768, 32767, 8
	var slots [16]int64
	for i := range slots {
		slots[i] = lost
	}
	for s := arch.Preserved; s != 0; s = s.Without(s.First()) {
		if i, ok := number[s.First()]; ok {
			slots[i] = kept
		}
	}
	flags, ra := 0, int64(-1)
	if r.RA.Kind == stackwalk.RegPlus {
		flags, ra = raInRegister, int64(number[arch.LR])
	}
	for _, saved := range r.Regs[:r.N] {
		slots[number[saved.Reg]] = saved.Off / 8
	}
	return strings.NewReplacer("[", "", "]", "").Replace(fmt.Sprint(number[r.CFA.Base], r.CFA.Off/8, flags, ra, slots))
}
