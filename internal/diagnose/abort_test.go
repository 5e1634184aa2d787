package diagnose

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// library is a container that has these variables.
type library struct {
	image.Container
	variables map[string]uint64
}

func (l library) SymbolNamed(name string) (image.Symbol, bool) {
	addr, ok := l.variables[name]
	return image.Symbol{Name: name, Addr: addr}, ok
}

// heap is memory from stack on, into which words and text are written.
type heap [4096]byte

func (h *heap) words(at uint64, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(h[at-stack+8*uint64(i):], w)
	}
}

func (h *heap) text(at uint64, s string) { copy(h[at-stack:], s+"\x00") }

// stopped is a program on Linux that called abort, whose memory is h, and its thread, whose frames have these names and ever higher CFAs.
func stopped(t *testing.T, h *heap, functions ...string) (*target.Snapshot, *report.Thread) {
	arch := archNamed(t, "x86_64")
	words := make([]uint64, len(h)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(h[8*i:])
	}
	snap := synth.Capture(arch, nil, synth.Stack(arch).Words(words...).Place(stack))
	snap.OS, snap.PID, snap.Fault = "Linux", 77, &target.Fault{Name: "SIGABRT", Thread: 1}
	snap.Threads = []target.Thread{{ID: 1, Crashed: true}}
	th := &report.Thread{Thread: &snap.Threads[0]}
	for i, f := range functions {
		th.Frames = append(th.Frames, report.Frame{Frame: &unwind.Frame{PC: code, CFA: stack + 0x100*uint64(i+1), HasCFA: true}, Location: &symbol.Location{Function: f}})
	}
	return snap, th
}

// aborted says why a program stopped that called abort and has these variables.
func aborted(t *testing.T, h *heap, variables map[string]uint64, functions ...string) string {
	snap, th := stopped(t, h, functions...)
	m := synth.Module(snap.Arch, code, make([]byte, 64))
	m.Image = image.New(image.Header{Arch: snap.Arch}, library{variables: variables})
	m.Bias = 0
	snap.Modules = []*target.Module{m}
	return strings.TrimPrefix(strings.Join(Crash(snap, th).Reasons, "; "), "the program ended itself (abort)")
}

// TestLastWords: what glibc and GLib say where assertions fail, and heaps and buffers are found damaged; nothing where a pointer leads nowhere.
func TestLastWords(t *testing.T) {
	const variable, message = stack + 0x800, stack + 0x900
	for _, c := range []struct {
		symbol, text string
		pointer      uint64
		want         string
	}{
		{"__abort_msg", "size" + "a.c:4: main: Assertion `c==5' failed.\n", message, "; it said: a.c:4: main: Assertion `c==5' failed."},
		{"__glib_assert_msg", "ERROR:test.c:9:run: (n > 0)", message, "; it said: ERROR:test.c:9:run: (n > 0)"},
		{"__abort_msg", "", message, ""},
		{"__abort_msg", "size text", 0, ""},
		{"__abort_msg", "size text", 0x123, ""},
		{"another", "size text", message, ""},
	} {
		h := new(heap)
		h.words(variable, c.pointer)
		h.text(message, c.text)
		if got := aborted(t, h, map[string]uint64{c.symbol: variable}, "raise", "abort"); got != c.want {
			t.Errorf("%s, %#x: %q, want %q", c.symbol, c.pointer, got, c.want)
		}
	}
}

// TestMappedWords: what Android's C library keeps in a mapping of its own, where the two words in front of the message's size say so.
func TestMappedWords(t *testing.T) {
	for _, c := range []struct {
		linker string
		mark   uint64
		want   string
	}{
		{"/system/bin/linker64", 0xc6dfba755a1de0b5, "FORTIFY: memcpy: prevented 12-byte write into 8-byte buffer"},
		{"/system/bin/linker64", 0xc6dfba755a1de0b6, ""},
		{"/lib64/ld-linux-x86-64.so.2", 0xc6dfba755a1de0b5, ""},
	} {
		h := new(heap)
		h.words(stack, 0xb18e40886ac388f0, c.mark, 0x60)
		h.text(stack+24, "FORTIFY: memcpy: prevented 12-byte write into 8-byte buffer")
		snap, _ := stopped(t, h, "abort")
		snap.Modules = []*target.Module{{Name: c.linker}}
		if got := lastWords(snap); got != c.want {
			t.Errorf("%s, %#x: %q, want %q", c.linker, c.mark, got, c.want)
		}
	}
}

