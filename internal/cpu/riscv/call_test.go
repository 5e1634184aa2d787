package riscv

import (
	"debug/elf"
	"encoding/hex"
	"os"
	"testing"

	"github.com/backsight/backsight/cpu"
)

func bytesOf(t testing.TB, text string) []byte {
	t.Helper()
	code, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestCallBefore(t *testing.T) {
	const ra = 0x10010
	direct := func(site, target uint64) cpu.CallSite {
		return cpu.CallSite{Addr: site, Target: target, Direct: true}
	}
	indirect := func(site uint64) cpu.CallSite { return cpu.CallSite{Addr: site} }
	for _, c := range []struct {
		name string
		d    decoder
		code string // in the order of memory
		want cpu.CallSite
		ok   bool
	}{
		{"jal ra", rv64, "ef001010", direct(0x1000c, 0x1090c), true},
		{"jal t0,__riscv_save_0", rv32, "ef021010", direct(0x1000c, 0x1090c), true},
		{"jal ra,.+4: the function that follows", rv64, "ef004000", direct(0x1000c, ra), true},
		{"j", rv64, "6f001010", cpu.CallSite{}, false},
		{"jalr a5", rv64, "e7800700", indirect(0x1000c), true},
		{"jr a5", rv64, "67800700", cpu.CallSite{}, false},
		{"jalr t1,t3 of a PLT stub", rv64, "67030e00", cpu.CallSite{}, false},
		{"c.jalr a5", rv64, "01008297", indirect(0x1000e), true},
		{"c.jr a5", rv64, "01008287", cpu.CallSite{}, false},
		{"c.jal is c.addiw on RV64", rv64, "01002520", cpu.CallSite{}, false},
		{"c.jal", rv32, "01002520", direct(0x1000e, 0x10036), true},
		{"auipc ra,0x12; jalr ra,-16(ra)", rv64, "97200100e78000ff", direct(0x1000c, 0x10008+0x12000-16), true},
		{"lui ra,0x40000; jalr ra,36(ra), ROM of the ESP32-C3", rv32, "b7000040e7804002", direct(0x1000c, 0x40000024), true},
		{"auipc t1; jalr ra,0(a5)", rv64, "17230100e7800700", indirect(0x1000c), true},
		{"cm.jalt 32", rv32zc, "010082a0", indirect(0x1000e), true},
		{"c.fsdsp where there is D", rv32, "010082a0", cpu.CallSite{}, false},
		{"too short", rv64, "ef00", cpu.CallSite{}, false},
	} {
		got, ok := c.d.CallBefore(bytesOf(t, c.code), ra, 0)
		if ok != c.ok || got != c.want {
			t.Errorf("%s: got %+v %v, want %+v %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// TestCallBeforeAmbiguous: the halves of jal can look like c.jalr and the other
// way round. What is decoded from further ahead decides.
func TestCallBeforeAmbiguous(t *testing.T) {
	const ra = 0x20010
	// c.nop; …; jal ra,.-0xff7f8: its upper half 0x9082 reads c.jalr ra.
	code := bytesOf(t, "0100010001000100"+"ef008290")
	if site, ok := rv64.CallBefore(code, ra, 0); !ok || !site.Direct {
		t.Errorf("jal taken for c.jalr: %+v %v", site, ok)
	}
	// lui a0,0x0ef00 ends in the half that begins jal; c.jalr a5 follows it.
	code = bytesOf(t, "0100010001000100"+"3705ef00"+"8297")
	if site, ok := rv64.CallBefore(code, ra, 0); !ok || site.Direct || site.Addr != ra-2 {
		t.Errorf("c.jalr taken for jal: %+v %v", site, ok)
	}
}

// TestCallBeforeEverywhere asks at each instruction of a libc whether a call
// is before it. No call may be missed; a few other places look like one.
func TestCallBeforeEverywhere(t *testing.T) {
	code, pc := textOf(t, "/usr/riscv64-linux-gnu/lib/libc.so.6")
	out := make([]cpu.Insn, len(code)/2)
	n := rv64.Decode(code, pc, 0, out)
	at, calls, wrong := 0, 0, 0
	for i := range out[:n] {
		in := &out[i]
		at += int(in.Len)
		isCall := in.Op == cpu.OpCall
		site, ok := rv64.CallBefore(code[max(0, at-16):at], pc+uint64(at), 0)
		switch {
		case isCall:
			calls++
			if !ok || site.Addr != pc+uint64(at)-uint64(in.Len) || site.Target != in.Target {
				t.Errorf("%x: call missed: %+v", pc+uint64(at), site)
			}
		case ok:
			wrong++
		}
	}
	t.Logf("%d calls found, %d of %d other places taken for one", calls, wrong, n-calls)
	if wrong*10_000 > n {
		t.Errorf("%d places wrongly taken for a call", wrong)
	}
}

func textOf(t *testing.T, file string) (code []byte, pc uint64) {
	f, err := os.Open(file)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	e, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	text := e.Section(".text")
	if code, err = text.Data(); err != nil {
		t.Fatal(err)
	}
	return code, text.Addr
}

func TestCalls(t *testing.T) {
	code := bytesOf(t, ""+
		"ef001010"+ // 10000 jal ra,10900
		"ef021010"+ // 10004 jal t0,10904
		"6f001010"+ // 10008 j
		"8297"+ // 1000c c.jalr a5
		"97200100e78000ff"+ // 1000e auipc ra,0x12; jalr ra,-16(ra)
		"1723010067000300"+ // 10016 auipc t1,0x12; jr t1: far tail call
		"9722010067800200"+ // 1001e auipc t0,0x12; jr t0: far jump
		"ef00") //             half an instruction
	want := []cpu.CallRef{
		{Site: 0x10000, Target: 0x10900},
		{Site: 0x10004, Target: 0x10904},
		{Site: 0x10012, Target: 0x1000e + 0x12000 - 16},
		{Site: 0x1001a, Target: 0x10016 + 0x12000},
	}
	got := rv64.Calls(code, 0x10000, 0, nil)
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	d, code, out := Archs()[0].Decoder, make([]byte, 1024), make([]cpu.Insn, 256)
	if n := testing.AllocsPerRun(10, func() { d.Decode(code, 0, 0, out) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(10, func() { d.CallBefore(code, 0x1000, 0) }); n != 0 {
		t.Errorf("CallBefore: %v allocations", n)
	}
}

// FuzzDecode: the instructions lie in the code one after the other, and their
// registers exist. PC stands for sepc and mepc where an instruction names these; the shadow stack's pointer is a base.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0x01, 0x11, 0x06, 0xec, 0x22, 0xe8, 0x00, 0x10}, uint64(0x10000), true, false)
	f.Add([]byte{0x42, 0xb8, 0x42, 0xbe, 0xff, 0xff, 0x1f, 0, 0, 0, 0, 0}, ^uint64(0), false, true)
	f.Add([]byte{0x73, 0x25, 0x10, 0x14, 0x73, 0x10, 0x15, 0x14, 0x73, 0, 0x20, 0x10}, uint64(0), true, false) // csrr, csrw sepc; sret
	f.Add([]byte{0x81, 0x60, 0x73, 0x40, 0x10, 0xce, 0x73, 0xc0, 0xc0, 0xcd}, uint64(0), true, false)          // c.sspush ra; sspush ra; sspopchk ra
	f.Fuzz(func(t *testing.T, code []byte, pc uint64, wide, zcmp bool) {
		d := decoder{isa{rv64: wide, zcmp: zcmp}}
		var out [16]cpu.Insn
		n := d.Decode(code, pc, 0, out[:])
		at := 0
		for i := range out[:n] {
			in := &out[i]
			if in.Len == 0 || in.List>>numRegs != 0 || in.List.Has(Zero) || in.Dst == Zero {
				t.Fatalf("%+v", in)
			}
			for _, r := range []cpu.Reg{in.Dst, in.Dst2, in.Src, in.Src2, in.Base, in.Index} {
				if r >= PC && r != SSP && r != cpu.NoReg && !(r == PC && (in.Src == PC || in.Dst == PC)) {
					t.Fatalf("register %d in %+v", r, in)
				}
			}
			at += int(in.Len)
		}
		if at > len(code) || n < len(out) && len(code)-at >= 8 {
			t.Fatalf("stopped at %d of %d bytes", at, len(code))
		}
		d.CallBefore(code, pc, 0)
		d.Calls(code, pc, 0, nil)
	})
}
