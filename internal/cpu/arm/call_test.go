package arm

import (
	"debug/elf"
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/backsight/backsight/cpu"
)

func TestCallBefore(t *testing.T) {
	for _, c := range []struct {
		what  string
		bytes string // in memory order, ending at 0x8010
		mode  cpu.Mode
		ok    bool
		want  cpu.CallSite
	}{
		{"bl 0x8110", "3e0000eb", 0, true, cpu.CallSite{Addr: 0x800c, Target: 0x810c, Direct: true}},
		{"bleq", "3e00000b", 0, true, cpu.CallSite{Addr: 0x800c, Target: 0x810c, Direct: true}},
		{"blx to Thumb, H set", "3e0000fb", 0, true, cpu.CallSite{Addr: 0x800c, Target: 0x810e, TargetMode: 1, Direct: true}},
		{"blx r3", "33ff2fe1", 0, true, cpu.CallSite{Addr: 0x800c}},
		{"mov lr,pc; bx r3", "0fe0a0e113ff2fe1", 0, true, cpu.CallSite{Addr: 0x800c}},
		{"mov lr,pc; ldr pc,[r3]", "0fe0a0e100f093e5", 0, true, cpu.CallSite{Addr: 0x800c}},
		{"adrne lr,1f; movne pc,r5; 1:", "00e08f1205f0a011", 0, true, cpu.CallSite{Addr: 0x800c}},
		{"mov lr,pc; b", "0fe0a0e13e0000ea", 0, true, cpu.CallSite{Addr: 0x800c, Target: 0x810c, Direct: true}},
		{"bx r3 alone", "0000a0e113ff2fe1", 0, false, cpu.CallSite{}},
		{"b", "3e0000ea", 0, false, cpu.CallSite{}},
		{"too short", "0000eb", 0, false, cpu.CallSite{}},
		{"nothing", "", 0, false, cpu.CallSite{}},

		{"bl", "00bf00f07ef8", 1, true, cpu.CallSite{Addr: 0x800c, Target: 0x810c, TargetMode: 1, Direct: true}},
		{"blx to A32", "00bf00f07ee8", 1, true, cpu.CallSite{Addr: 0x800c, Target: 0x810c, Direct: true}},
		{"blx r3", "00bf9847", 1, true, cpu.CallSite{Addr: 0x800e}},
		{"blxns r3", "00bf9c47", 1, true, cpu.CallSite{Addr: 0x800e}},
		{"ldr.w r4,[r0,#1944], whose half is blx r3", "00bfd0f89847", 1, false, cpu.CallSite{}},
		{"ldr.w; blx r3", "00bfd0f898479847", 1, true, cpu.CallSite{Addr: 0x800e}},
		{"push.w {r4-r10,lr} behind a literal", "ffffffff2de9f047", 1, false, cpu.CallSite{}},
		{"bl behind a literal 0xf8d20000", "00bf0000d2f800f07ef8", 1, true, cpu.CallSite{Addr: 0x800c, Target: 0x810c, TargetMode: 1, Direct: true}},
		{"bl behind three literals", "d2f8d2f8d2f8d2f8d2f800f07ef8", 1, true, cpu.CallSite{Addr: 0x800c, Target: 0x810c, TargetMode: 1, Direct: true}},
		{"ldr.w pc,[r0], whose half looks like that of a far bl", "00bfd0f800f000d0", 1, false, cpu.CallSite{}},
		{"b.w", "00bf00f07eb8", 1, false, cpu.CallSite{}},
		{"bx r3", "00bf1847", 1, false, cpu.CallSite{}},
		{"addwne lr,pc,#5; movne pc,r5 (adrne lr,1f+1)", "00bf0ff2050eaf46", 1, true, cpu.CallSite{Addr: 0x800e}},
		{"the same, to A32", "00bf0ff2040eaf46", 1, false, cpu.CallSite{}},
		{"the same, to elsewhere", "00bf0ff2090eaf46", 1, false, cpu.CallSite{}},
		{"one byte", "47", 1, false, cpu.CallSite{}},
	} {
		before, err := hex.DecodeString(c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := decoder{}.CallBefore(before, 0x8010, c.mode)
		if ok != c.ok || got != c.want {
			t.Errorf("%s: %+v %v, want %+v %v", c.what, got, ok, c.want, c.ok)
		}
	}
}

func TestCalls(t *testing.T) {
	a32 := listing{
		{"ea00003e", "b", ""},
		{"eb00003e", "bl", ""},
		{"fb00003e", "blx", ""},
		{"ebffffff", "bl .+4", ""},
		{"e1a0000e", "mov r0,lr", ""},
		{"0b00003e", "bleq", ""},
	}.assemble(t)
	want := []cpu.CallRef{
		{Site: 0x8004, Target: 0x8104},
		{Site: 0x8008, Target: 0x810a, TargetMode: 1},
		{Site: 0x8014, Target: 0x8114},
	}
	if got := (decoder{}).Calls(a32, 0x8000, 0, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("A32: %+v", got)
	}
	t32 := listing{
		{"f000 b87e", "b.w", ""},
		{"f8d0 f000", "ldr.w pc,[r0]: its second half is no bl's first", ""},
		{"f000 f87e", "bl", ""},
		{"4770", "bx lr", ""},
		{"f000 e87e", "blx", ""},
		{"f000 f800", "bl .+4", ""},
		{"4670", "mov r0,lr", ""},
	}.assemble(t)
	want = []cpu.CallRef{
		{Site: 0x8008, Target: 0x8108, TargetMode: 1},
		{Site: 0x800e, Target: 0x810c},
	}
	if got := (decoder{}).Calls(t32, 0x8000, 1, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("T32: %+v", got)
	}
	if got := (decoder{micro: true}).Calls(t32, 0x8000, 1, nil); !reflect.DeepEqual(got, want[:1]) {
		t.Errorf("M profile: %+v", got)
	}
}

// TestCallsOfBinary: behind every call that objdump shows, and only there,
// CallBefore finds one.
func TestCallsOfBinary(t *testing.T) {
	for _, file := range withSymbols(t) {
		f, err := elf.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		text := f.Section(".text")
		code, err := text.Data()
		if err != nil {
			t.Fatal(err)
		}
		calls, missed, wrong := 0, 0, 0
		lines := dump(t, "-d", "-j", ".text", file)
		for i := range lines {
			l := &lines[i]
			mode := cpu.Mode(0)
			if l.thumb {
				mode = 1
			}
			ra := l.addr + uint64(len(l.code))
			end := int(ra - text.Addr)
			_, ok := decoder{}.CallBefore(code[max(end-16, 0):end], ra, mode)
			e, _ := read(l.mnemonic, l.operands, l.thumb)
			linked := i > 0 && !l.thumb && lines[i-1].operands == "lr, pc"
			switch {
			case e.flow == "call":
				calls++
				if !ok {
					missed++
					t.Logf("%#x %s %s: missed", l.addr, l.mnemonic, l.operands)
				}
			case ok && !linked:
				wrong++
				t.Logf("%#x %s %s: no call", l.addr, l.mnemonic, l.operands)
			}
		}
		t.Logf("%s: %d calls", file, calls)
		if calls == 0 || missed > 0 || wrong > 0 {
			t.Errorf("%s: %d calls, %d missed, %d wrong", file, calls, missed, wrong)
		}
	}
}