// TestUncaught: the type and the message of a C++ exception, whose header's address lies between the frames of abort and __cxa_throw.
//
//	struct net_error : std::runtime_error
func TestUncaught(t *testing.T) {
	const header, derived, base, names, tables, says = stack + 0x800, stack + 0x900, stack + 0x940, stack + 0x980, stack + 0xa00, stack + 0xb00
	mark := exceptionClasses[0]
	for _, c := range []struct {
		name   string
		at     uint64 // where the header's address lies
		mark   uint64
		info   uint64
		throws string
		want   string
	}{
		{"derived", stack + 0x2f0, mark, derived, "__cxa_throw", "; an exception of type net_error was not caught: link is down"},
		{"the class itself", stack + 0x2f0, mark, base, "__cxa_throw", "; an exception of type std::runtime_error was not caught: link is down"},
		{"of libc++", stack + 0x280, exceptionClasses[1], base, "__cxa_throw", "; an exception of type std::runtime_error was not caught: link is down"},
		{"further out, of an earlier one", stack + 0x308, mark, derived, "__cxa_throw", ""},
		{"another language's", stack + 0x2f0, 0x12345678, derived, "__cxa_throw", ""},
		{"no type", stack + 0x2f0, mark, 8, "__cxa_throw", ""},
		{"nothing was thrown", stack + 0x2f0, mark, derived, "handler", ""},
	} {
		h := new(heap)
		h.words(c.at, header)
		h.words(header-exceptionType, c.info)
		h.words(header, c.mark)
		h.words(header+exceptionObject, 0, says)
		h.words(derived, tables+16, names, base)
		h.words(base, tables+16, names+0x20, 0)
		h.text(names, "9net_error")
		h.text(names+0x20, "St13runtime_error")
		h.text(says, "link is down")
		variables := map[string]uint64{"_ZTVN10__cxxabiv120__si_class_type_infoE": tables}
		if got := aborted(t, h, variables, "raise", "abort", c.throws, "main"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestBasesInCircle: type information that is its own base ends.
func TestBasesInCircle(t *testing.T) {
	const header, own, tables = stack + 0x800, stack + 0x900, stack + 0xa00
	h := new(heap)
	h.words(stack+0x2f0, header)
	h.words(header-exceptionType, own)
	h.words(header, exceptionClasses[0])
	h.words(own, tables+16, own+0x40, own)
	h.text(own+0x40, "3own")
	got := aborted(t, h, map[string]uint64{"_ZTVN10__cxxabiv120__si_class_type_infoE": tables}, "raise", "abort", "__cxa_throw", "main")
	if want := "; an exception of type own was not caught"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestGoDied: the value of a panic of Go, which the goroutine's record begins with, or has behind a word before Go 1.26; and what the
// runtime says where it gives up, which its closure has.
func TestGoDied(t *testing.T) {
	const record, value, text, types = stack + 0x400, stack + 0x500, stack + 0x600, stack + 0x800
	const stringType, intType, structType = types, types + 0x100, types + 0x200
	for _, c := range []struct {
		name   string
		record []uint64 // the goroutine's panic
		value  uint64   // behind the interface's pointer
		frames []string
		locals []uint64 // of the third frame
		want   string
	}{
		{"a string", []uint64{stringType, text}, 0, nil, nil, "it said: panic: index out of range"},
		{"of an older version", []uint64{stack + 0x100, stringType, text}, 0, nil, nil, "it said: panic: index out of range"},
		{"a number", []uint64{intType, value}, ^uint64(41), nil, nil, "it said: panic: -42"},
		{"a structure", []uint64{structType, value}, 7, nil, nil, ""},
		{"no type", []uint64{0x1234, text}, 0, nil, nil, ""},
		{"no panic", nil, 0, nil, nil, ""},
		{"the runtime", nil, 0, []string{"runtime.raise", "runtime.fatalthrow", "runtime.throw"}, []uint64{0, 3, code, value, 18}, "it said: fatal error: index out of range"},
		{"no closure", nil, 0, []string{"runtime.raise", "runtime.fatalthrow", "runtime.throw"}, []uint64{0, 3, stack, value, 18}, ""},
		{"no text", nil, 0, []string{"runtime.raise", "runtime.fatalthrow", "runtime.throw"}, []uint64{0, 3, code, stack, 18}, ""},
	} {
		h := new(heap)
		h.words(stack+0x200, c.locals...)
		h.words(record, c.record...)
		h.words(value, c.value)
		h.words(text, value, 18)
		for at, about := range map[uint64][2]byte{stringType: {16, goStrings}, intType: {8, goInt}, structType: {16, 25}} {
			h[at-stack], h[at-stack+23] = about[0], about[1]
		}
		if c.value == 0 {
			h.text(value, "index out of range")
		}
		snap, th := stopped(t, h, c.frames...)
		types := synth.Module(snap.Arch, 0, nil)
		types.Range = target.Range{Lo: stringType, Hi: structType + 0x100}
		snap.Modules = append(snap.Modules, synth.Module(snap.Arch, code, make([]byte, 64)), types)
		snap.SortModules()
		snap.Threads[0].Task = &target.Task{Goroutine: &target.Goroutine{}}
		if c.record != nil {
			snap.Threads[0].Task.Goroutine.Panic = record
		}
		if got := goDied(snap, th); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRustDied: the message of a panic of Rust is a string among the variables of the panic handler's closure.
func TestRustDied(t *testing.T) {
	const text = stack + 0x600
	handler := []string{"abort", "std::panicking::panic_with_hook", "std::panicking::begin_panic_handler::{{closure}}"}
	for _, c := range []struct {
		name   string
		frames []string
		locals []uint64 // of the third frame
		want   string
	}{
		{"formatted: capacity, address, length", handler, []uint64{64, text, 34, code}, "it said: panic: assertion failed left: 6 right: 7"},
		{"not formatted", handler, []uint64{code, text, 16}, "it said: panic: assertion failed"},
		{"too long", handler, []uint64{code, text, 5000}, ""},
		{"another closure", []string{"abort", "std::panicking::panic_with_hook", "app::run::{{closure}}"}, []uint64{code, text, 16}, ""},
		{"no panic", nil, []uint64{code, text, 16}, ""},
	} {
		h := new(heap)
		h.words(stack+0x200, c.locals...)
		h.text(text, "assertion failed\n left: 6\nright: 7")
		snap, th := stopped(t, h, c.frames...)
		if got := rustDied(snap, th); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
