package device_test

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/device"
	"github.com/backsight/backsight/target"
)

// TestDump: what device/dump.c prints is enough for the whole chain of a program without symbols and unwind tables:
// in the handler of a fault on boards, and as an assertion calls it in programs for other processors.
func TestDump(t *testing.T) {
	const naked = "-Os -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer -Wl,--build-id"
	flags := strings.Fields(naked)
	for i, b := range device.Boards() {
		t.Run(b.Name, func(t *testing.T) {
			if err := b.Missing(); err != nil {
				t.Skip(err)
			}
			flags, first := flags, "bs_dump"
			if i%2 == 1 { // is kept, and printed from there
				flags, first = append(flags, "-DSTORED"), "bs_store"
			}
			program := filepath.Join(t.TempDir(), "firmware")
			if err := b.Build(t.Context(), "../../device", program, append(flags, "dump.c", "test/dump.c")...); err != nil {
				t.Fatal(err)
			}
			args := append(b.Emulator[1:len(b.Emulator):len(b.Emulator)], "-nographic", "-kernel", program)
			log, err := child.Command(t.Context(), b.Emulator[0], args...).Output()
			if err != nil {
				t.Fatal(err)
			}
			checkDump(t, b.Compiler[0], program, string(log), first+" fault touch fail outer start")
		})
	}
	for cc, emulator := range map[string]string{"cc": "env", "mips-linux-gnu-gcc": "qemu-mips", "aarch64-linux-gnu-gcc": "qemu-aarch64"} {
		t.Run(cc, func(t *testing.T) {
			for _, tool := range []string{cc, emulator} {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skip(err)
				}
			}
			program := filepath.Join(t.TempDir(), "program")
			args := append(flags, "-static", "-DHOSTED", "-DBS_DUMP_END(sp)=((sp)+4096)", "-o", program, "../../device/dump.c", "../../device/test/dump.c")
			if out, err := child.Command(t.Context(), cc, args...).CombinedOutput(); err != nil {
				t.Skipf("%v: %s", err, out)
			}
			log, err := child.Command(t.Context(), emulator, program).Output()
			if err != nil {
				t.Fatal(err)
			}
			checkDump(t, cc, program, string(log), "bs_dump touch fail outer main")
		})
	}
}

// checkDump walks from a log with the program stripped, and compares with functions by the program's symbols; an entry of
// assembly has none.
func checkDump(t *testing.T, cc, program, log, want string) {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f := faulty{}
	if f.symbols, err = file.Symbols(); err != nil {
		t.Fatal(err)
	}
	stripped := program + ".stripped"
	if out, err := child.Command(t.Context(), strings.TrimSuffix(strings.TrimSuffix(cc, "gcc"), "cc")+"strip", "-o", stripped, program).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	files := backsight.NewFiles(input.FileOptions{Exe: stripped})
	defer files.Close()
	stream, err := backsight.OpenReader(t.Context(), "log", strings.NewReader(log), input.Env{Files: files})
	if err != nil {
		t.Fatalf("%v: %s", err, log)
	}
	defer stream.Close()
	snap, err := stream.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bts, err := u.Backtraces(t.Context(), &target.Snapshot{Arch: snap.Arch, Modules: snap.Modules, Memory: snap.Memory, Threads: snap.Threads[:1], Fault: snap.Fault})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range bts[0].Frames {
		if name := f.function(bts[0].Frames[i].CallSite, true); name != "*" || i == 0 {
			names = append(names, name)
		}
	}
	if got := strings.Join(names, " "); !strings.HasPrefix(got, want) || len(snap.Issues) > 0 {
		t.Errorf("%s, want %s; %v\n%s", got, want, snap.Issues, log)
	}
	if len(snap.Threads) > 1 && snap.Threads[1].Name != "dump" { // of the boards
		pc, _ := snap.Threads[1].Regs.Lookup(snap.Arch.PC)
		if at := f.function(pc, true); at != "touch" || snap.Threads[1].Name != "sensor" || snap.Threads[1].Crashed {
			t.Errorf("a task %q in %s", snap.Threads[1].Name, at)
		}
	} else if strings.Contains(want, "fault") {
		t.Error("no task")
	}
	t.Logf("%d bytes printed", len(log))
}
