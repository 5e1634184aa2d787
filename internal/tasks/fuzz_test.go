package tasks

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/synth/kernels"
	"github.com/backsight/backsight/target"
)

// machine is a kernel with three tasks, whose memory is ram.
func machine() (k *Kernel, ram []byte) {
	m := kernels.NewMachine("swapper/0", "init", "sh")
	text := target.Range{Lo: m.Symbols[0].Addr, Hi: m.Symbols[len(m.Symbols)-1].Addr}
	arch := arm64.Archs()[0]
	var b target.Builder
	b.Add(kernels.Linear, m.RAM, 0, target.PermRead|target.PermWrite)
	b.Add(kernels.RAMBase+m.Offset, m.RAM, 0, target.PermRead|target.PermWrite|target.PermExec)
	comm := uint64(bytes.Index(m.RAM, []byte("swapper/0"))) + kernels.RAMBase + m.Offset
	return &Kernel{Arch: arch, Memory: b.Memory(arch), Text: text, Init: []uint64{comm}, CPUs: 1}, m.RAM
}

// TestMachine: the tasks are found, with what is known of them.
func TestMachine(t *testing.T) {
	k, _ := machine()
	tasks, err := Find(t.Context(), k)
	if err != nil || len(tasks) != 3 {
		t.Fatalf("%d tasks, error %v", len(tasks), err)
	}
	for i, name := range []string{"swapper/0", "init", "sh"} {
		if tasks[i].Comm != name || tasks[i].PID != i || tasks[i].Regs.Known == 0 || tasks[i].Stack.Lo == 0 {
			t.Errorf("task %d: %+v", i, tasks[i])
		}
	}
}

// TestFindEndsWithContext: the error says that the search was broken off.
func TestFindEndsWithContext(t *testing.T) {
	k, _ := machine()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found, err := Find(ctx, k); found != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%d tasks, error %v", len(found), err)
	}
}

// TestTopOfMemory: the words that a task points to may be the last of 2⁶⁴ addresses, behind which there are none.
func TestTopOfMemory(t *testing.T) {
	arch := arm64.Archs()[0]
	var b target.Builder
	b.Add(^uint64(0)-63, make([]byte, 64), 0, target.PermRead)
	b.Add(0, make([]byte, 64), 0, target.PermRead)
	r := reader{ctx: t.Context(), Kernel: &Kernel{Arch: arch, Memory: b.Memory(arch)}, word: 8}
	if words := r.words(^uint64(0)-31, maxReturnStack); len(words) != 3 {
		t.Errorf("%d words", len(words))
	}
}

// FuzzFind changes words of the memory around tasks and on their stacks.
func FuzzFind(f *testing.F) {
	k, ram := machine()
	first := bytes.Index(ram, []byte("swapper/0")) &^ 15
	f.Add(uint16(0), uint64(0), uint16(8), uint64(1)<<63)
	f.Fuzz(func(t *testing.T, at1 uint16, v1 uint64, at2 uint16, v2 uint64) {
		words := [...][]byte{ram[first-256:][int(at1)*8%(64<<10):][:8], ram[first-256:][int(at2)*8%(64<<10):][:8]}
		var was [len(words)]uint64
		for i, v := range []uint64{v1, v2} {
			was[i] = binary.LittleEndian.Uint64(words[i])
			binary.LittleEndian.PutUint64(words[i], v)
		}
		tasks, _ := Find(t.Context(), k)
		for i := range tasks {
			if s := tasks[i].Stack; s.Hi-s.Lo > maxStack {
				t.Errorf("%s has a stack of %d bytes", tasks[i].Comm, s.Hi-s.Lo)
			}
		}
		for i := len(words) - 1; i >= 0; i-- {
			binary.LittleEndian.PutUint64(words[i], was[i])
		}
	})
}
