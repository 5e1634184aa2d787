package elfcore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/elfcore"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/meter"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// TestEveryProcessor: registers, thread IDs and the signal of every ABI that has
// a Linux register layout.
func TestEveryProcessor(t *testing.T) {
	n := 0
	for _, a := range captured.Archs() {
		layout := a.Layouts[cpu.LinuxPrstatus]
		if layout.Size == 0 {
			continue
		}
		n++
		name := a.String()
		snap := mustRead(t, newCore(a).thread(101, 11, 0x100).thread(102, 0, 0x200))
		if snap.Arch.Name != a.Name || snap.Arch.ABI != a.ABI || len(snap.Threads) != 2 || len(issues(snap)) > 0 {
			t.Errorf("%s: read as %s, %d threads, issues %q", name, snap.Arch, len(snap.Threads), snap.Issues)
			continue
		}
		for i, th := range snap.Threads {
			if th.ID != 101+i || th.Crashed != (i == 0) {
				t.Errorf("%s: thread %+v", name, th)
			}
			for k, slot := range layout.Slots {
				if v, ok := th.Regs.Lookup(slot.Reg); !ok || v != uint64(0x100*(i+1)+k) {
					t.Errorf("%s: %s = %#x, %v", name, a.RegName(slot.Reg), v, ok)
				}
			}
		}
		if f := snap.Fault; f == nil || f.Name != "SIGSEGV" || f.Thread != 101 || f.HasAddress {
			t.Errorf("%s: fault %+v", name, f)
		}
	}
	if n < 12 {
		t.Errorf("only %d ABIs have a layout", n)
	}
}

// TestN32WithoutFlags: e_flags 0, as gcore writes them, is o32 by the header; the
// register block of 64-bit registers tells n32.
func TestN32WithoutFlags(t *testing.T) {
	data := newCore(archNamed(t, "mips64", "n32", true)).thread(1, 11, 0).bytes()
	copy(data[36:40], []byte{0, 0, 0, 0})
	if snap, err := read(t, data, input.FileOptions{}); err != nil || snap.Arch.ABI != "n32" {
		t.Errorf("%v, %v", snap, err)
	}
}

// TestSiginfo: MIPS has si_code before si_errno; an address counts only where the
// kernel found a fault, not for kill(2) and not for x86's SI_KERNEL.
func TestSiginfo(t *testing.T) {
	for _, tt := range []struct {
		arch    *cpu.Arch
		info    [3]uint32
		want    string
		code    int
		hasAddr bool
	}{
		{archNamed(t, "x86_64", "", false), [3]uint32{11, 0, 1}, "SIGSEGV", 1, true},
		{archNamed(t, "x86_64", "", false), [3]uint32{11, 0, 0x80}, "SIGSEGV", 0x80, false},
		{archNamed(t, "x86_64", "", false), [3]uint32{6, 0, 0xfffffffa}, "SIGABRT", -6, false},
		{archNamed(t, "arm", "", false), [3]uint32{7, 0, 1}, "SIGBUS", 1, true},
		{archNamed(t, "mips", "o32", true), [3]uint32{10, 2, 0}, "SIGBUS", 2, true},
		{archNamed(t, "mips64", "n64", true), [3]uint32{11, 1, 0}, "SIGSEGV", 1, true},
	} {
		c := newCore(tt.arch).thread(1, 0, 0)
		info := c.u32(nil, tt.info[:]...)
		if c.wide() {
			info = c.u32(info, 0)
		}
		c.note(0x53494749, append(c.words(info, 0x4560), make([]byte, 100)...))
		want := target.Fault{Signal: int(tt.info[0]), Name: tt.want, Code: tt.code, HasAddress: tt.hasAddr, Thread: 1}
		if tt.hasAddr {
			want.Address = 0x4560
		} else if tt.code <= 0 {
			want.Sender = target.Sender{PID: 0x4560} // si_pid stands where si_addr would
		}
		if f := mustRead(t, c).Fault; f == nil || *f != want {
			t.Errorf("%s: %+v, want %+v", tt.arch.Name, f, want)
		}
	}
	if f := mustRead(t, newCore(archNamed(t, "x86_64", "", false)).thread(1, 0, 0)).Fault; f != nil {
		t.Errorf("a program that did not die of a signal: %+v", f)
	}
}

