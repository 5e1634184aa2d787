package x86

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
)

func TestCallBefore(t *testing.T) {
	const ra = 0x401000
	for _, c := range []struct {
		arch, hex, text string
		size            uint64
		target          uint64 // of a direct call, 0: indirect
		slot            uint64 // of an indirect call
	}{
		{"x86_64", "e8 fb 0f 00 00", "call 0x401ffb", 5, 0x401ffb, 0},
		{"x86_64", "67 e8 fb 0f 00 00", "addr32 call 0x401ffb", 6, 0x401ffb, 0},
		{"x86_64", "66 66 48 e8 fb 0f 00 00", "data16 data16 rex.W call __tls_get_addr", 7, 0x401ffb, 0},
		{"x86_64", "ff d0", "call *%rax", 2, 0, 0},
		{"x86_64", "41 ff d4", "call *%r12", 3, 0, 0},
		{"x86_64", "3e ff d0", "notrack call *%rax", 3, 0, 0},
		{"x86_64", "ff 15 8a 2f 00 00", "call *0x2f8a(%rip)", 6, 0, 0x403f8a},
		{"x86_64", "66 48 ff 15 8a 2f 00 00", "data16 rex.W call *__tls_get_addr@GOTPCREL(%rip)", 8, 0, 0x403f8a},
		{"x86_64", "ff 50 18", "call *0x18(%rax)", 3, 0, 0},
		{"x86_64", "41 ff 54 24 08", "call *0x8(%r12)", 5, 0, 0},
		{"x86_64", "ff 14 c5 00 10 40 00", "call *0x401000(,%rax,8)", 7, 0, 0},
		{"x86_64", "41 ff 94 c4 00 01 00 00", "call *0x100(%r12,%rax,8)", 8, 0, 0},
		{"i386", "ff 15 10 20 40 00", "call *0x402010", 6, 0, 0x402010},
		{"i386", "65 ff 15 10 00 00 00", "call *%gs:0x10", 7, 0, 0},
		{"i386", "ff 93 10 00 00 00", "call *0x10(%ebx)", 6, 0, 0},
		{"i386", "e8 fb ef bf ff", "call 0xfffffffb, around the top", 5, 0xfffffffb, 0},
		// E8 five bytes in front is the ModRM of mov %ebp,%eax; as a displacement
		// 0xd0ff3148 is out of reach.
		{"x86_64", "89 e8 48 31 ff d0", "mov; call *%rax", 2, 0, 0},
		// call rel32 whose displacement reads as call *0(%rax): 0x0050ff00.
		{"x86_64", "e8 00 ff 50 00", "call 0x910f00", 5, 0x910f00, 0},
	} {
		a := byName(t, c.arch)
		code := append([]byte("\xc3\xc3\xc3\xc3\xc3\xc3\xc3\xc3"), bytesOf(c.hex)...)
		s, ok := a.Decoder.CallBefore(code, ra, 0)
		want := cpu.CallSite{Addr: ra - c.size, Target: c.target | c.slot, Direct: c.target != 0}
		if !ok || s != want {
			t.Errorf("%s %s: %+v %v, want %+v", c.hex, c.text, s, ok, want)
		}
	}
	for _, c := range []string{"", "e8", "ff", "90 90 90 90 90", "ff e0", "ff 24 c5 00 10 40 00", "e9 00 10 00 00", "ff 15 00 00 00"} {
		if s, ok := (decoder{long: true}).CallBefore(bytesOf(c), ra, 0); ok {
			t.Errorf("% x: %+v, want none", c, s)
		}
	}
}

