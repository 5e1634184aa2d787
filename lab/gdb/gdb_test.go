package gdb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// The cores are read back by the package that reads the kernel's.
func TestCoreIsReadBack(t *testing.T) {
	for _, a := range backsight.CPUs() {
		if len(a.Layouts) == 0 || a.ModeOnly {
			continue
		}
		t.Run(a.Name+a.ABI, func(t *testing.T) {
			snap := &target.Snapshot{Arch: a, Threads: make([]target.Thread, 1)}
			snap.Threads[0].Regs.Set(a.PC, 0x10000)
			snap.Threads[0].Regs.Set(a.SP, 0x20000)
			var b target.Builder
			b.Add(0x20000, []byte{1, 2, 3, 4, 5, 6, 7, 8}, 0, 0)
			snap.Memory = b.Memory(a)
			exe := make([]byte, 64)
			copy(exe, "\x7fELF\x01\x01\x01")
			if a.ELF.Class == 2 {
				exe[4] = 2
			}
			put16(exe[18:], a.ELF.Machine, a.BigEndian)
			put16(exe[map[byte]int{1: 36, 2: 48}[exe[4]]+flagsHigh(a.BigEndian):], uint16(a.ELF.Flags>>16), a.BigEndian)
			put16(exe[map[byte]int{1: 36, 2: 48}[exe[4]]+2-flagsHigh(a.BigEndian):], uint16(a.ELF.Flags), a.BigEndian)
			if a.BigEndian {
				exe[5] = 2
			}
			path := filepath.Join(t.TempDir(), "core")
			if err := os.WriteFile(path, core(snap, exe), 0o600); err != nil {
				t.Fatal(err)
			}
			stream, err := backsight.Open(context.Background(), path, input.Env{Files: backsight.NewFiles(input.FileOptions{})})
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			got, err := stream.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if sp, _ := got.Threads[0].Regs.Lookup(got.Arch.SP); sp != 0x20000 {
				t.Errorf("sp = %#x", sp)
			}
			if w := got.Memory.Bytes(0x20004); len(w) < 4 || w[0] != 5 {
				t.Errorf("memory %v", w)
			}
		})
	}
}

// flagsHigh is where the upper half of e_flags is.
func flagsHigh(big bool) int {
	if big {
		return 0
	}
	return 2
}

func put16(b []byte, v uint16, big bool) {
	if big {
		b[0], b[1] = byte(v>>8), byte(v)
		return
	}
	b[0], b[1] = byte(v), byte(v>>8)
}

// TestNote: a line of GDB's output is counted for the core that was named last.
func TestNote(t *testing.T) {
	got, at := make([][]uint64, 2), -1
	for line := range strings.Lines("PC 0x1\nCORE 0\nPC 0x400\nPC 0x500\nwarning: x\nCORE 7\nCORE 1\nPC 0x600\n") {
		at = note(got, line, at)
	}
	if !slices.Equal(got[0], []uint64{0x400, 0x500}) || !slices.Equal(got[1], []uint64{0x600}) || at != 1 {
		t.Error(got, at)
	}
}

// TestCancelled: a walk that was called off has no chains.
func TestCancelled(t *testing.T) {
	if !Available() {
		t.Skip("there is no ", Program)
	}
	s, err := NewSession("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if chains, err := s.Backtraces(ctx); chains != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", chains, err)
	}
}
