package minidump_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/minidump"
	"github.com/backsight/backsight/internal/input/snapshot"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// env is for captures of one program, "" for none.
func env(t testing.TB, program string) *input.Env {
	opt := input.FileOptions{Archs: captured.Archs(), Formats: []image.Format{elf.Format()}}
	if program != "" {
		opt.Images = []input.NamedImage{{Path: program}}
	}
	files := input.NewFiles(opt)
	t.Cleanup(func() { files.Close() })
	return &input.Env{Archs: captured.Archs(), Formats: []input.Format{minidump.Format(), snapshot.Format()}, Files: files}
}

func opened(t testing.TB, env *input.Env, data []byte) (*target.Snapshot, error) {
	s, err := env.OpenReader(context.Background(), "x.dmp", bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { s.Close() })
	return s.Next(context.Background())
}

// written is a snapshot as a minidump.
func written(t testing.TB, snap *target.Snapshot, opt minidump.WriteOptions) []byte {
	var b bytes.Buffer
	if err := minidump.Write(&b, snap, opt); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRoundTrip: for every processor a recorded program is, as a minidump, what it was: registers, the stack from SP up,
// where the binary lies.
func TestRoundTrip(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range recorded.Cases(t, "*/*") {
		program, ok := recorded.Program(t, &c, "naked")
		if !ok || seen[c.Arch] || strings.HasPrefix(c.Arch, "cortex") {
			continue
		}
		seen[c.Arch] = true
		t.Run(c.Arch, func(t *testing.T) {
			env := env(t, program)
			s, err := env.Open(t.Context(), c.Snapshots())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for range 20 {
				want, err := s.Next(t.Context())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := opened(t, env, written(t, want, minidump.WriteOptions{}))
				if err != nil {
					t.Fatal(err)
				}
				compare(t, got, want)
			}
		})
	}
	if len(seen) < 12 {
		t.Errorf("%d processors", len(seen))
	}
}

func compare(t *testing.T, got, want *target.Snapshot) {
	t.Helper()
	if got.Arch.String() != want.Arch.String() || len(got.Threads) != len(want.Threads) || len(got.Modules) != 1 || got.Modules[0].Bias != want.Modules[0].Bias {
		t.Fatalf("got %v, not %v, %d threads, module %+v, not %+v", got.Arch, want.Arch, len(got.Threads), got.Modules[0], want.Modules[0])
	}
	for i := range want.Threads {
		for _, slot := range want.Arch.Layouts[cpu.MinidumpContext].Slots {
			w, known := want.Threads[i].Regs.Lookup(slot.Reg)
			if g, _ := got.Threads[i].Regs.Lookup(slot.Reg); known && g != w {
				t.Fatalf("%s: %#x, not %#x", want.Arch.Regs[slot.Reg].Names, g, w)
			}
		}
		sp, _ := want.Threads[i].Regs.Lookup(want.Arch.SP)
		if g, w := got.Memory.Bytes(sp), want.Memory.Bytes(sp); !bytes.Equal(g, w) {
			t.Fatalf("stack of %d bytes, not %d", len(g), len(w))
		}
	}
}

// core is the recorded core of a program with threads.
func core(t testing.TB, name string) *target.Snapshot {
	dir := recorded.Testdata(t, name)
	path := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(path, recorded.Unzip(t, filepath.Join(dir, "core.gz")), 0o600); err != nil {
		t.Fatal(err)
	}
	return captured.Core(t, path, filepath.Join(dir, "modules"))
}

// TestWhatIsKept: threads with their names, the reason, the process, modules with their build IDs.
func TestWhatIsKept(t *testing.T) {
	want := core(t, "x86_64-threads")
	want.Threads[0].Name = "größe"
	got, err := opened(t, env(t, ""), written(t, want, minidump.WriteOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	if got.PID != want.PID || got.Command != want.Command || got.OS != "Linux" || *got.Fault != *want.Fault {
		t.Errorf("%d %q %s %+v, not %d %q %+v", got.PID, got.Command, got.OS, got.Fault, want.PID, want.Command, want.Fault)
	}
	if len(got.Threads) != len(want.Threads) || got.Threads[0].Name != "größe" || !got.Threads[0].Crashed || got.Threads[1].Crashed {
		t.Errorf("%+v", got.Threads)
	}
	for i, m := range want.Modules {
		if g := got.Modules[i]; g.Name != m.Name || g.Lo != m.Lo || !bytes.Equal(g.BuildID, m.BuildID) {
			t.Errorf("%+v, not %+v", g, m)
		}
	}
}

// TestSanitized: addresses of code and of the stack stay, text does not.
func TestSanitized(t *testing.T) {
	snap := core(t, "x86_64-threads")
	sp, _ := snap.Threads[0].Regs.Lookup(snap.Arch.SP)
	got, err := opened(t, env(t, ""), written(t, snap, minidump.WriteOptions{Sanitize: true, MaxStack: 4096}))
	if err != nil {
		t.Fatal(err)
	}
	stack, was := got.Memory.Bytes(sp), snap.Memory.Bytes(sp)
	if len(stack) > 4096 || len(stack) < 1024 {
		t.Fatalf("%d bytes", len(stack))
	}
	defaced := 0
	for at := 0; at+8 <= len(stack); at += 8 {
		g, w := binary.LittleEndian.Uint64(stack[at:]), binary.LittleEndian.Uint64(was[at:])
		_, code := snap.ModuleAt(w)
		if g == 0x0defaced0defaced {
			defaced++
		} else if g != w {
			t.Errorf("%#x became %#x", w, g)
		}
		if code && g != w {
			t.Errorf("an address of code, %#x, is lost", w)
		}
	}
	if defaced == 0 {
		t.Error("all is kept")
	}
}

// patched is a dump in which a number of 32 bits is another.
func patched(dump []byte, at int, v uint32) []byte {
	dump = bytes.Clone(dump)
	binary.LittleEndian.PutUint32(dump[at:], v)
	return dump
}

// streamAt is where a stream of a dump lies.
func streamAt(dump []byte, typ uint32) int {
	for at := 32; ; at += 12 {
		if binary.LittleEndian.Uint32(dump[at:]) == typ {
			return int(binary.LittleEndian.Uint32(dump[at+8:]))
		}
	}
}

// TestClaims: numbers that lie, and what is left.
func TestClaims(t *testing.T) {
	const threadList, moduleList, memoryList, exception, systemInfo = 3, 4, 5, 6, 7
	dump := written(t, core(t, "x86_64-threads"), minidump.WriteOptions{})
	threads, system := streamAt(dump, threadList), streamAt(dump, systemInfo)
	for _, c := range []struct {
		what    string
		dump    []byte
		threads int
		says    string // the error, or an issue
	}{
		{"nothing is wrong", dump, 5, ""},
		{"2³² threads", patched(dump, threads, 1<<32-1), 5, ""},
		{"no thread", patched(dump, threads, 0), 0, "without any thread's registers"},
		{"registers behind the end", patched(dump, threads+4+48+44, 1<<31), 4, "1 threads have no whole register block"},
		{"2³² modules", patched(dump, streamAt(dump, moduleList), 1<<32-1), 5, ""},
		{"2³² ranges of memory", patched(dump, streamAt(dump, memoryList), 1<<32-1), 5, ""},
		{"an exception of no thread", patched(dump, streamAt(dump, exception), 77), 5, ""},
		{"2³² streams", patched(dump, 8, 1<<32-1), 5, "streams are claimed"},
		{"a directory behind the end", patched(dump, 12, 1<<32-1), 0, "does not say of which processor"},
		{"PowerPC", patched(dump, system, 3), 0, "not supported: PowerPC"},
		{"a processor of the future", patched(dump, system, 0x1234), 0, "processor 0x1234, which is not known"},
		{"a header alone", dump[:32], 0, "does not say of which processor"},
		{"cut within the stacks", dump[:len(dump)/2], 3, "2 threads have no whole register block"},
	} {
		snap, err := opened(t, env(t, ""), c.dump)
		n, said := 0, fmt.Sprint(err)
		if err == nil {
			n, said = len(snap.Threads), fmt.Sprint(snap.Issues)
		}
		if n != c.threads || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d threads, not %d; said %s", c.what, n, c.threads, said)
		}
	}
}

// TestUnloaded: where a thread runs that no binary lies at any more, the last one that lay there is named.
func TestUnloaded(t *testing.T) {
	const moduleList, unloadedList, lastStream = 4, 14, 32 + 7*12
	snap := core(t, "x86_64-threads")
	pc, _, _ := snap.Arch.PCOf(&snap.Threads[0].Regs)
	dump := written(t, snap, minidump.WriteOptions{})
	dump = patched(dump, streamAt(dump, moduleList), 0)
	at := uint32(len(dump))
	for i, v := range []uint32{unloadedList, 12 + 2*24, at} {
		dump = patched(dump, lastStream+4*i, v)
	}
	le := binary.LittleEndian
	for _, v := range []uint32{12, 24, 2, uint32(pc) - 0x3000, uint32(pc >> 32), 0x1000, 0, 0, 0, uint32(pc) - 0x10, uint32(pc >> 32), 0x1000, 0, 0, at + 12 + 2*24, 20} {
		dump = le.AppendUint32(dump, v)
	}
	for _, c := range "C:\\old.dll" {
		dump = le.AppendUint16(dump, uint16(c))
	}
	got, err := opened(t, env(t, ""), dump)
	if want := fmt.Sprintf("thread %d runs at %#x, in old.dll, which the program had unloaded", snap.Threads[0].ID, pc); err != nil || strings.Count(fmt.Sprint(got.Issues), want) != 1 {
		t.Errorf("%v, %v; want %s", err, got.Issues, want)
	}
}

// TestSigned: no stream says which bits of a code pointer are its signature; those above what is mapped are.
func TestSigned(t *testing.T) {
	for name, signs := range map[string]bool{"aarch64-signal": true, "x86_64-threads": false} {
		snap, err := opened(t, env(t, ""), written(t, core(t, name), minidump.WriteOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		sp, _ := snap.Threads[0].Regs.Lookup(snap.Arch.SP)
		if mask := snap.CodeMask; (mask != 0) != signs || signs && (mask&sp != sp || mask>>55 != 0) {
			t.Errorf("%s: mask %#x", name, mask)
		}
	}
}

// TestReasons: what an exception is called depends on the system.
func TestReasons(t *testing.T) {
	const linux, windows, macOS, exception, systemInfo = 0x8201, 2, 0x8101, 6, 7
	dump := written(t, core(t, "x86_64-threads"), minidump.WriteOptions{})
	at, system := streamAt(dump, exception), streamAt(dump, systemInfo)
	for _, c := range []struct {
		os, code uint32
		name     string
	}{
		{linux, 11, "SIGSEGV"}, {linux, 7, "SIGBUS"}, {linux, 0xffff_ffff, ""}, {linux, 99, "exception 0x63"},
		{windows, 0xc000_0005, "EXCEPTION_ACCESS_VIOLATION_READ"}, {windows, 0xc000_00fd, "EXCEPTION_STACK_OVERFLOW"}, {windows, 0xe06d_7363, "unhandled C++ exception"},
		{macOS, 1, "EXC_BAD_ACCESS / KERN_INVALID_ADDRESS"}, {macOS, 6, "EXC_BREAKPOINT"}, {macOS, 0, ""},
	} {
		snap, err := opened(t, env(t, ""), patched(patched(dump, at+8, c.code), system+20, c.os))
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		if snap.Fault != nil {
			name = snap.Fault.Name
		}
		if name != c.name || snap.Threads[0].Crashed != (c.name != "") {
			t.Errorf("%#x of %s: %q, not %q", c.code, snap.OS, name, c.name)
		}
	}
}

// FuzzOpen: whatever a dump says, there is an error or a snapshot.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"x86_64-threads", "mips-deref"} {
		f.Add(written(f, core(f, name), minidump.WriteOptions{MaxStack: 256}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if snap, err := opened(t, env(t, ""), data); err == nil {
			_ = minidump.Write(io.Discard, snap, minidump.WriteOptions{Sanitize: true})
		}
	})
}
