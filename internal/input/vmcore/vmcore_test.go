package vmcore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/vmcore"
	"github.com/backsight/backsight/internal/synth/kernels"
	"github.com/backsight/backsight/target"
)

var names = []string{"swapper/0", "init", "kthreadd", "kworker/0:1", "rcu_gp", "sh"}

// open reads a dump, with no files beside it.
func open(t testing.TB, data []byte) (*target.Snapshot, error) {
	t.Helper()
	return openBeside(t, t.TempDir(), data)
}

// openBeside reads a dump with the files of a sysroot.
func openBeside(t testing.TB, sysroot string, data []byte) (*target.Snapshot, error) {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{sysroot}})
	t.Cleanup(func() { _ = files.Close() })
	return snapshotIn(files, input.NewCapture("vmcore", data))
}

// snapshotOf reads a dump of one or several files.
func snapshotOf(t testing.TB, capture *input.Capture) (*target.Snapshot, error) {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{})
	t.Cleanup(func() { _ = files.Close() })
	return snapshotIn(files, capture)
}

func snapshotIn(files *input.Files, capture *input.Capture) (*target.Snapshot, error) {
	s, err := vmcore.Format().Open(context.Background(), capture, &input.Env{Archs: backsight.CPUs(), Files: files})
	if err != nil {
		return nil, err
	}
	return s.Next(context.Background())
}

func backtraces(t *testing.T, snap *target.Snapshot) []backsight.Backtrace {
	t.Helper()
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bt, err := u.Backtraces(context.Background(), snap)
	if err != nil {
		t.Fatal(err)
	}
	return bt
}

func traces(t *testing.T, snap *target.Snapshot) (lines []string) {
	t.Helper()
	for _, b := range backtraces(t, snap) {
		line := fmt.Sprintf("%d %s:", b.Thread.ID, b.Thread.Name)
		for _, f := range b.Frames {
			name := "?"
			if f.Module != nil {
				s, _ := f.Module.Image.Symbols.At(f.Module.ToImage(f.CallSite))
				name = s.Name
			}
			line += " " + name
		}
		lines = append(lines, line)
	}
	return lines
}

// TestTasks: every task is a thread with the registers that it was switched out with, named
// out of the memory alone; the one that was running has its processor's.
func TestTasks(t *testing.T) {
	m := kernels.NewMachine(names...)
	data := m.Vmcore(m.Symbols[5].Addr + 8)
	if !vmcore.Format().Sniff(data[:4096]) {
		t.Error("not recognised")
	}
	snap, err := open(t, data)
	if err != nil {
		t.Fatal(err)
	}
	got := traces(t, snap)
	for i, name := range names {
		want := fmt.Sprintf("%d %s: function0 function1 function2", i, name)
		if i == 1 {
			want = "1 init: function5"
		}
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("thread %d of %q, want %q; %v", i, got, want, snap.Issues)
			break
		}
	}
	if th := snap.Threads[3]; th.Stack.Hi-th.Stack.Lo != 0x4000 || snap.Threads[1].Crashed != true {
		t.Errorf("stack %#x, crashed %t", th.Stack, snap.Threads[1].Crashed)
	}
}

