package vmcore_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/synth/kernels"
	"github.com/backsight/backsight/target"
)

// programs is a machine with two programs, in a file, and what their files are found in.
func programs(t *testing.T, change func(p *kernels.Program)) (path string, env input.Env) {
	t.Helper()
	return programsOf(t, kernels.NewMachine(names...), change)
}

func programsOf(t *testing.T, m *kernels.Machine, change func(p *kernels.Program)) (path string, env input.Env) {
	t.Helper()
	root := t.TempDir()
	for _, task := range []string{"init", "sh"} {
		p := kernels.Program{Task: task, Path: "/bin/" + task, Maple: true}
		if change != nil {
			change(&p)
		}
		m.Run(&p)
		if err := os.MkdirAll(filepath.Join(root, "bin"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, p.Path), p.File(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path = filepath.Join(t.TempDir(), "vmcore")
	if err := os.WriteFile(path, m.Vmcore(m.Symbols[5].Addr+8), 0o600); err != nil {
		t.Fatal(err)
	}
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{root}})
	t.Cleanup(func() { _ = files.Close() })
	return path, input.Env{Files: files}
}

// processesOf are the snapshots of processes of a machine.
func processesOf(t *testing.T, path, which string, env input.Env) (list []*target.Snapshot) {
	t.Helper()
	machine, err := backsight.Open(t.Context(), path, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = machine.Close() })
	s, err := backsight.Processes(t.Context(), machine, which, env)
	if err != nil {
		t.Fatal(err)
	}
	for {
		snap, err := s.Next(t.Context())
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, snap)
	}
}

// TestProcess: the chain of a program goes from where the task sleeps in the kernel to where the program began, without symbols and
// unwind tables.
func TestProcess(t *testing.T) {
	path, env := programs(t, nil)
	list := processesOf(t, path, "sh", env)
	if len(list) != 1 || list[0].PID != 5 || list[0].Command != "/bin/sh" {
		t.Fatalf("%+v", list)
	}
	snap := list[0]
	b := backtraces(t, snap)[0]
	if b.Kernel < 3 || len(b.Frames) != b.Kernel+4 {
		t.Fatalf("%d frames, %d of the kernel; issues %v", len(b.Frames), b.Kernel, snap.Issues)
	}
	for i, f := range b.Frames[:b.Kernel] {
		if f.Module == nil || f.Module.Name != "vmlinux" {
			t.Errorf("frame %d is at %#x, in no kernel", i, f.PC)
		}
	}
	_, resume := (&kernels.Program{}).Functions()
	for i, function := range []string{"level2", "level1", "main", "_start"} {
		f := b.Frames[b.Kernel+i]
		if f.PC != resume[function] || f.Module == nil || f.Module.Name != "/bin/sh" || f.Trust.String() == "guess" {
			t.Errorf("frame %d: %#x, %v, want %#x in %s", i, f.PC, f.Trust, resume[function], function)
		}
	}
	if got := b.Stop.Reason.String(); got != "root" {
		t.Errorf("stop: %s", got)
	}
}

// TestWhichProcesses: the task that crashed, a number, names, all.
func TestWhichProcesses(t *testing.T) {
	path, env := programs(t, nil)
	for which, want := range map[string]string{backsight.CrashedProcess: "1", "5": "5", "init": "1", "*": "1 5", "s*": "5"} {
		var pids []string
		for _, snap := range processesOf(t, path, which, env) {
			pids = append(pids, fmt.Sprint(snap.PID))
		}
		if got := strings.Join(pids, " "); got != want {
			t.Errorf("%q: processes %s, want %s", which, got, want)
		}
	}
	machine, err := backsight.Open(t.Context(), path, env)
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	if _, err := backsight.Processes(t.Context(), machine, "kthreadd", env); err == nil || !strings.Contains(err.Error(), "1 (init), 5 (sh)") {
		t.Errorf("a thread of the kernel: %v", err)
	}
}

