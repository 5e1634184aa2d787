package device

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/tables/device"
	"github.com/backsight/backsight/internal/tables/segment"
	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/debian"
	"github.com/backsight/backsight/lab/tracer"
)

// Machine is a Linux machine on which device/test/walks.c runs, emulated: its compiler with the flags
// of the instruction set, and QEMU's user mode.
type Machine struct {
	Name     string
	Compiler []string
	Emulator []string
	// Debian is Debian's name for the CPU, "" where Debian 12 has no packages.
	Debian string
}

// Machines are those that Debian has cross compilers and emulators for.
func Machines() []Machine {
	const arm, n64, n64el = "arm-linux-gnueabihf-gcc", "mips64-linux-gnuabi64-gcc", "mips64el-linux-gnuabi64-gcc"
	return []Machine{
		{"mips", []string{"mips-linux-gnu-gcc"}, []string{"qemu-mips"}, ""},
		{"mipsel", []string{"mipsel-linux-gnu-gcc"}, []string{"qemu-mipsel"}, "mipsel"},
		{"mips64", []string{n64}, []string{"qemu-mips64"}, ""},
		{"mips64el", []string{n64el}, []string{"qemu-mips64el"}, "mips64el"},
		{"armarm", []string{arm, "-marm"}, []string{"qemu-arm"}, "armhf"},
		{"armt2", []string{arm, "-mthumb"}, []string{"qemu-arm"}, "armhf"},
		{"aarch64", []string{"aarch64-linux-gnu-gcc"}, []string{"qemu-aarch64"}, "arm64"},
		{"riscv64", []string{"riscv64-linux-gnu-gcc"}, []string{"qemu-riscv64"}, ""},
		{"i386", []string{"i686-linux-gnu-gcc"}, []string{"qemu-i386"}, "i386"},
		{"x86_64", []string{"x86_64-linux-gnu-gcc"}, []string{"qemu-x86_64"}, "amd64"},
	}
}

// libunwind are the compiler's flags for libunwind out of Debian's packages, which are unpacked below a
// folder.
func (m *Machine) libunwind(ctx context.Context, dir string) ([]string, error) {
	root, err := debian.Unpack(ctx, m.Debian, dir, "libunwind-dev", "liblzma-dev")
	if err != nil {
		return nil, err
	}
	libraries, err := filepath.Glob(filepath.Join(root, "usr/lib/*/libunwind.a"))
	if err != nil || len(libraries) == 0 {
		return nil, errors.Join(err, errors.New("no libunwind.a"))
	}
	folder := filepath.Dir(libraries[0])
	include := filepath.Join(root, "usr/include", filepath.Base(folder))
	flags := []string{"-DLIBUNWIND", "-idirafter", include, "-idirafter", filepath.Join(root, "usr/include")}
	// libunwind has functions of GCC's names, too: those are to be GCC's.
	return append(flags, "-lgcc_eh", libraries[0], filepath.Join(folder, "liblzma.a"), "-lpthread"), nil
}

// Ways are the ways to walk, by their numbers in walks.c.
var Ways = [...]string{1: "backsight.c", 2: "_Unwind_Backtrace", 3: "a scan", 4: "libunwind"}

// fromHandler is the way that begins in the signal's handler.
const fromHandler = 2

// Way is how a way to walk did. A chain is whole up to main, wrong with a frame that was not there.
type Way struct {
	N, Whole, Wrong int
	// Cost is the instructions per frame found, of each walk.
	Cost []int
}

// Walks runs the program on a machine and judges its walks; its table comes from its code alone. src is
// the folder of the reader, dir for what is built, packages for Debian's: "" for no libunwind.
func Walks(ctx context.Context, m *Machine, src, dir, packages string) (ways [len(Ways)]Way, err error) {
	program := filepath.Join(dir, "walks")
	if err := m.build(ctx, src, program, packages); err != nil {
		return ways, err
	}
	entry, err := tracer.MainOf(program)
	if err != nil {
		return ways, err
	}
	if err := AddTable(ctx, program, nil, "code"); err != nil {
		return ways, err
	}
	plugin, err := tracer.Build(ctx, filepath.Join(dir, "plugin"))
	if err != nil {
		return ways, err
	}
	found := filepath.Join(dir, "found")
	const limit = math.MaxInt32 // instructions; the programs end long before
	job := tracer.Job{Plugin: plugin, Emulator: m.Emulator, Root: "/", Program: program, Args: []string{found}, Dir: dir, Limit: limit}
	trace, err := tracer.Run(ctx, &job)
	if err != nil { // the tracer has not found main itself
		job.Main = entry
		trace, err = tracer.Run(ctx, &job)
	}
	if err != nil {
		return ways, err
	}
	f, err := os.Open(found)
	if err != nil {
		return ways, err
	}
	defer f.Close()
	return judge(f, trace)
}

