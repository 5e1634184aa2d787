package cfi_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/unwind"
)

// long asks for every function of every file.
func long() bool { return os.Getenv("BACKSIGHT_LONG") != "" }

// TestAgainstReadelf compares the rows of real binaries, of all processors, with
// those that binutils prints: at the first and at the last address of each row.
func TestAgainstReadelf(t *testing.T) {
	if _, err := exec.LookPath("readelf"); err != nil {
		t.Skip("no readelf")
	}
	for _, path := range binaries(t) {
		t.Run(strings.Trim(strings.ReplaceAll(path, "/", "_"), "._"), func(t *testing.T) {
			img, err := elf.Open(path, image.Options{Archs: captured.Archs(), NoDebugFiles: true})
			if err != nil {
				t.Skip(err)
			}
			defer img.Close()
			c := comparison{t: t, img: img, every: 17, done: map[uint64]bool{}}
			if long() {
				c.every = 1
			}
			c.run(path)
			t.Logf("%d functions, %d rows compared, %d not compared", c.fdes, c.rows, c.skipped)
		})
	}
}

// binaries lists what there is of libraries and recorded programs.
func binaries(t *testing.T) (files []string) {
	patterns := []string{"/lib/x86_64-linux-gnu/libc.so.6", "/usr/aarch64-linux-gnu/lib/libc.so.6"}
	if long() {
		patterns = []string{"/lib/x86_64-linux-gnu/*.so.[0-9]*", "/usr/*-linux-gnu*/lib/*.so.[0-9]*"}
	}
	seen := map[string]bool{}
	for _, p := range patterns {
		found, _ := filepath.Glob(p)
		for _, f := range found {
			if real, err := filepath.EvalSymlinks(f); err == nil && !seen[real] {
				seen[real] = true
				files = append(files, f)
			}
		}
	}
	programs := recorded.Programs(t, "*/*", "stripped")
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		if long() || !strings.Contains(name, "-O0") {
			files = append(files, programs[name])
		}
	}
	return files
}

// comparison reads the output of readelf --debug-dump=frames-interp.
type comparison struct {
	t                   *testing.T
	img                 *image.Image
	every               int
	fdes, rows, skipped int
	failures            int
	src                 cfi.Source
	done                map[uint64]bool // functions that an earlier section has
}

// block is one CIE or FDE as printed.
type block struct {
	cie     bool
	number  string // as FDEs name CIEs
	lo, hi  uint64
	columns []string // CFA first
	ra      int      // the return address column's number
	rows    []printed
}

type printed struct {
	loc   uint64
	cells []string
}

func (c *comparison) run(path string) {
	cmd := exec.Command("readelf", "-W", "--debug-dump=frames-interp", path)
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		c.t.Skip("readelf does not run")
	}
	c.read(out)
	_ = cmd.Wait() // warnings about other sections are no matter
}

func (c *comparison) read(out io.Reader) {
	cies := map[string]*block{}
	var b *block
	flush := func() {
		if b != nil {
			c.block(b, cies)
		}
		b = nil
	}
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := slices.DeleteFunc(strings.Fields(sc.Text()), isName)
		switch {
		case len(line) == 0 || line[len(line)-1] == "terminator":
		case strings.HasPrefix(sc.Text(), "Contents of"):
			flush()
			cies = map[string]*block{}
		case len(line) > 3 && line[3] == "CIE":
			flush()
			b = &block{cie: true, number: line[0]}
			b.ra, _ = strconv.Atoi(strings.TrimPrefix(line[len(line)-1], "ra="))
			cies[line[0]] = b
		case len(line) > 5 && line[3] == "FDE":
			flush()
			b = &block{number: strings.TrimPrefix(line[4], "cie=")}
			lo, hi, _ := strings.Cut(strings.TrimPrefix(line[5], "pc="), "..")
			b.lo, b.hi = number(lo), number(hi)
		case line[0] == "LOC" && b != nil:
			b.columns = line[1:]
		case b != nil && b.columns != nil && len(line) == len(b.columns)+1:
			b.rows = append(b.rows, printed{number(line[0]), line[1:]})
		}
	}
	flush()
}

// isName tells the name that follows the number of a register: r1 (rdx).
func isName(field string) bool { return strings.HasPrefix(field, "(") }

func number(s string) uint64 {
	v, _ := strconv.ParseUint(s, 16, 64)
	return v
}

