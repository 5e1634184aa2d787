package e2e_test

import (
	"archive/zip"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// chains are the functions of the crashed task in each scenario, innermost first, as
// testdata/microcontroller/fw.c calls them. A call through a bad pointer has a frame without
// a name first.
var chains = map[string]string{
	"read":      "leaf mid_c mid_b mid_a scenario crash",
	"leaf":      "leaf scenario crash",
	"null":      "? call call_a scenario crash",
	"wild":      "? call call_a scenario crash",
	"float":     "divide real_a scenario crash",
	"deep":      "leaf deep deep deep deep deep deep deep scenario crash",
	"large":     "leaf mid_c mid_b large scenario crash",
	"interrupt": "leaf mid_c mid_b mid_a in_interrupt interrupt",
	"lazy":      "leaf mid_c mid_b mid_a in_interrupt interrupt",
	"chained":   "leaf mid_c mid_b mid_a in_interrupt interrupt",
	"nested":    "leaf mid_c mid_b mid_a in_interrupt inner",
	"startup":   "leaf mid_c mid_b mid_a startup",
	"overflow":  "leaf mid_c mid_b mid_a scenario crash",
	"runaway":   "leaf descend scenario crash",
}

// behind are the functions that an interrupt handler interrupted.
var behind = map[string][]string{
	"interrupt": {"spin wait_interrupt scenario crash"},
	"lazy":      {"spin wait_interrupt scenario crash"},
	"chained":   {"spin_both scenario crash"},
	"nested":    {"between outer interrupt", "spin wait_interrupt scenario crash"},
}

// tasks are the chains of the tasks that wait; the others may be anywhere in their loops.
var tasks = map[string]string{"net": "yield receive poll net", "log": "yield pause logger"}

// TestFirmware: every form in which the firmware reports a crash, on each processor and with
// each kernel's layouts, with all of RAM beside and without. With RAM, the chain is that of
// the source, and every task is there; without, it is a part of it, for as far as the report
// shows the stack. Nothing above a guess is wrong.
func TestFirmware(t *testing.T) {
	archives, err := filepath.Glob("../../testdata/microcontroller/*.zip")
	if err != nil || len(archives) < 30 {
		t.Fatalf("%d firmwares, %v", len(archives), err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".zip"), func(t *testing.T) {
			t.Parallel()
			f := openFirmware(t, archive)
			with := f.binaries(t)
			for name := range f.captures {
				if scenario, _, ok := strings.Cut(name, "."); ok && strings.HasSuffix(name, ".log") {
					f.check(t, name, scenario, with)
				}
			}
		})
	}
}

// port is what differs between the processors: where RAM lies, and what calls the code that
// runs before all tasks.
type port struct {
	cpu   string
	ram   uint64
	first string
}

var ports = map[string]port{
	"m3":    {"arm", 0x2000_0000, "Reset"},
	"m4f":   {"arm", 0x2000_0000, "Reset"},
	"m33":   {"arm", 0x3800_0000, "Reset"},
	"rv32":  {"riscv32", 0x8001_0000, "begin _start"},
	"rv64":  {"riscv64", 0x8001_0000, "begin _start"},
	"a15":   {"arm", 0x4002_0000, "begin _start"},
	"malta": {"mips", 0x8011_0000, "begin _start"},
}

// kernel is what differs between the kernels: the function that calls those of tasks, the
// priority of the task idle, and by how much that of each further task differs. log waits, all others are ready.
type kernel struct {
	name        string
	root        string
	first, step int
}

var kernels = map[string]kernel{
	"freertos":   {name: "FreeRTOS"},
	"freertos11": {name: "FreeRTOS"},
	"rtthread":   {name: "RT-Thread"},
	"threadx":    {name: "ThreadX", root: " shell", first: 20, step: -1},
	"rtx5":       {name: "RTX5", first: 8, step: 8},
	"nuttx":      {name: "NuttX", root: " nxtask_start", first: 50, step: 10},
	"zephyr":     {name: "Zephyr", root: " z_thread_entry", first: 10, step: -1},
	"chibios":    {name: "ChibiOS", root: " thread_begin", first: 20, step: -1},
}

// firmware is one of testdata/microcontroller.
type firmware struct {
	elf    string
	port   port
	kernel kernel
	micro  bool // of ARM's microcontroller profile
	// banked: the entry of interrupts stays in IRQ mode, so that no memory has the stack pointer
	// of what was interrupted.
	banked   bool
	captures map[string][]byte
	dir      string // where RAM is unpacked to
	unwinder *backsight.Unwinder
}

