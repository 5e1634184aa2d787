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

// aborted says why a program stopped that called abort, whose memory is h, and whose frames have these names and ever higher CFAs.
func aborted(t *testing.T, h *heap, variables map[string]uint64, functions ...string) string {
	arch := archNamed(t, "x86_64")
	m := synth.Module(arch, code, make([]byte, 64))
	m.Image = image.New(image.Header{Arch: arch}, library{variables: variables})
	m.Bias = 0
	words := make([]uint64, len(h)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(h[8*i:])
	}
	snap := synth.Capture(arch, nil, synth.Stack(arch).Words(words...).Place(stack))
	snap.Modules, snap.OS, snap.PID, snap.Fault = []*target.Module{m}, "Linux", 77, &target.Fault{Name: "SIGABRT", Thread: 1}
	snap.Threads = []target.Thread{{ID: 1, Crashed: true}}
	th := &report.Thread{Thread: &snap.Threads[0]}
	for i, f := range functions {
		th.Frames = append(th.Frames, report.Frame{Frame: &unwind.Frame{PC: code, CFA: stack + 0x100*uint64(i+1), HasCFA: true}, Location: &symbol.Location{Function: f}})
	}
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