// TestPsinfo: the three shapes of elf_prpsinfo.
func TestPsinfo(t *testing.T) {
	for _, tt := range []struct {
		arch           *cpu.Arch
		size, pid, str int
	}{
		{archNamed(t, "i386", "", false), 124, 12, 28},
		{archNamed(t, "mips", "o32", true), 128, 16, 32},
		{archNamed(t, "aarch64", "", false), 136, 24, 40},
	} {
		c := newCore(tt.arch).thread(5, 6, 0)
		b := make([]byte, tt.size)
		copy(b[tt.pid:], c.u32(nil, 77))
		copy(b[tt.str:], "prog")
		copy(b[tt.str+16:], "./prog -v  ")
		if s := mustRead(t, c.note(3, b)); s.PID != 77 || s.Command != "./prog -v" {
			t.Errorf("%s: pid %d, command %q", tt.arch.Name, s.PID, s.Command)
		}
	}
}

// TestEmulator: where QEMU itself died, the core is not the program's.
func TestEmulator(t *testing.T) {
	for command, want := range map[string]string{
		"/usr/bin/qemu-mips ./netd": "core: a core of qemu-mips itself", "qemu-arm-static a": "core: a core of qemu-arm-static itself",
		"qemu-system-mips -M malta": "", "./netd": "",
	} {
		c := newCore(archNamed(t, "i386", "", false)).thread(5, 6, 0)
		b := make([]byte, 124)
		copy(b[44:], command)
		said := ""
		for _, i := range mustRead(t, c.note(3, b)).Issues {
			if strings.Contains(i.Text, "itself") {
				said, _, _ = strings.Cut(i.Text, ",")
			}
		}
		if said != want {
			t.Errorf("%s: %q, want %q", command, said, want)
		}
	}
}

func TestPACMask(t *testing.T) {
	c := newCore(archNamed(t, "aarch64", "", false)).thread(1, 11, 0)
	b := c.order().AppendUint64(nil, 0x7f_0000_0000_0000)
	b = c.order().AppendUint64(b, 0x7f_8000_0000_0000)
	if s := mustRead(t, c.note(0x406, b)); s.CodeMask != ^uint64(0x7f_8000_0000_0000) {
		t.Errorf("code mask %#x", s.CodeMask)
	}
}

// TestMemory: later mappings override; what was not written is missing, not zero;
// TestShadowStacks: each thread's notes tell where its shadow stack stands: struct user_gcs, user_cfi_state, and the pointer alone
// on x86. Where flags say that the thread has none, the pointer is no more than what was left in the register.
func TestShadowStacks(t *testing.T) {
	const at = 0x7fff_1230
	for _, tt := range []struct {
		arch  string
		note  uint32
		words []uint64
		want  uint64
	}{
		{"x86_64", 0x204, []uint64{at}, at},
		{"aarch64", 0x410, []uint64{1, 0, at}, at},
		{"aarch64", 0x410, []uint64{0, 1, at}, 0},
		{"riscv64", 0x903, []uint64{0x28, at}, at},
		{"riscv64", 0x903, []uint64{1, at}, 0},
		{"riscv64", 0x903, []uint64{0x28}, 0},
	} {
		c := newCore(archNamed(t, tt.arch, "", false)).note(tt.note, make([]byte, 24)) // of no thread
		snap := mustRead(t, c.thread(1, 11, 0).thread(2, 0, 0).note(tt.note, c.words(nil, tt.words...)))
		for i, want := range []uint64{0, tt.want} {
			th := &snap.Threads[i]
			got := th.Shadow
			if ssp, ok := snap.Arch.RegByName("ssp"); ok {
				got, _ = th.Regs.Lookup(ssp)
			}
			if got != want {
				t.Errorf("%s %#x: thread %d at %#x, want %#x", tt.arch, tt.words, th.ID, got, want)
			}
		}
	}
}

