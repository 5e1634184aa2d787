package device

import (
	"bufio"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/lab/child"
)

// Board is a board without an operating system that QEMU emulates: its compiler with flags, the folder of its port
// below that of the reader, the emulator.
type Board struct {
	Name     string
	Compiler []string
	Port     string
	Emulator []string
}

// Boards are of each profile of Cortex-M one, and of RISC-V each width.
func Boards() []Board {
	arm := func(name, board, place string, flags ...string) Board {
		const ld = "-Wl,--defsym=FLASH_AT=%s,--defsym=RAM_AT=%s,--defsym=RAM_SIZE=%s"
		at := strings.Fields(place)
		args := append([]string{"arm-none-eabi-gcc", "-mthumb", "-T", "test/metal/cortexm.ld", fmt.Sprintf(ld, at[0], at[1], at[2])}, flags...)
		return Board{name, args, "ports/cortexm", []string{"qemu-system-arm", "-M", board, "-semihosting"}}
	}
	riscv := func(name, emulator string, flags ...string) Board {
		args := append([]string{"riscv64-unknown-elf-gcc", "-T", "test/metal/riscv.ld", "-mcmodel=medany"}, flags...)
		return Board{name, args, "ports/riscv", []string{emulator, "-M", "virt", "-bios", "none"}}
	}
	const mps2 = "0 0x20000000 64K"
	return []Board{
		arm("cortexm0", "microbit", "0 0x20000000 16K", "-mcpu=cortex-m0", "-DBOARD_MICROBIT"),
		arm("cortexm3", "mps2-an385", mps2, "-mcpu=cortex-m3"),
		arm("cortexm4f", "mps2-an386", mps2, "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
		arm("cortexm33", "mps2-an505", "0x10000000 0x38000000 64K", "-mcpu=cortex-m33+nofp", "-DBOARD_AN505"),
		riscv("rv32imac", "qemu-system-riscv32", "-march=rv32imac", "-mabi=ilp32"),
		riscv("rv64imac", "qemu-system-riscv64", "-march=rv64imac", "-mabi=lp64"),
	}
}

// Missing is a tool of the board that this machine lacks, nil for none.
func (b *Board) Missing() error {
	for _, tool := range []string{b.Compiler[0], b.Emulator[0]} {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	return nil
}

// Build compiles files, which lie in the folder of the reader, src, with the reader and the board's port.
func (b *Board) Build(ctx context.Context, src, out string, args ...string) error {
	port, err := filepath.Glob(filepath.Join(src, b.Port, "*.c"))
	if err != nil {
		return err
	}
	for _, f := range port {
		args = append(args, b.Port+"/"+filepath.Base(f))
	}
	args = append(append(slices.Clone(b.Compiler[1:]), "-ffreestanding", "-nostdlib", "-o", out, "backsight.c", "test/board.c"), args...)
	cmd := child.Command(ctx, b.Compiler[0], append(args, "-lgcc")...)
	cmd.Dir = src
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

// metal compiles the program whose work is interrupted. Only the functions of its work are instrumented.
func (b *Board) metal(ctx context.Context, src, out, level string) error {
	return b.Build(ctx, src, out, level, "-fno-optimize-sibling-calls", "-finstrument-functions",
		"-finstrument-functions-exclude-file-list=backsight.c,metal.c,board.c,cortexm,riscv",
		"test/metal/work.c", "test/metal/metal.c", "test/metal/"+filepath.Base(b.Port)+".c")
}

// Metal runs the program, compiled at an optimization level, on a board and judges the reader's walks; the
// table comes from the code alone. -O3 is none of the levels: it inlines functions that are instrumented all the
// same. src is the folder of the reader, dir for what is built.
func Metal(ctx context.Context, b *Board, src, dir, level string) (Way, error) {
	program, err := filepath.Abs(filepath.Join(dir, "metal"))
	if err != nil {
		return Way{}, err
	}
	if err := b.metal(ctx, src, program, level); err != nil {
		return Way{}, err
	}
	functions, table, err := symbolsOf(program)
	if err != nil {
		return Way{}, err
	}
	if err := AddTable(ctx, program, &table, "code"); err != nil {
		return Way{}, err
	}
	// An instruction at a time, so that interrupts come before any; time goes by instructions.
	args := append(slices.Clone(b.Emulator[1:]), "-nographic", "-singlestep", "-icount", "shift=5,sleep=off", "-rtc", "clock=vm", "-kernel", program)
	out, err := child.Command(ctx, b.Emulator[0], args...).Output()
	if err != nil && len(out) == 0 {
		return Way{}, err
	}
	return functions.judge(strings.NewReader(string(out)))
}

// starts are where the functions of a program begin, sorted.
type starts []uint64

// symbolsOf reads where functions begin, and the address that the table is to lie at.
func symbolsOf(program string) (s starts, table uint64, err error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	for _, sym := range symbols {
		if elf.ST_TYPE(sym.Info) == elf.STT_FUNC || sym.Name == "_start" || sym.Name == "trap" {
			s = append(s, sym.Value&^1)
		}
		if sym.Name == "backsight_table" {
			table = sym.Value
		}
	}
	slices.Sort(s)
	return s, table, err
}

// of is the begin of the function around an address.
func (s starts) of(pc uint64) uint64 {
	i, found := slices.BinarySearch(s, pc)
	if !found {
		i--
	}
	return s[max(i, 0)]
}

// sample is what was found at one interrupt: the reader's chain and, by the shadow stack, where the running
// functions return to, the last first, and the last one itself.
type sample struct {
	walk, returns []uint64
	last          uint64
}

func parseSample(line string) (s sample, err error) {
	walk, running, found := strings.Cut(line, ":")
	if !found {
		return s, errors.New("no sample")
	}
	number := func(f string) uint64 {
		v, bad := strconv.ParseUint(f, 16, 64)
		err = errors.Join(err, bad)
		return v
	}
	for _, f := range strings.Fields(walk) {
		s.walk = append(s.walk, number(f))
	}
	for i, f := range strings.Fields(running) {
		switch {
		case i%2 == 0:
			s.returns = append(s.returns, number(f))
		case i == 1:
			s.last = number(f)
		}
	}
	return s, err
}

// judge compares all samples but those outside of the work.
func (s starts) judge(samples io.Reader) (w Way, err error) {
	lines := bufio.NewScanner(samples)
	for lines.Scan() {
		m, err := parseSample(lines.Text())
		if err != nil {
			return w, fmt.Errorf("%w: %q", err, lines.Text())
		}
		if len(m.returns) == 0 || len(m.walk) == 0 {
			continue
		}
		w.N++
		switch whole, agrees := s.compare(&m); {
		case whole:
			w.Whole++
		case !agrees:
			w.Wrong++
		}
	}
	return w, lines.Err()
}

// compare tells whether a chain is whole, and whether it is right as far as it goes. In front of what the shadow
// stack has may stand functions that it lacks: one that is not instrumented or has not told yet that it runs, and one
// that this one calls. The outermost of these returns into the last that the shadow stack has. Behind
// the work stands at most the function that has started it.
func (s starts) compare(m *sample) (whole, agrees bool) {
	const lacking, above = 3, 1
	returns, agrees := m.walk[1:], len(m.walk) <= lacking // it may stop before
	for k := range min(lacking+1, len(m.walk)) {
		if s.of(m.walk[k]-uint64(min(k, 1))) != m.last {
			continue
		}
		same := 0
		for same < min(len(returns)-k, len(m.returns)) && returns[k+same] == m.returns[same] {
			same++
		}
		if same == len(m.returns) && len(returns)-k-same <= above {
			return true, true
		}
		agrees = k+same == len(returns)
	}
	return false, agrees
}
