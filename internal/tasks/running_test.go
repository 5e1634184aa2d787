package tasks

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/target"
)

// TestFindProcessor: the number of a task's processor is the word that idle tasks have in their names; words that
// are too large, or the same for two tasks that run, are none.
func TestFindProcessor(t *testing.T) {
	const apart, commAt, stackAt, onCPUAt = 0x400, 0x200, 0x80, 0x90
	names := []string{"swapper/0", "init", "swapper/1", "cat", "sleep"}
	runs := []uint32{0, 0, 1, 1, 0}
	for _, c := range []struct {
		name    string
		numbers []uint32
		want    bool
	}{
		{"as they are", []uint32{0, 1, 1, 0, 1}, true},
		{"not the idle tasks' numbers", []uint32{1, 1, 0, 0, 1}, false},
		{"more than there are", []uint32{0, 2, 1, 0, 1}, false},
		{"two tasks run on one", []uint32{0, 1, 1, 1, 1}, false},
	} {
		memory := make([]byte, apart*len(names))
		f := finder{reader: reader{ctx: t.Context(), Kernel: &Kernel{Arch: arm64.Archs()[0], CPUs: 2}, word: 8}}
		f.stack, f.onCPU, f.flagSize = field{stackAt - commAt, true}, field{onCPUAt - commAt, true}, 4
		for i, name := range names {
			task := memory[apart*i:]
			copy(task[commAt:], name)
			binary.LittleEndian.PutUint32(task[0x20:], c.numbers[i])
			for at := range uint32(0x200 / 4) { // all other words are no processors
				if at*4 != 0x20 {
					binary.LittleEndian.PutUint32(task[at*4:], 0xffff)
				}
			}
			binary.LittleEndian.PutUint32(task[onCPUAt:], runs[i])
			f.found = append(f.found, tasksAt+uint64(apart*i+commAt))
		}
		var b target.Builder
		b.Add(tasksAt, memory, 0, target.PermRead)
		f.Memory = b.Memory(f.Arch)
		runFinder{&f}.findProcessor()
		if f.processor.known != c.want || c.want && f.processor.at != 0x20-commAt {
			t.Errorf("%s: %+v", c.name, f.processor)
		}
		if got, want := f.task(f.found[2]).CPU, map[bool]int{true: 1, false: -1}[c.want]; got != want {
			t.Errorf("%s: swapper/1 on %d", c.name, got)
		}
	}
}

// TestFindOnCPU: on_cpu is an int, or a byte in front of on_rq, which is 1 for tasks that could run, too.
func TestFindOnCPU(t *testing.T) {
	const apart, commAt, stackAt, onCPUAt = 0x400, 0x200, 0x80, 0x94
	ready, waits, runs := []byte{0, 1, 0, 0}, []byte{0, 0, 0, 0}, []byte{1, 1, 0, 0}
	for _, c := range []struct {
		name  string
		words [][]byte // one for each task: swapper/0, init, cat
		size  int      // 0: not found
	}{
		{"an int", [][]byte{waits, {1, 0, 0, 0}, waits}, 4},
		{"a byte", [][]byte{ready, runs, waits}, 1},
		{"nothing runs", [][]byte{ready, ready, waits}, 0},
		{"more run than there are processors", [][]byte{ready, runs, runs}, 0},
	} {
		memory := make([]byte, apart*len(c.words))
		f := finder{reader: reader{ctx: t.Context(), Kernel: &Kernel{Arch: arm64.Archs()[0], CPUs: 1}, word: 8}}
		f.stack = field{stackAt - commAt, true}
		for i, word := range c.words {
			task := memory[apart*i:]
			copy(task[commAt:], []string{"swapper/0", "init", "cat"}[i])
			copy(task[onCPUAt:], word)
			f.found = append(f.found, tasksAt+uint64(apart*i+commAt))
		}
		var b target.Builder
		b.Add(tasksAt, memory, 0, target.PermRead)
		f.Memory = b.Memory(f.Arch)
		runFinder{&f}.findOnCPU()
		if f.flagSize != c.size || f.onCPU.known != (c.size > 0) || c.size > 0 && f.onCPU.at != onCPUAt-commAt {
			t.Errorf("%s: %d bytes at %+v", c.name, f.flagSize, f.onCPU)
		}
		if got, want := f.task(f.found[1]).OnCPU, c.size > 0; got != want {
			t.Errorf("%s: init runs: %v", c.name, got)
		}
	}
}

// TestIdleTask: the task of a processor that was idle is known by its number and its stack, since it has no
// registers of a switch; a name alone is none.
func TestIdleTask(t *testing.T) {
	const apart, commAt, stackAt, pidAt, stacks = 0x400, 0x200, 0x80, 0xa0, tasksAt + 0x10000
	memory := make([]byte, 0x1000)
	f := finder{reader: reader{ctx: t.Context(), Kernel: &Kernel{Arch: arm64.Archs()[0]}, word: 8}}
	f.stack, f.pid = field{stackAt - commAt, true}, field{pidAt - commAt, true}
	for i, task := range []struct {
		pid   uint32
		stack uint64
	}{{0, stacks}, {7, stacks}, {0, stacks + 8}, {0, 0}} {
		at := memory[apart*i:]
		copy(at[commAt:], "swapper/1")
		binary.LittleEndian.PutUint32(at[pidAt:], task.pid)
		binary.LittleEndian.PutUint64(at[stackAt:], task.stack)
	}
	var b target.Builder
	b.Add(tasksAt, memory, 0, target.PermRead|target.PermWrite)
	b.Add(stacks, make([]byte, 0x4000), 0, target.PermRead|target.PermWrite)
	f.Memory = b.Memory(f.Arch)
	for i, want := range []bool{true, false, false, false} {
		if got := f.isIdle(tasksAt + uint64(apart*i+commAt)); got != want {
			t.Errorf("task %d: %v, want %v", i, got, want)
		}
	}
}