func openFirmware(t *testing.T, archive string) *firmware {
	t.Helper()
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f := &firmware{elf: strings.TrimSuffix(archive, ".zip") + ".elf", captures: make(map[string][]byte), dir: t.TempDir()}
	if f.unwinder, err = backsight.NewUnwinder(backsight.Options{}); err != nil {
		t.Fatal(err)
	}
	name, kernel, _ := strings.Cut(strings.TrimSuffix(filepath.Base(archive), ".zip"), "-")
	f.port, f.kernel = ports[name], kernels[kernel]
	f.micro = name[0] == 'm' && name != "malta"
	f.banked = strings.HasSuffix(f.elf, "a15-rtthread.elf")
	for _, file := range z.File {
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		f.captures[file.Name] = b
		if strings.HasSuffix(file.Name, ".ram") {
			if err := os.WriteFile(filepath.Join(f.dir, file.Name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return f
}

// whole is the chain of a scenario, as far as a backtrace can show it: on a Cortex-M the
// exception itself is no frame, elsewhere code of the firmware enters a trap.
func (f *firmware) whole(scenario string) []string {
	want := strings.Fields(chains[scenario])
	for _, part := range behind[scenario] {
		if !f.micro {
			want = append(want, "trapped", "trap")
		}
		if f.banked { // the interrupted PC, in raise, is all there is
			break
		}
		want = append(want, strings.Fields(part)...)
	}
	if want[len(want)-1] == "crash" {
		want = append(want, strings.Fields(f.kernel.root)...)
	}
	if scenario == "startup" {
		want = append(want, strings.Fields(f.port.first)...)
	}
	return want
}

// binaries are the forms in which a firmware is at hand, each opened once for all logs, since most of a test's time
// goes into the analysis of code: the ELF file; the bytes of the flash alone; the ELF file without symbols and
// exception index.
type binaries struct{ exe, flash, naked *input.Files }

// binaries opens the firmware in each form.
func (f *firmware) binaries(t *testing.T) binaries {
	t.Helper()
	e, err := elf.Open(f.elf)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	text := e.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	flash, bare := filepath.Join(f.dir, "flash.bin"), filepath.Join(f.dir, "naked.elf")
	raw, ok := backsight.CPUs().ByName(f.port.cpu, "", f.port.cpu == "mips")
	if !ok {
		t.Fatal("no " + f.port.cpu)
	}
	if err := errors.Join(os.WriteFile(flash, code, 0o666), os.WriteFile(bare, naked(t, f.elf), 0o666)); err != nil {
		t.Fatal(err)
	}
	return binaries{
		exe:   opened(t, input.FileOptions{Exe: f.elf}),
		flash: opened(t, input.FileOptions{Images: []input.NamedImage{{Path: flash, Bias: text.Addr, Placed: true}}, Raw: raw}),
		naked: opened(t, input.FileOptions{Exe: bare}),
	}
}

// opened are binaries for as long as the test runs.
func opened(t *testing.T, opt input.FileOptions) *input.Files {
	t.Helper()
	files := backsight.NewFiles(opt)
	t.Cleanup(func() { files.Close() })
	return files
}

// check compares one log, alone and with RAM, with the source.
func (f *firmware) check(t *testing.T, log, scenario string, with binaries) {
	want := f.whole(scenario)
	alone := f.report(t, log, "", with.exe)
	if len(alone.Threads) == 0 {
		t.Errorf("%s: no report", log)
		return
	}
	sure, _ := names(&alone.Threads[0])
	runaway(scenario, &sure)
	if n := min(len(sure), len(want)); n == 0 || !slices.Equal(sure, want[:n]) {
		t.Errorf("%s alone: %v; want %v", log, sure, want)
	}
	whole := f.report(t, log, filepath.Join(f.dir, scenario+".ram"), with.exe)
	sure, _ = names(&whole.Threads[0])
	if runaway(scenario, &sure) {
		culprit(t, log, &whole.Threads[0])
	}
	if !strings.Contains(log, ".plain.") {
		// Where a report leaves out SP, and the handler's words overwrote the frame, the
		// caller is all that the link register tells; where it leaves out PSP, the code
		// that an interrupt handler interrupted is not found.
		if n := min(len(sure), len(want)); !slices.Equal(sure[:n], want[:n]) || len(sure) > len(want) {
			t.Errorf("%s with RAM: %v; want %v", log, sure, want)
		}
	} else if !slices.Equal(sure, want) {
		t.Errorf("%s with RAM: %v; want %v", log, sure, want)
	}
	lacks := slices.ContainsFunc(whole.Issues, func(i target.Issue) bool { return strings.Contains(i.Text, "PSP is not printed") })
	if in := behind[scenario] != nil; f.micro && lacks != (in && !strings.Contains(log, ".plain.")) {
		t.Errorf("%s: %v", log, whole.Issues)
	}
	if slices.ContainsFunc(alone.Issues, otherBuild) || slices.ContainsFunc(whole.Issues, otherBuild) {
		t.Errorf("%s: %v; %v", log, alone.Issues, whole.Issues)
	}
	f.checkTasks(t, log, scenario, whole)
	if strings.Contains(log, ".plain.") { // which does not name a kernel
		if whole.Snapshot.OS != f.kernel.name && scenario != "startup" {
			t.Errorf("%s: the kernel is %q", log, whole.Snapshot.OS)
		}
		ram := filepath.Join(f.dir, scenario+".ram")
		f.compare(t, log+", raw", whole, f.report(t, log, ram, with.flash))
		f.compare(t, log+", naked", whole, f.report(t, log, ram, with.naked))
	}
}

// naked is an ELF file whose headers of the symbol table and of the exception index are void.
func naked(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	headers, size := int(e.ByteOrder.Uint32(b[32:])), 40 // e_shoff
	if e.Class == elf.ELFCLASS64 {
		headers, size = int(e.ByteOrder.Uint64(b[40:])), 64
	}
	const armExidx = elf.SHT_LOPROC + 1
	for i, s := range e.Sections {
		if s.Type == elf.SHT_SYMTAB || s.Type == armExidx {
			clear(b[headers+i*size:][:size])
		}
	}
	return b
}

// compare tells where the threads of a report without symbols differ from those with: every thread has the same
// frames, and the same is said of its task.
func (f *firmware) compare(t *testing.T, what string, want, got *report.Report) {
	t.Helper()
	if len(got.Threads) != len(want.Threads) {
		t.Fatalf("%s: %d threads, with symbols %d", what, len(got.Threads), len(want.Threads))
	}
	if slices.ContainsFunc(got.Issues, otherBuild) {
		t.Errorf("%s: %v", what, got.Issues)
	}
	for i := range got.Threads {
		th := &got.Threads[i]
		stale := th.Stale || want.Threads[i].Stale
		if a, b := addresses(th, stale), addresses(&want.Threads[i], stale); !slices.Equal(a, b) {
			t.Errorf("%s: %s is in %#x; with symbols in %#x", what, th.Name, a, b)
		}
		var a, b target.Task
		if th.Task != nil {
			a = *th.Task
		}
		if want.Threads[i].Task != nil {
			b = *want.Threads[i].Task
		}
		if want.Threads[i].Stale { // by the symbol of the kernel's variable
			a.State = b.State
		}
		if a != b || th.Name != want.Threads[i].Name {
			t.Errorf("%s: %s is %+v, with symbols %+v", what, th.Name, a, b)
		}
	}
}

// addresses are the PCs of a thread's frames, all or those above a guess.
func addresses(th *report.Thread, all bool) (pcs []uint64) {
	for i := range th.Frames {
		if th.Frames[i].Trust == unwind.Guess && !all {
			break
		}
		pcs = append(pcs, th.Frames[i].PC)
	}
	return pcs
}

// checkTasks: every task of the kernel is there, under its name, with its priority and the
// unused part of its stack, and no other.
func (f *firmware) checkTasks(t *testing.T, log, scenario string, r *report.Report) {
	var found []string
	for i := range r.Threads[1:] {
		th := &r.Threads[i+1]
		found = append(found, th.Name)
		if scenario == "runaway" && th.Name != "idle" {
			victim(t, log, th)
			continue
		}
		deep := scenario == "overflow" && th.Name == "log"
		if want, ok := tasks[th.Name]; ok && !deep {
			if _, all := names(th); strings.Join(all, " ") != want+f.kernel.root {
				t.Errorf("%s: task %s is in %v, want %s", log, th.Name, all, want+f.kernel.root)
			}
		}
		f.checkTask(t, log, th)
		if k := th.Task; k == nil || !k.HasPriority || k.Overflown != deep || !deep && (!k.Filled || k.Unused == 0) {
			t.Errorf("%s: task %s: %+v", log, th.Name, k)
		}
		if sure, _ := names(th); deep && (!strings.HasPrefix(strings.Join(sure, " "), "yield pause sunk") || sure[len(sure)-1] != "logger") {
			t.Errorf("%s: task %s is in %v", log, th.Name, sure)
		}
	}
	slices.Sort(found)
	got := fmt.Sprint(found)
	if scenario == "startup" {
		if got != "[]" {
			t.Errorf("%s: tasks %s before there are any", log, got)
		}
	} else if got != "[busy idle log net]" && got != "[busy crash idle log net]" {
		t.Errorf("%s: tasks %s", log, got)
	}
}

// order is that in which tasks are created.
var order = []string{"idle", "net", "log", "busy", "crash"}

// checkTask: the chain of a task that an interrupt stopped anywhere ends in its function, and
// the kernel's own words say its state and priority. No code of the firmware with these kernels
// uses r9, or x27 of RISC-V, in which each task has its number: it tells whether the registers
// that calls keep were found.
func (f *firmware) checkTask(t *testing.T, log string, th *report.Thread) {
	t.Helper()
	sure, all := names(th)
	if th.Stale { // the report does not show that this is not the task that runs
		sure = all
	}
	outer := "busy" + f.kernel.root
	if f.kernel.name == "ChibiOS" { // what it interrupted lies behind code that does not return
		outer = "switch_from_isr"
	}
	if th.Name == "busy" && !strings.HasSuffix(strings.Join(sure, " "), outer) {
		t.Errorf("%s: task busy is in %v", log, sure)
	}
	if f.kernel.step == 0 {
		return
	}
	number := slices.Index(order, th.Name)
	state := "ready"
	switch {
	case th.Name == "log":
		state = "waiting"
	case th.Name == "crash" && th.Stale: // in an interrupt, of which the report does not show the stack below
		state = "running"
	}
	if k := th.Task; k.State != state || k.Priority != f.kernel.first+number*f.kernel.step {
		t.Errorf("%s: task %s: %+v", log, th.Name, k)
	}
	kept := cpu.Reg(27)
	if f.micro {
		kept = 9
	}
	if v, ok := th.Regs.Lookup(kept); th.Regs.Known != 0 && (!ok || v != uint64(0x9000+number)) {
		t.Errorf("%s: task %s has %#x in register %d", log, th.Name, v, kept)
	}
}

// otherBuild tells whether an issue says that the binary is not of the program that ran.
func otherBuild(i target.Issue) bool { return strings.Contains(i.Text, "another build") }

// TestOtherBuild: a log with the binary of another build, and with memory at another address, says
// that these do not go together.
func TestOtherBuild(t *testing.T) {
	f := openFirmware(t, "../../testdata/microcontroller/m3-freertos.zip")
	ram := filepath.Join(f.dir, "read.ram")
	for _, c := range []struct{ elf, ram, want string }{
		{"m3-rtthread", ram, "return addresses in registers follow no call in the binary"},
		{"m3-threadx", "", "the return address in a register follows no call in the binary"},
		{"m3-freertos", ram, "lies in none of the memory, which is 0x30000000 to 0x30005000"},
	} {
		f.port.ram = 0x2000_0000
		if c.elf == "m3-freertos" {
			f.port.ram = 0x3000_0000
		}
		r := f.report(t, "read.plain.log", c.ram, opened(t, input.FileOptions{Exe: "../../testdata/microcontroller/" + c.elf + ".elf"}))
		if !slices.ContainsFunc(r.Issues, func(i target.Issue) bool { return strings.Contains(i.Text, c.want) }) {
			t.Errorf("%v: %v", c, r.Issues)
		}
	}
}

// report makes the report of a log by binaries; ram is a file, "" for none.
func (f *firmware) report(t *testing.T, log, ram string, by *input.Files) *report.Report {
	t.Helper()
	env := input.Env{Files: by}
	if ram != "" {
		env.RAM = []input.NamedImage{{Path: ram, Bias: f.port.ram, Placed: true}}
	}
	ctx := context.Background()
	stream, err := backsight.OpenReader(ctx, log, bytes.NewReader(f.captures[log]), env)
	if err != nil {
		t.Fatalf("%s: %v", log, err)
	}
	defer stream.Close()
	snap, err := stream.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	traces, err := f.unwinder.Backtraces(ctx, snap)
	if err != nil {
		t.Fatal(err)
	}
	return backsight.Report(ctx, snap, traces, &symbol.Symbolizer{})
}

// names are the functions of a thread: those of frames above a guess, as far as there is
// none, and all.
func names(th *report.Thread) (sure, all []string) {
	guessed := false
	for i := range th.Frames {
		name := th.Frames[i].Function
		switch name {
		case "":
			name = "?"
		case "raise": // interrupts the processor there, or a bit later
			continue
		}
		if guessed = guessed || th.Frames[i].Trust == unwind.Guess; !guessed {
			sure = append(sure, name)
		}
		all = append(all, name)
	}
	return sure, all
}