// TestRawMemory: the same without any header. The registers of the task that was running are those that a
// debugger printed, if the user has these.
func TestRawMemory(t *testing.T) {
	m := kernels.NewMachine(names...)
	dir := t.TempDir()
	path, printed := filepath.Join(dir, "ram"), filepath.Join(dir, "registers")
	pc := m.Symbols[5].Addr + 8
	text := fmt.Sprintf("CPU#0\n PC=%016x X00=0000000000000001\n SP=%016x PSTATE=60000005\n", pc, uint64(kernels.Linear))
	for name, data := range map[string][]byte{path: m.RAM, printed: []byte(text)} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, regs := range []string{"", printed} {
		env := &input.Env{Archs: backsight.CPUs(), Formats: backsight.Formats(), Files: backsight.NewFiles(input.FileOptions{}),
			RAM: []input.NamedImage{{Path: path, Bias: kernels.RAMBase, Placed: true}}, Regs: regs}
		s, err := env.OpenMemory(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		snap, err := s.Next(context.Background())
		if err != nil || len(snap.Threads) != len(names) {
			t.Fatalf("%v, %v", snap, err)
		}
		got, known := snap.Threads[1].Regs.Lookup(snap.Arch.PC)
		if known != (regs != "") || known && (got != pc || !snap.Threads[1].Crashed) {
			t.Errorf("registers %q: PC of the running task %#x, known %t", regs, got, known)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLinux510: until Linux 5.10 VMCOREINFO does not say that the answer to uname lies behind a count
// of references.
func TestLinux510(t *testing.T) {
	m := kernels.NewMachine(names...)
	said := []byte("OFFSET(uts_namespace.name)=4")
	copy(m.RAM[bytes.Index(m.RAM, said):], bytes.Repeat([]byte("#"), len(said)))
	snap, err := open(t, m.Vmcore(0x1000))
	if err != nil || len(snap.Threads) < len(names) {
		t.Fatalf("%+v, %v", snap, err)
	}
}

// TestUnprepared: a kernel without VMCOREINFO and names, as those of routers are, is found by what the
// memory holds: uname's answer, empty lists, code, page tables.
func TestUnprepared(t *testing.T) {
	m := kernels.NewMachine(names...)
	m.Unprepared()
	snap, err := open(t, m.Vmcore(m.Symbols[5].Addr+8))
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.Threads) != len(names) || !strings.Contains(fmt.Sprint(snap.Issues), "no VMCOREINFO") {
		t.Fatalf("%d threads, %v", len(snap.Threads), snap.Issues)
	}
	for i, b := range backtraces(t, snap) {
		for k := range b.Frames {
			if want := m.Symbols[k].Addr + 12; i != 1 && b.Frames[k].PC != want {
				t.Errorf("thread %d, frame %d at %#x, want %#x", i, k, b.Frames[k].PC, want)
			}
		}
		if i != 1 && (b.Thread.Name != names[i] || len(b.Frames) < 3) {
			t.Errorf("thread %d of %d frames, %q", i, len(b.Frames), b.Thread.Name)
		}
	}
}

// TestOneProcessor: a kernel for one processor has no task_struct.on_cpu, and struct rq tells which task
// was running; what was taken for on_cpu before is on_rq, which each task has that could run.
func TestOneProcessor(t *testing.T) {
	m := kernels.NewMachine("swapper", "init", "kthreadd", "sh")
	m.OneProcessor("sh")
	snap, err := open(t, m.Vmcore(m.Symbols[5].Addr+8))
	if err != nil || len(snap.Threads) != 4 {
		t.Fatalf("%+v, %v", snap, err)
	}
	for i, th := range snap.Threads {
		if want := i == 3; th.Crashed != want || th.Waits == want {
			t.Errorf("%s: on the processor %t, switched out %t", th.Name, th.Crashed, th.Waits)
		}
	}
}

// TestDamaged: what can be had of damaged memory is had.
func TestDamaged(t *testing.T) {
	next := func(m *kernels.Machine, name string) uint64 { // the list head of a task
		return kernels.RAMBase + uint64(bytes.Index(m.RAM, []byte(name+"\x00"))) - 64
	}
	for name, c := range map[string]struct {
		damage func(m *kernels.Machine)
		least  int
		issue  string
	}{
		"the list of tasks is cut":          {func(m *kernels.Machine) { m.Put(next(m, "sh"), 0x10) }, 0, ""},
		"tables refer to one another":       {func(m *kernels.Machine) { m.Put(m.Root+8*100, m.Root|3) }, 6, ""},
		"no VMCOREINFO, nor a list":         {func(m *kernels.Machine) { m.Unprepared(); m.Put(next(m, "sh"), 0x10) }, 1, "no VMCOREINFO"},
		"VMCOREINFO's page tables are gone": {func(m *kernels.Machine) { clear(m.RAM[m.Root-kernels.RAMBase:][:4096]) }, 1, "no list of tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			m := kernels.NewMachine(names...)
			c.damage(m)
			snap, err := open(t, m.Vmcore(0x1234))
			if err != nil {
				t.Fatal(err)
			}
			if len(snap.Threads) < c.least || !strings.Contains(fmt.Sprint(snap.Issues), c.issue) {
				t.Errorf("%d threads, %v", len(snap.Threads), snap.Issues)
			}
		})
	}
}

// TestNoKernel: an ELF dump without a kernel is one line of error.
func TestNoKernel(t *testing.T) {
	m := &kernels.Machine{RAM: make([]byte, kernels.RAMSize)}
	if _, err := open(t, m.Vmcore(0)); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	data := kernels.NewMachine(names...).Vmcore(0)
	for n := 64; n < len(data); n += 50_000 {
		if _, err := open(t, data[:n]); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// FuzzOpen reads anything as a dump.
func FuzzOpen(f *testing.F) {
	m := kernels.NewMachine(names...)
	f.Add(m.Vmcore(0x1000, 0x2000)[:2048])
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	env := alone()
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = vmcore.Format().Open(context.Background(), input.NewCapture("vmcore", data), env)
	})
}

// FuzzMachine changes words of a machine's memory: page tables, tasks, lists.
func FuzzMachine(f *testing.F) { fuzzMachine(f, kernels.NewMachine(names...)) }

// FuzzOpenMemory opens raw memory, at any address: a few pages with what kernels are found by.
func FuzzOpenMemory(f *testing.F) {
	uts := make([]byte, 6*65)
	for i, s := range []string{"Linux", "host", "6.1.0-synth", "#1 SMP", "aarch64"} {
		copy(uts[65*i:], s)
	}
	f.Add(uts, uint64(0x4000_0000))
	f.Add(append([]byte("VMCOREINFO\x00OSRELEASE=6.1.0-synth\nSYMBOL(init_uts_ns)=ffff800000000004\nPAGESIZE=4096\n\x00"), uts...), ^uint64(0)-1023)
	f.Add([]byte("swapper/0\x00"), uint64(0))
	env := alone()
	f.Fuzz(func(t *testing.T, data []byte, at uint64) {
		ram := &input.RAM{Regions: []input.Region{{Name: "ram", Addr: at, Placed: true, Pages: input.PagesOf(data[:min(len(data), 16<<10)])}}}
		s, err := vmcore.Format().OpenMemory(t.Context(), ram, env)
		if err != nil {
			return
		}
		if snap, err := s.Next(t.Context()); err != nil || len(snap.Threads) == 0 {
			t.Errorf("neither threads nor an error: %v", err)
		}
	})
}

// FuzzUnprepared does that to a kernel that is found by the contents of its memory.
func FuzzUnprepared(f *testing.F) {
	m := kernels.NewMachine(names...)
	m.Unprepared()
	fuzzMachine(f, m)
}

func fuzzMachine(f *testing.F, m *kernels.Machine) {
	data := m.Vmcore(0x1000)
	ram := data[len(data)-len(m.RAM):]
	f.Add(uint16((m.Root-kernels.RAMBase)/16), uint64(3))
	env := alone()
	f.Fuzz(func(t *testing.T, at uint16, v uint64) {
		word := ram[int(at)*16:][:8]
		was := binary.LittleEndian.Uint64(word)
		binary.LittleEndian.PutUint64(word, v)
		_, _ = vmcore.Format().Open(context.Background(), input.NewCapture("vmcore", data), env)
		binary.LittleEndian.PutUint64(word, was)
	})
}

// alone is where no files of kernels are.
func alone() *input.Env {
	return &input.Env{Archs: backsight.CPUs(), Files: backsight.NewFiles(input.FileOptions{Sysroots: []string{"/nonexistent"}})}
}