// more mappings than 16 bits count.
func TestMemory(t *testing.T) {
	for _, xnum := range []bool{false, true} {
		c := newCore(archNamed(t, "x86_64", "", false)).thread(1, 11, 0)
		c.xnum = xnum
		c.load(0x1000, 0x3000, repeat(1, 0x1000), 6)
		c.load(0x1800, 0, repeat(2, 0x10), 4)
		c.load(0xffff_ffff_ffff_f000, 0, repeat(3, 0x1000), 4)
		m := mustRead(t, c).Memory
		for addr, want := range map[uint64]string{
			0x17ff: "1,true", 0x1800: "2,true", 0x180f: "2,true", 0x1810: "1,true", 0x1fff: "1,true", 0x2000: "0,false",
			0xffff_ffff_ffff_f000: "3,true",
		} {
			v, ok := m.Uint(addr, 1)
			if got := fmt.Sprintf("%d,%v", v, ok); got != want {
				t.Errorf("xnum %v: byte at %#x: %s, want %s", xnum, addr, got, want)
			}
		}
		if p, _ := m.PermAt(0x1000); p != target.PermRead|target.PermWrite {
			t.Errorf("permissions %b", p)
		}
	}
}

// TestGuardPages: Linux dumps the page below a thread's stack that guards it. The program had no access to it, and the stack ends there. Where
// no segment has permissions, they are not known.
func TestGuardPages(t *testing.T) {
	for _, stated := range []bool{true, false} {
		c := newCore(archNamed(t, "x86_64", "", false)).thread(1, 11, 0)
		c.load(0x1000, 0x1000, repeat(0, 0x1000), 0)
		c.load(0x2000, 0x1000, repeat(1, 0x1000), map[bool]uint32{true: 6}[stated])
		m := mustRead(t, c).Memory
		if _, guard := m.PermAt(0x1ff8); guard == stated {
			t.Errorf("permissions are stated: %v; the guard page is memory: %v", stated, guard)
		}
		if _, stack := m.PermAt(0x2000); !stack {
			t.Error("the stack is missing")
		}
	}
}

