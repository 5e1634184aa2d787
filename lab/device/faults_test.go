package device_test

import (
	"bufio"
	"debug/elf"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/device"
)

// The ways in which device/test/faults.c fails, in its order.
const (
	plain = iota
	smashed
	wildSP
	oddSP
	overflow
	cycle
	inHook
	called
	service
	elsewhere
)

// TestFaults: whatever a firmware has done to its stack, the report names the frames that can be had, the cause, and
// comes to its end. A Cortex-M loses the place where the stack pointer was wild or the stack full: the processor could
// not save it. Of a full stack the callers are found by a search, and marked. Of a stack that a kernel's entry of traps
// has switched from, the kernel's port knows (bs_interrupted).
func TestFaults(t *testing.T) {
	whole := "touch fail outer start"
	for _, b := range device.Boards() {
		t.Run(b.Name, func(t *testing.T) {
			if err := b.Missing(); err != nil {
				t.Skip(err)
			}
			f := buildFaults(t, &b)
			arm := strings.HasPrefix(b.Name, "cortexm")
			for way, want := range map[int]string{plain: whole, smashed: "touch fail *", wildSP: "touch fail", oddSP: "touch fail", overflow: "overflow fail outer start",
				cycle: "touch fail *", inHook: whole, elsewhere: "touch elsewhere fail outer start"} {
				end := `task: i\s+task: l\s+#0 0x[0-9a-f]+\s+backsight: end \d`
				switch {
				case arm && way == elsewhere: // exceptions have a frame that the reader knows
					continue
				case arm && way == wildSP:
					want = ""
				case arm && way == oddSP: // has no such bits
					want = whole
				case b.Name == "cortexm0" && way == inHook: // nothing is above its only handler
					end = "thread: "
				case way == inHook:
					end = "backsight: a fault in the report"
				}
				log := f.run(t, &b, way)
				untold := b.Name == "cortexm0" && way == overflow // without a guard the stack has overwritten all RAM
				if got := f.frames(log); !untold && !matches(got, strings.Fields(want)) {
					t.Errorf("way %d: %v, want %s:\n%s", way, got, want, log)
				}
				if !regexp.MustCompile(`(?s)^\s*backsight: report 1\s.*(cfsr|mcause|exc_return): [0-9a-f]+.*build: [0-9a-f]{40}\s.*` + end).MatchString(log) {
					t.Errorf("way %d: it printed\n%s", way, log)
				}
			}
		})
	}
}

// TestCalled: a program asks who has called, and so does the handler of an exception, from which the walk goes on to what
// was interrupted. None of it is the reader's.
func TestCalled(t *testing.T) {
	for _, b := range device.Boards() {
		t.Run(b.Name, func(t *testing.T) {
			if err := b.Missing(); err != nil {
				t.Skip(err)
			}
			f := buildFaults(t, &b)
			for way, first := range map[int]string{called: "called", service: "service"} {
				if way == service && strings.HasPrefix(b.Name, "rv") { // has no such handler
					continue
				}
				log := f.run(t, &b, way)
				_, line, _ := strings.Cut(log, "backsight: ")
				var got []string
				for word := range strings.FieldsSeq(line) {
					pc, _ := strconv.ParseUint(word, 0, 64)
					got = append(got, f.function(pc, false))
				}
				want := []string{first, "fail", "outer", "start"}
				if way == service {
					want = slices.Insert(want, 1, "service_entry")
				}
				if !matches(got, want) {
					t.Errorf("%v, want %v: %s", got, want, log)
				}
			}
		})
	}
}

// matches tells whether frames are the wanted functions; * is an address outside of all, behind which there is none. Those of
// RISC-V go on to the code that called start.
func matches(got, want []string) bool {
	if n := len(want); n < len(got) && got[n] == "_start" {
		got = got[:n]
	}
	return slices.Equal(got, want)
}

// faulty is a firmware with its functions.
type faulty struct {
	program string
	way     uint64 // where it reads how to fail
	symbols []elf.Symbol
}

func buildFaults(t *testing.T, b *device.Board) *faulty {
	t.Helper()
	f := &faulty{program: filepath.Join(t.TempDir(), "firmware")}
	if err := b.Build(t.Context(), "../../device", f.program, "-Os", "-g", "-Wall", "-Wextra", "-Wconversion", "test/faults.c"); err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(f.program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if f.symbols, err = file.Symbols(); err != nil {
		t.Fatal(err)
	}
	var table uint64
	for _, s := range f.symbols {
		switch s.Name {
		case "fails":
			f.way = s.Value
		case "backsight_table":
			table = s.Value
		}
	}
	if err := device.AddTable(t.Context(), f.program, &table); err != nil {
		t.Fatal(err)
	}
	return f
}

// run lets the firmware fail in a way, and returns what it printed. An emulator whose processor locks up ends with an
// error.
func (f *faulty) run(t *testing.T, b *device.Board, way int) string {
	t.Helper()
	args := append(slices.Clone(b.Emulator[1:]), "-nographic", "-kernel", f.program,
		"-device", fmt.Sprintf("loader,addr=%#x,data=%d,data-len=4", f.way, way))
	out, _ := child.Command(t.Context(), b.Emulator[0], args...).Output()
	return string(out)
}

// frames are the functions of a report's frames, each once.
func (f *faulty) frames(log string) (names []string) {
	log, _, _ = strings.Cut(log, "task: ")
	lines := bufio.NewScanner(strings.NewReader(log))
	for lines.Scan() {
		if m := regexp.MustCompile(`^#\d+ 0x([0-9a-f]+)`).FindStringSubmatch(lines.Text()); m != nil {
			pc, _ := strconv.ParseUint(m[1], 16, 64)
			if name := f.function(pc, len(names) == 0); len(names) == 0 || names[len(names)-1] != name {
				names = append(names, name)
			}
		}
	}
	return names
}

// function is the function around an address, "*" for none.
func (f *faulty) function(pc uint64, exact bool) string {
	if !exact {
		pc--
	}
	var best elf.Symbol
	for _, s := range f.symbols {
		if at := s.Value &^ 1; (elf.ST_TYPE(s.Info) == elf.STT_FUNC || s.Name == "_start") && at <= pc && (pc < at+s.Size || s.Name == "_start") && at >= best.Value {
			best, best.Value = s, at
		}
	}
	if best.Name == "" || best.Name == "_start" && pc-best.Value > 16 {
		return "*"
	}
	name, _, _ := strings.Cut(best.Name, ".")
	return name
}
