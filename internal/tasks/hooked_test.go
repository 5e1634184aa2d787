package tasks

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/target"
)

// The tasks of these tests: at fixed distances behind comm lie the stack, the context, and what
// tracers keep.
const (
	text, hook      = 0x40_0000, 0x40_0800
	tasksAt, apart  = 0x2000_0000, 0x8000
	stacksAt        = 0x1000_0000
	keptAt          = 0x3000_0000
	inCaller, entry = text + 0x100, text + 0x200 // behind a call of entry
)

// traced makes three tasks on whose stacks stands a tracer's address; at returns and probes they
// point to what keep writes for each. All point to one table of functions, too, which reads as entries do.
func traced(t *testing.T, keep func(kept []byte, stack uint64), current uint32, at int) *hookFinder {
	t.Helper()
	kernel := &Kernel{Arch: arm64.Archs()[0], Text: target.Range{Lo: text, Hi: text + 0x1000}, Hooks: []uint64{hook}}
	f := &finder{reader: reader{ctx: t.Context(), Kernel: kernel, word: 8}, stackSize: 0x4000, layout: layout{context: field{0x40, true}, stack: field{0x10, true}}}
	code := make([]byte, 0x1000)
	binary.LittleEndian.PutUint32(code[inCaller-4-text:], 0x9400_0000|(entry-inCaller+4)/4) // bl entry
	var b target.Builder
	b.Add(text, code, 0, target.PermRead|target.PermExec)
	tasks, kept := make([]byte, 3*apart), make([]byte, 4*0x1000)
	words(kept[3*0x1000:], inCaller, entry, 0, inCaller, entry)
	for i := range uint64(3) {
		stack := make([]byte, f.stackSize)
		binary.LittleEndian.PutUint64(stack[0x3f08:], hook)
		base := stacksAt + 0x4000*i
		b.Add(base, stack, 0, target.PermRead|target.PermWrite)
		put := func(at int, v uint64) { binary.LittleEndian.PutUint64(tasks[apart*int(i)+at:], v) }
		put(0x10, base)
		put(0x40+8*11, base+0x3f00)
		put(0x40+8*12, inCaller)
		put(0x180, keptAt+3*0x1000)
		put(at-8, uint64(current))
		put(at, keptAt+0x1000*i)
		keep(kept[0x1000*i:][:0x1000], base)
		f.found = append(f.found, tasksAt+apart*i)
	}
	b.Add(tasksAt, tasks, 0, target.PermRead|target.PermWrite)
	b.Add(keptAt, kept, 0, target.PermRead|target.PermWrite)
	f.Memory = b.Memory(&cpu.Arch{AddrSize: 8})
	return &hookFinder{finder: f}
}

func words(b []byte, vs ...uint64) {
	for i, v := range vs {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
}

// TestReturnStack: what function_graph keeps is found in all its forms.
func TestReturnStack(t *testing.T) {
	const time = 12345
	for _, c := range []struct {
		name    string
		current uint32
		keep    func(kept []byte, stack uint64)
		places  bool
		n       int
	}{
		{"with times and places, the second is over", 0, func(kept []byte, stack uint64) {
			words(kept, inCaller, entry, time, stack+0x3f20, stack+0x3f20, inCaller, entry, time, stack+0x3f00, stack+0x3f00)
		}, true, 1},
		{"without places", 1, func(kept []byte, _ uint64) {
			words(kept, inCaller, entry, time, hook, entry, time, inCaller, entry, time)
		}, false, 2},
		{"a return address that no call precedes", 1, func(kept []byte, stack uint64) {
			words(kept, text+0x40, entry, time, stack+0x3f20, inCaller, entry, time, stack+0x3f00)
		}, true, 2},
		{"Linux 6.11: words of other tracers between", 12, func(kept []byte, stack uint64) {
			words(kept, inCaller, entry, stack+0x3f20, 0x41, 7, 0x42, inCaller, entry, stack+0x3f00, 0x41)
		}, true, 2},
		{"Linux 6.11: the first returns where no call precedes", 12, func(kept []byte, stack uint64) {
			words(kept, text+0x40, entry, stack+0x3f20, 0x41, 7, 0x42, inCaller, entry, stack+0x3f00, 0x41)
		}, true, 2},
	} {
		f := traced(t, c.keep, c.current, 0x200)
		f.findHooked()
		list := f.hookedCalls(f.found[1])
		if !f.returns.known || f.returns.at != 0x200 || len(list) != c.n {
			t.Errorf("%s: %+v, %+v", c.name, f.returns, list)
			continue
		}
		if h := list[0]; h.Function != entry || (h.Places[0] == stacksAt+0x4000+0x3f20) != c.places {
			t.Errorf("%s: %+v", c.name, list)
		}
	}
}

// TestProbes: a list of kretprobes' nodes, the last call first.
func TestProbes(t *testing.T) {
	f := traced(t, func(kept []byte, stack uint64) {
		first := uint64(keptAt) + (stack-stacksAt)/0x4000*0x1000
		words(kept, first+0x40, keptAt, inCaller, stack+0x3f00)
		words(kept[0x40:], 0, keptAt, inCaller, stack+0x3f40)
	}, 0, 0x300)
	f.findHooked()
	list := f.hookedCalls(f.found[0])
	if !slices.Equal(list, []target.HookedReturn{
		{Return: inCaller, Places: [2]uint64{stacksAt + 0x3f40}},
		{Return: inCaller, Places: [2]uint64{stacksAt + 0x3f00}},
	}) {
		t.Errorf("%+v, %+v", f.returns, list)
	}
}

// TestProbesWithoutPlaces: MIPS and ARM keep no stack pointer with a probe's call; the probe tells the function.
func TestProbesWithoutPlaces(t *testing.T) {
	for _, place := range []uint64{0, keptAt} {
		f := traced(t, func(kept []byte, stack uint64) {
			at := uint64(keptAt) + (stack-stacksAt)/0x4000*0x1000
			words(kept, 0, at+0x80, inCaller, place)
			words(kept[0x80:], at+0x100)
			words(kept[0x100:], 0, 0, 0, 0, 0, entry)
		}, 0, 0x300)
		f.findHooked()
		if list := f.hookedCalls(f.found[0]); !slices.Equal(list, []target.HookedReturn{{Return: inCaller, Function: entry}}) {
			t.Errorf("%#x: %+v, %+v", place, f.probes, list)
		}
	}
}

// TestNotTraced: where no tracer's address lies on a stack, nothing is looked for.
func TestNotTraced(t *testing.T) {
	f := traced(t, func(kept []byte, stack uint64) { words(kept, inCaller, entry, 0, stack+0x3f20) }, 0, 0x200)
	f.Hooks = []uint64{hook + 4}
	if f.findHooked(); f.returns.known || f.hookedCalls(f.found[0]) != nil {
		t.Errorf("%+v", f.returns)
	}
}