// TestErrors: one line that names the file, the offset and the reason.
func TestErrors(t *testing.T) {
	good := newCore(archNamed(t, "mips", "o32", true)).thread(1, 11, 0)
	unknown := good.bytes()
	unknown[18], unknown[19] = 0x12, 0x34
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"unknown processor": {unknown, "core: offset 0x12: a core file of an unsupported processor: e_machine 4660, 32-bit, big-endian true"},
		"no threads":        {newCore(archNamed(t, "arm", "", false)).bytes(), "without any thread's registers"},
		"short":             {good.bytes()[:52], "the file ends before its program headers"},
	} {
		snap, err := read(t, tt.data, input.FileOptions{})
		if snap != nil || err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTruncation: a core that is cut anywhere is an error or has one issue that
// says so; the threads are those that are whole.
func TestTruncation(t *testing.T) {
	c := newCore(archNamed(t, "riscv64", "", false)).thread(1, 11, 0).thread(2, 0, 0)
	c.load(0x1000, 0, repeat(7, 256), 6).load(0x4000, 0, repeat(8, 64), 6)
	whole := c.bytes()
	for n := range len(whole) {
		snap, err := read(t, whole[:n], input.FileOptions{})
		switch {
		case (snap == nil) == (err == nil):
			t.Fatalf("cut at %d: %v and %v", n, snap, err)
		case snap != nil && len(issues(snap)) == 0:
			t.Fatalf("cut at %d: no issue", n)
		case snap != nil && n > len(whole)-64 && len(issues(snap)) != 1:
			t.Fatalf("cut at %d: issues %q", n, snap.Issues)
		}
	}
}

// TestHugeSparseCore: 10 GB that take no disk take no memory either.
func TestHugeSparseCore(t *testing.T) {
	c := newCore(archNamed(t, "x86_64", "", false)).thread(1, 11, 0)
	c.load(0x10_0000_0000, 10<<30, repeat(1, 0x1000), 6)
	data := c.bytes()
	c.order().AppendUint64(data[:64+56+32], 10<<30) // p_filesz of the mapping
	path := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 11<<30); err != nil {
		t.Skip("no sparse files here")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	snap, err := load(t, path, input.FileOptions{})
	if err != nil {
		t.Skip(err) // a host that cannot map it
	}
	if v, ok := snap.Memory.Uint(0x10_0000_0000+9<<30, 8); !ok || v != 0 {
		t.Errorf("word at 9 GB: %#x, %v", v, ok)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestRelativePath: the kernel writes absolute paths into NT_FILE; another one is not looked for in the current directory.
func TestRelativePath(t *testing.T) {
	root := recorded.Testdata(t, "x86_64-threads/modules")
	data := recorded.Unzip(t, recorded.Testdata(t, "x86_64-threads/core.gz"))
	before, written := []byte("/usr/lib/libtree.so"), []byte("usr//lib/libtree.so")
	t.Chdir(root)
	for sysroot, want := range map[string]bool{"": false, root: true} {
		snap, err := read(t, bytes.ReplaceAll(data, before, written), input.FileOptions{Sysroots: []string{sysroot}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range snap.Modules {
			if m.Name == string(written) && (m.Image != nil) != want {
				t.Errorf("sysroot %q: used %v, want %v", sysroot, m.Image != nil, want)
			}
		}
	}
}

// TestDamage: a real core, cut at many points and with bytes of its headers, notes
// and the linker's list changed, gives a snapshot or an error.
func TestDamage(t *testing.T) {
	for _, name := range []string{"aarch64-signal", "x86_64-threads"} {
		opt := input.FileOptions{Sysroots: []string{recorded.Testdata(t, name, "modules")}}
		whole := recorded.Unzip(t, recorded.Testdata(t, name, "core.gz"))
		rng := rand.New(rand.NewPCG(1, 2))
		for range 150 {
			data := bytes.Clone(whole[:min(len(whole), 1<<20)])
			for range 1 + rng.IntN(20) {
				data[20+rng.IntN(12<<10)] = byte(rng.IntN(256))
			}
			checkDamaged(t, data, opt)
			checkDamaged(t, whole[:rng.IntN(len(whole))], opt)
			checkDamaged(t, whole[:rng.IntN(16<<10)], opt)
		}
	}
}

func checkDamaged(t *testing.T, data []byte, opt input.FileOptions) {
	t.Helper()
	snap, err := read(t, data, opt)
	if (snap == nil) == (err == nil) {
		t.Fatalf("%v and %v", snap, err)
	}
	if snap != nil {
		for i := range snap.Threads {
			snap.StackOf(&snap.Threads[i])
		}
	}
}

// FuzzCore: whatever the bytes, a snapshot or an error, in time.
func FuzzCore(f *testing.F) {
	for _, a := range []*cpu.Arch{archNamed(f, "mips", "o32", true), archNamed(f, "x86_64", "", false)} {
		c := newCore(a).thread(1, 11, 0)
		c.note(6, c.words(nil, 3, 0x1034, 9, 0x1000, 7, 0x1000, 33, 0x1000, 31, 0x1100, 0, 0))
		c.note(3, make([]byte, 136))
		small := c.bytes()
		c.note(0x46494c45, append(c.words(nil, 2, 4096, 0x1000, 0x2000, 0, 0x2000, 0x3000, 1), "/a\x00/a\x00"...))
		c.load(0x1000, 0, c.bytes()[:200], 5)
		f.Add(small)
		f.Add(c.bytes())
	}
	vm := append(make([]byte, 4), vmEntry(0x1000, 0x2000, 0x1000, "/a")...)
	for _, c := range []*synth{netBSDCore(f, "x86_64", 33, 26), freeBSDCore(f, "aarch64", 34).owned("FreeBSD", 10, vm).owned("FreeBSD", 16, make([]byte, 36)).load(0x1000, 0x1000, nil, 5)} {
		f.Add(c.bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var snap *target.Snapshot
		var err error
		meter.Allocations(t, len(data), func() { snap, err = read(t, data, input.FileOptions{Sysroots: []string{os.DevNull}}) })
		if (snap == nil) == (err == nil) {
			t.Fatalf("%v and %v", snap, err)
		}
		if snap != nil {
			snap.StackOf(&snap.Threads[0])
			snap.ModuleAt(0x1000)
		}
	})
}

// TestCancelled: a core that lies on disk is not opened once the context has ended, and the
// error says so.
func TestCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(path, newCore(archNamed(t, "x86_64", "", false)).thread(1, 11, 0).bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env := &input.Env{Archs: captured.Archs(), Formats: []input.Format{elfcore.Format()}, Files: input.NewFiles(input.FileOptions{})}
	s, err := env.Open(ctx, path)
	if s != nil || !errors.Is(err, context.Canceled) || !errors.As(err, new(*input.Error)) {
		t.Errorf("%v, %v", s, err)
	}
}