// TestNotThere: a stack that is swapped out, or that the dump does not have, is said to be missing, and the chain has what registers and the
// sysroot's file tell.
func TestNotThere(t *testing.T) {
	for entry, want := range map[uint64]string{0x1234_5678_0002: "the stack is swapped out", 0x9000_0703: "the stack is not in the dump"} {
		path, env := programs(t, func(p *kernels.Program) {
			if p.Task == "sh" {
				p.StackEntry = entry
			}
		})
		snap := processesOf(t, path, "sh", env)[0]
		b := backtraces(t, snap)[0]
		_, resume := (&kernels.Program{}).Functions()
		if len(b.Frames) <= b.Kernel || b.Frames[b.Kernel].PC != resume["level2"] || b.Stop.Reason.String() == "root" {
			t.Errorf("%d frames, stop %s", len(b.Frames), b.Stop.Reason)
		}
		if len(snap.Issues) != 1 || !strings.Contains(snap.Issues[0].Text, "of 1 of 1 threads "+want) {
			t.Errorf("issues %v", snap.Issues)
		}
	}
}

// TestSwapped: a stack that is swapped out to zram is read there; what the device has not got is said to be missing.
func TestSwapped(t *testing.T) {
	for slot, want := range map[int]string{5: "", 6: "the stack is swapped out: how page tables lead to zram is not known", 7: "the stack is swapped out: zram0: it is compressed in a way that is not read"} {
		m := kernels.NewMachine(names...)
		z := m.Zram()
		packed := make([]byte, lz4.CompressBlockBound(4096))
		n, err := lz4.CompressBlock((&kernels.Program{}).Stack(), packed, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			if i != 6 {
				z.Object(i, i/8, i%8*512, packed[:n])
			}
		}
		z.Object(7, 7, 7*512, make([]byte, 20))
		path, env := programsOf(t, m, func(p *kernels.Program) {
			p.StackEntry = 20 << 12 // as Linux 6.10 has it
			if p.Task == "sh" {
				p.StackEntry = uint64(slot) << 12
			}
		})
		snap := processesOf(t, path, "sh", env)[0]
		b := backtraces(t, snap)[0]
		if whole := b.Stop.Reason.String() == "root"; whole != (want == "") {
			t.Errorf("slot %d: %d frames, stop %s", slot, len(b.Frames), b.Stop.Reason)
		}
		if want == "" && len(snap.Issues) != 0 || want != "" && (len(snap.Issues) != 1 || !strings.Contains(snap.Issues[0].Text, "of 1 of 1 threads "+want)) {
			t.Errorf("slot %d: issues %v", slot, snap.Issues)
		}
	}
}

// ramPages reads the memory of a machine as a debugger's server does.
type ramPages []byte

func (r ramPages) ReadPage(addr uint64, page []byte) (int, error) {
	return copy(page, r[addr-kernels.RAMBase:]), nil
}

// TestStoppedProcess: a program of a machine that a debugger's server has stopped.
func TestStoppedProcess(t *testing.T) {
	m := kernels.NewMachine(names...)
	_, env := programsOf(t, m, nil)
	env.Archs, env.Formats = backsight.CPUs(), backsight.Formats()
	var regs cpu.Registers
	aarch64 := arm64.Archs()[0]
	regs.Set(aarch64.PC, m.Symbols[5].Addr+8)
	s, err := env.OpenStopped(t.Context(), &input.Stopped{Name: "machine", Arch: aarch64, Physical: ramPages(m.RAM),
		RAM: []target.Range{{Lo: kernels.RAMBase, Hi: kernels.RAMBase + kernels.RAMSize}}, Threads: []target.Thread{{ID: 1, Regs: regs}}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := backsight.Processes(t.Context(), s, "sh", env)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := list.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b := backtraces(t, snap)[0]; b.Kernel < 3 || len(b.Frames) != b.Kernel+4 || b.Stop.Reason.String() != "root" {
		t.Errorf("%d frames, %d of the kernel, stop %s", len(b.Frames), b.Kernel, b.Stop.Reason)
	}
}

// TestNoMachine: other captures have no processes.
func TestNoMachine(t *testing.T) {
	files := backsight.NewFiles(input.FileOptions{})
	defer files.Close()
	env := input.Env{Files: files}
	s, err := backsight.OpenReader(t.Context(), "snapshot", strings.NewReader(`{"arch":"mips","endian":"big","regs":{"pc":"0x400d2c"},"memory":[],"images":[]}`), env)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := backsight.Processes(t.Context(), s, "1", env); err == nil {
		t.Error("no error")
	}
}
