package tasks

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/target"
)

// TestStates: the state lies before the stack's address, on ARM since Linux 6.6 with saved_state
// between.
func TestStates(t *testing.T) {
	words := []uint32{0, 1, 2, 0x402, 0x102, 0x40, 0x80, 1, 1, 1, 1}
	want := []string{"ready", "sleeping", "uninterruptible", "idle", "traced", "parked", "zombie", "sleeping", "sleeping", "sleeping", "sleeping"}
	words[4] = taskTraced
	for _, c := range []struct {
		name   string
		arch   *cpu.Arch
		before int
	}{
		{"arm64", arm64.Archs()[0], 8},
		{"ARM", arm.Archs()[0], 4},
		{"ARM, Linux 6.6", arm.Archs()[0], 8},
	} {
		const stackAt, apart = 0x10, 0x100
		memory := make([]byte, apart*len(words))
		f := finder{reader: reader{ctx: t.Context(), Kernel: &Kernel{Arch: c.arch}, word: uint64(c.arch.AddrSize)}, layout: layout{stack: field{stackAt, true}}}
		for i, w := range words {
			binary.LittleEndian.PutUint32(memory[apart*i+stackAt-c.before:], w)
			if c.before == 8 && c.arch.AddrSize == 4 {
				binary.LittleEndian.PutUint32(memory[apart*i+stackAt-4:], 0) // saved_state: TASK_RUNNING
			}
			f.found = append(f.found, tasksAt+apart*uint64(i))
		}
		var b target.Builder
		b.Add(tasksAt, memory, 0, target.PermRead)
		f.Memory = b.Memory(c.arch)
		f.findState()
		var got []string
		for _, task := range f.found {
			got = append(got, f.stateOf(task, false))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v", c.name, got)
		}
		if got := f.stateOf(f.found[0], true); got != "running" {
			t.Errorf("%s: on a processor %q", c.name, got)
		}
	}
}

// TestStatedFields: where the kernel's types tell, that place is looked at first, and what they do
// not have is looked for.
func TestStatedFields(t *testing.T) {
	f := reader{ctx: t.Context(), Kernel: &Kernel{Fields: func(path ...string) (uint64, bool) {
		off, ok := map[string]uint64{"comm": 0x500, "pid": 0x4d0, "exit_state": 0x4c0}[path[len(path)-1]]
		return off, ok
	}}}
	near := span{-16, -24, -4}
	for _, c := range []struct {
		path string
		want []distance
	}{{"pid", []distance{-0x30, -16, -20}}, {"on_cpu", []distance{-16, -20}}} {
		if got := slices.Collect(f.distances(near, []string{"no_such"}, []string{c.path})); !slices.Equal(got, c.want) {
			t.Errorf("%s: %d", c.path, got)
		}
	}
	if f.Fields = nil; len(slices.Collect(f.distances(span{}, []string{"exit_state"}))) != 0 {
		t.Error("found without types")
	}
}