// block compares one function. One without instructions of its own has the row
// of its CIE.
func (c *comparison) block(b *block, cies map[string]*block) {
	if b.cie || b.lo == b.hi {
		return
	}
	if c.fdes++; c.fdes%c.every != 0 {
		return
	}
	cie := cies[b.number]
	if cie == nil || c.done[b.lo] || !c.img.Segments.Executable(b.lo) { // again in another FDE; discarded
		c.skipped++
		return
	}
	c.done[b.lo], b.ra = true, cie.ra
	if len(b.rows) == 0 && len(cie.rows) > 0 {
		b.columns = cie.columns
		b.rows = []printed{{b.lo, cie.rows[len(cie.rows)-1].cells}}
	}
	for i := range b.rows {
		end := b.hi
		if i+1 < len(b.rows) {
			end = b.rows[i+1].loc
		}
		if lo := b.rows[i].loc; lo < end {
			c.row(b, &b.rows[i], lo)
			c.row(b, &b.rows[i], end-1)
		}
	}
}

func (c *comparison) row(b *block, want *printed, pc uint64) {
	arch := c.img.Arch
	if arch.LR != cpu.NoReg && slices.Contains(want.cells, "c+8") {
		c.skipped++ // a return address above the CFA: see TestReturnAddressAboveCFA
		return
	}
	c.rows++
	if arch.ISABit {
		pc &^= 1
	}
	var rule stackwalk.Rule
	v := c.src.Rule(&stackwalk.Query{Image: c.img, Arch: arch, PC: pc, Exact: true}, &rule)
	if v != unwind.Found {
		c.fail(b, pc, fmt.Sprintf("verdict %v, readelf has %v", v, want.cells))
		return
	}
	for i, column := range b.columns {
		if column == "ra" && !isX1(arch, b, i) {
			column = "return address"
		}
		got, ok := cellText(arch, &rule, b.ra, column, want.cells[i])
		if ok && got != want.cells[i] {
			c.fail(b, pc, fmt.Sprintf("%s is %s, readelf has %s; rule %s", column, got, want.cells[i], rule.Format(arch)))
		}
	}
}

// isX1 tells whether the column called ra is not the return address's but that of
// a register of this name: on RISC-V, in functions that are called through t0.
func isX1(arch *cpu.Arch, b *block, i int) bool {
	reg, ok := arch.RegByName("ra")
	return ok && arch.Regs[reg].DWARF != b.ra && !slices.Contains(b.columns[:i], "ra")
}

func (c *comparison) fail(b *block, pc uint64, what string) {
	if c.failures++; c.failures <= 10 {
		c.t.Errorf("function %#x, pc %#x: %s", b.lo, pc, what)
	}
}

// cellText writes a rule in readelf's words. It reports false for registers that
// the ABI's descriptor lacks. readelf writes u for undefined and for unspecified;
// a return address that is either unspecified or the same is in its own register.
func cellText(arch *cpu.Arch, rule *stackwalk.Rule, raColumn int, column, like string) (string, bool) {
	switch column {
	case "CFA":
		return ruleText(arch, rule.CFA, like), true
	case "return address":
		if rule.RA.Kind == stackwalk.RegPlus && (like == "u" || like == "s") && arch.Regs[rule.RA.Base].DWARF == raColumn {
			return like, true
		}
		return ruleText(arch, rule.RA, like), true
	}
	reg, ok := arch.RegByName(column)
	if !ok || reg == arch.PC {
		return "", false
	}
	if r := rule.Of(reg); reg != arch.LR || r.Kind != stackwalk.SameValue || like != "u" {
		return ruleText(arch, r, like), true
	}
	return "u", true // as in functions that are called through another register
}

func ruleText(arch *cpu.Arch, r stackwalk.RegRule, like string) string {
	switch r.Kind {
	case stackwalk.Unspecified, stackwalk.Undefined:
		return "u"
	case stackwalk.SameValue:
		return "s"
	case stackwalk.AtCFA:
		return fmt.Sprintf("c%+d", r.Off)
	case stackwalk.CFAPlus:
		return fmt.Sprintf("v%+d", r.Off)
	case stackwalk.Expression, stackwalk.AtReg:
		return "exp" // of the second, readelf shows no more either
	case stackwalk.ValExpression:
		if r.Reg == cpu.NoReg && like == "exp" {
			return "exp"
		}
		return "vexp"
	}
	if r.Base == cpu.NoReg {
		return "untracked"
	}
	if !strings.ContainsAny(like, "+-") {
		return fmt.Sprintf("r%d", arch.Regs[r.Base].DWARF)
	}
	return baseText(arch, r, like)
}

// baseText is register plus offset, with that name of the register which readelf
// chose.
func baseText(arch *cpu.Arch, r stackwalk.RegRule, like string) string {
	name := like[:strings.IndexAny(like, "+-")]
	if reg, ok := arch.RegByName(name); !ok || reg != r.Base {
		name = arch.RegName(r.Base)
	}
	return fmt.Sprintf("%s%+d", name, r.Off)
}