// At every return address of real code CallBefore finds the call that is there.
// The rates of wrong readings are those that its comment counts on.
func TestCallBeforeAgainstObjdump(t *testing.T) {
	for _, a := range Archs() {
		calls, both, wrong, early := 0, 0, 0, 0
		for _, path := range binaries(t, a.Name) {
			for _, s := range sections(t, path) {
				d := *a.Decoder.(*decoder)
				sample := s.samples(1 << 15)[0]
				disassemble(t, path, s, sample[0], sample[1], func(l line) {
					tx := split(l.text)
					if !strings.HasPrefix(tx.mnemonic, "call") || unreadable(l.text) || strings.HasSuffix(tx.mnemonic, "w") {
						return
					}
					calls++
					at := l.addr - s.addr + uint64(l.size)
					before := s.data[max(0, int(at)-16):at]
					site, ok := d.CallBefore(before, l.addr+uint64(l.size), 0)
					direct := !strings.HasPrefix(tx.operands[0], "*")
					if len(before) >= 5 && before[len(before)-5] == 0xe8 && d.indirectBefore(before) != 0 {
						both++
					}
					if l.addr-site.Addr == 1 {
						early++
					}
					switch {
					case !ok:
						t.Errorf("%s %#x: %s: not found", path, l.addr, l.text)
					case site.Direct != direct, site.Addr > l.addr+uint64(l.size)-2:
						wrong++
						t.Logf("%s %#x: % x %s: %+v", path, l.addr, before, l.text, site)
					}
				})
			}
		}
		t.Logf("%s: %d calls, %d readable as direct and as indirect, %d read wrongly, %d start a byte early", a.Name, calls, both, wrong, early)
		if wrong*10000 > calls || early*100 > calls {
			t.Errorf("%s: of %d calls %d read wrongly, %d early", a.Name, calls, wrong, early)
		}
	}
}

func TestCallsFindsDirectCalls(t *testing.T) {
	code := bytesOf(`
		f3 0f 1e fa
		e8 f7 0f 00 00
		48 b8 e8 00 00 00 01 00 00 00
		e8 00 00 00 00
		58
		06
		67 e8 00 01 00 00
		e8 01 00`)
	d := decoder{long: true}
	refs := d.Calls(code, 0x1000, 0, nil)
	want := []cpu.CallRef{
		{Site: 0x1004, Target: 0x2000},
		{Site: 0x100b, Target: 0x1001010}, // in movabs's constant
		{Site: 0x101b, Target: 0x1120},
		// Not the call to the next instruction, which pops the address, and not the last one, which is cut off.
	}
	if !reflect.DeepEqual(refs, want) {
		t.Errorf("%+v, want %+v", refs, want)
	}
	var calls cpu.CallBlock
	if d.InStep(code, 0, 0, &calls) {
		t.Error("no undefined byte is seen")
	}
	for i, r := range refs {
		at := r.Site - 0x1000
		if got, want := calls[at/64]>>(at%64)&1 != 0, i != 1; got != want {
			t.Errorf("the call at %#x is in step: %v, want %v", r.Site, got, want)
		}
	}
}

// TestInStepOfABlock: a block has the calls that begin in it, and is clean whatever stands
// around.
func TestInStepOfABlock(t *testing.T) {
	call, nops := bytesOf("e8 00 01 00 00"), bytes.Repeat([]byte{0x90}, cpu.CallBlockSize-3)
	code := slices.Concat([]byte{0x06, 0x06, 0x06}, nops, call, nops, call)
	d := decoder{long: true}
	for block, want := range []struct {
		first uint64
		clean bool
	}{{0, false}, {1, true}, {1 << 2, true}} {
		var calls cpu.CallBlock
		if clean := d.InStep(code, block*cpu.CallBlockSize, 0, &calls); clean != want.clean || calls[0] != want.first {
			t.Errorf("block %d: clean %v, %b", block, clean, calls[0])
		}
	}
}

// TestReadsPC: a call to the next instruction reads the PC where that takes the address from the stack. Else it is a call of the
// function that lies behind: Lua's luaG_typeerror ends in one of typeerror.
func TestReadsPC(t *testing.T) {
	for next, want := range map[string]bool{
		"58 c3 90":       true,  // pop %rax
		"41 5b c3":       true,  // pop %r11
		"83 04 24 07":    true,  // addl $7,(%esp)
		"8b 1c 24 c3":    true,  // mov (%esp),%ebx
		"":               true,  // nobody knows
		"53 48 83 ec 20": false, // push %rbx; sub $32,%rsp
		"f3 0f 1e fa 50": false, // endbr64; push %rax
	} {
		code := bytesOf("e8 00 00 00 00 " + next)
		d := decoder{long: true}
		var in [1]cpu.Insn
		d.Decode(code, 0x1000, 0, in[:])
		refs := d.Calls(code, 0x1000, 0, nil)
		if got := in[0].Flags&cpu.FlagGetPC != 0; got != want || (len(refs) == 0) != want {
			t.Errorf("call +0; %s reads the PC: %v, want %v; calls %+v", next, got, want, refs)
		}
	}
}