// build compiles the program, with unwind tables for the others.
func (m *Machine) build(ctx context.Context, src, out, packages string) error {
	args := append(slices.Clone(m.Compiler[1:]), "-O2", "-static", "-funwind-tables", "-fasynchronous-unwind-tables", "-o", out)
	port, err := filepath.Glob(filepath.Join(src, "ports/linux/*.c"))
	if err != nil {
		return err
	}
	args = append(append(args, filepath.Join(src, "test/walks.c"), filepath.Join(src, "backsight.c")), port...)
	if packages != "" && m.Debian != "" {
		flags, err := m.libunwind(ctx, packages)
		if err != nil {
			return err
		}
		args = append(args, flags...)
	}
	if b, err := child.Command(ctx, m.Compiler[0], args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, b)
	}
	return nil
}

// AddTable adds the table of a program to it at an address; nil: behind the program. sources are those of the rules, all where there are none.
func AddTable(ctx context.Context, program string, at *uint64, sources ...string) error {
	files := backsight.NewFiles(input.FileOptions{})
	defer files.Close()
	img, err := files.Open(program)
	if err != nil {
		return err
	}
	rules, err := backsight.ListRules(ctx, img, sources...)
	if err != nil {
		return err
	}
	table, _, err := device.Encode(rules)
	if err != nil {
		return err
	}
	elf, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if elf, err = segment.Add(elf, table, at); err != nil {
		return err
	}
	return errors.Join(os.Remove(program), os.WriteFile(program, elf, 0o755))
}

// marked are the marks of a sample by way: the steps at which a walk began and ended.
type marked struct {
	steps [len(Ways)][2]int
	// chain is the true one, from the interrupted instruction to main's caller; the handler returns to
	// trampoline.
	chain      []uint64
	trampoline uint64
}

// judge compares what a program wrote with what the emulator saw.
func judge(found io.Reader, trace *tracer.Trace) (ways [len(Ways)]Way, err error) {
	samples := map[int]*marked{}
	for _, m := range trace.Marks {
		n := m.Number / 2 / len(Ways)
		if samples[n] == nil {
			samples[n] = interrupted(m.Chain)
		}
		samples[n].steps[m.Number/2%len(Ways)][m.Number%2] = m.Step
	}
	lines := bufio.NewScanner(found)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 2 || f[1] == "tables" {
			continue
		}
		n, err1 := strconv.Atoi(f[0])
		way, err2 := strconv.Atoi(f[1])
		if s := samples[n]; err1 == nil && err2 == nil && s != nil && way > 0 && way < len(Ways) {
			ways[way].judge(s, way, f[2:])
		}
	}
	return ways, lines.Err()
}

// interrupted is the chain below the last signal: its instruction, then return addresses.
func interrupted(chain []tracer.Activation) *marked {
	var m marked
	i := slices.IndexFunc(chain, func(a tracer.Activation) bool { return a.Signal })
	if i > 0 {
		m.trampoline = uint64(chain[i-1].Ret)
	}
	for ; i >= 0 && i < len(chain); i++ {
		m.chain = append(m.chain, uint64(chain[i].Ret))
	}
	return &m
}

// judge adds one walk. What walks from within the handler finds its frames first, and is judged from the
// trampoline on.
func (w *Way) judge(s *marked, way int, fields []string) {
	var got []uint64
	for _, f := range fields {
		pc, _ := strconv.ParseUint(f, 16, 64)
		got = append(got, pc)
	}
	counted := s.steps[0][1] - s.steps[0][0]
	w.Cost = append(w.Cost, (s.steps[way][1]-s.steps[way][0]-counted)/max(len(got), 1))
	w.N++
	if len(s.chain) == 0 {
		return
	}
	if way == fromHandler {
		i := slices.Index(got, s.trampoline)
		if i < 0 {
			return
		}
		got = got[i+1:]
	}
	same := 0
	for same < min(len(got), len(s.chain)) && got[same] == s.chain[same] {
		same++
	}
	switch {
	case same == len(s.chain):
		w.Whole++
	case same < len(got):
		w.Wrong++
	}
}

// Percentile is the instructions per frame that a share of the walks stays within.
func (w *Way) Percentile(share float64) int {
	if len(w.Cost) == 0 {
		return 0
	}
	slices.Sort(w.Cost)
	return w.Cost[int(share*float64(len(w.Cost)-1))]
}
