package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/gdbremote"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/stepper"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
)

// emulators are QEMU's for programs of Linux, by the folders of testdata/truth.
var emulators = map[string]string{
	"mips": "qemu-mips", "mipsel": "qemu-mipsel", "mipsr6": "qemu-mips -cpu mips32r6-generic", "mips16": "qemu-mips", "mipsn32": "qemu-mipsn32",
	"mips64el": "qemu-mips64el", "aarch64": "qemu-aarch64", "armt2": "qemu-arm", "armarm": "qemu-arm", "riscv64": "qemu-riscv64", "i386": "qemu-i386", "x86_64": "qemu-x86_64",
}

// TestRemoteProgram: a program that runs in QEMU's user mode, of which nothing is said but its address, has the frames that a
// snapshot of it has. The server tells the processor, the program's path and its place.
func TestRemoteProgram(t *testing.T) {
	cases, err := truth.Cases(recorded.Testdata(t, "truth"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		folder, _, _ := strings.Cut(c.Name, "/")
		words := strings.Fields(emulators[folder])
		program, ok := recorded.Program(t, &c, "naked")
		if len(words) == 0 || !ok {
			continue
		}
		t.Run(strings.ReplaceAll(c.Name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(words[0]); err != nil {
				t.Skip(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			files := opened(t, input.FileOptions{Images: []input.NamedImage{{Path: program}}})
			env := input.Env{Files: files, Archs: backsight.CPUs(), Formats: backsight.Formats()}
			s, err := backsight.Open(ctx, c.Snapshots(), env)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			snap, err := s.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			client := emulated(ctx, t, words, program, snap.Arch)
			runTo(t, client, snap)
			want := backtrace(t, snapshotOf(ctx, t, client, snap.Arch, env), nil)
			env.Files = opened(t, input.FileOptions{})
			live, err := client.Stream(ctx, "qemu", &env, gdbremote.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer live.Close()
			there, err := live.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got := backtrace(t, there, nil)
			if len(got.Frames) < 3 || len(got.Frames) != len(want.Frames) || got.Stop.Reason != want.Stop.Reason {
				t.Fatalf("%v %v, want %v %v", got.Frames, got.Stop, want.Frames, want.Stop)
			}
			for i := range got.Frames {
				if a, b := &got.Frames[i], &want.Frames[i]; a.PC != b.PC || a.CFA != b.CFA || a.Trust < b.Trust {
					t.Errorf("frame %d: %+v, want %+v", i, a, b)
				}
			}
		})
	}
}

// emulated starts a program, which waits at its beginning.
func emulated(ctx context.Context, t *testing.T, words []string, program string, arch *cpu.Arch) *stepper.Client {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	exe, socket := filepath.Join(dir, "program"), filepath.Join(dir, "gdb")
	if err := os.WriteFile(exe, data, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := child.Command(ctx, words[0], append(words[1:], "-seed", "1", "-g", socket, exe)...)
	cmd.Env = []string{}
	return serving(ctx, t, cmd, socket, arch)
}

// runTo lets a program run to where a snapshot stands.
func runTo(t *testing.T, client *stepper.Client, snap *target.Snapshot) {
	t.Helper()
	pc, mode, _ := snap.Arch.PCOf(&snap.Threads[0].Regs)
	kind := int(snap.Arch.InsnAlign)
	if snap.Arch.ISABit && mode == 0 || !snap.Arch.ISABit && kind > 1 {
		kind = 4
	}
	if err := client.Break(pc, kind, true); err != nil {
		t.Fatal(err)
	}
	if stop, err := client.Continue(0); err != nil || stop.Signal != gdbremote.Trap {
		t.Fatalf("%+v %v", stop, err)
	}
	if err := client.Break(pc, kind, false); err != nil {
		t.Fatal(err)
	}
}

// snapshotOf is a snapshot of the program as it stands: its registers and its stack.
func snapshotOf(ctx context.Context, t *testing.T, client *stepper.Client, arch *cpu.Arch, env input.Env) *target.Snapshot {
	t.Helper()
	var regs cpu.Registers
	if err := client.Registers(&regs); err != nil {
		t.Fatal(err)
	}
	s := truth.NewSnapshot(arch)
	for set := regs.Known; set != 0; set = set.Without(set.First()) {
		s.Regs[arch.RegName(set.First())] = truth.Hex(regs.Val[set.First()])
	}
	base := regs.Val[arch.SP]&arch.AddrMask() - 256
	stack := make([]byte, 1<<20)
	n, _ := client.Memory(base, stack)
	s.Memory = append(s.Memory, truth.Segment{Base: truth.Hex(base), Bytes: stack[:n]})
	line, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := backsight.OpenReader(ctx, "snapshot", bytes.NewReader(line), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stream.Close() })
	snap, err := stream.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}
