package cfi_test

import (
	"testing"

	"github.com/backsight/backsight/image"
)

// on entry to an x86-64 function: CFA is rsp+8, the return address below it.
var onEntry = code{0x0c, 7, 8, 0x80 + 16, 1}

// at is the row at an offset in the function.
type at struct {
	off  uint64
	want string
}

// TestInstructions has one program for each call frame instruction. The CIE is
// x86-64's: rsp is 7, rbx 3, rbp 6, r12 12, rip 16; offsets are in units of -8.
func TestInstructions(t *testing.T) {
	const entry = "CFA=rsp+8 RA=[CFA-8]"
	for _, c := range []struct {
		name string
		code code
		rows []at
	}{
		{"nop", code{0x00, 0x00}, []at{{0, entry}, {15, entry}, {16, "not covered"}}},
		{"advance_loc 4; def_cfa_offset 16", code{0x44, 0x0e, 16}, []at{{3, entry}, {4, "CFA=rsp+16 RA=[CFA-8]"}}},
		{"set_loc 0x10008", code{0x01, 0x08, 0, 1, 0, 0, 0, 0, 0, 0x0e, 16}, []at{{7, entry}, {8, "CFA=rsp+16 RA=[CFA-8]"}}},
		{"set_loc backwards", code{0x44, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0x0e, 16}, []at{{5, entry}}},
		{"advance_loc1 4", code{0x02, 4, 0x0e, 16}, []at{{3, entry}, {4, "CFA=rsp+16 RA=[CFA-8]"}}},
		{"advance_loc2 4", code{0x03, 4, 0, 0x0e, 16}, []at{{3, entry}, {4, "CFA=rsp+16 RA=[CFA-8]"}}},
		{"advance_loc4 4", code{0x04, 4, 0, 0, 0, 0x0e, 16}, []at{{3, entry}, {4, "CFA=rsp+16 RA=[CFA-8]"}}},
		{"MIPS_advance_loc8 4", code{0x1d, 4, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16}, []at{{3, entry}, {4, "CFA=rsp+16 RA=[CFA-8]"}}},
		{"advance past the end", code{0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16}, []at{{15, entry}}},
		{"offset rbx 2", code{0x83, 2}, []at{{0, entry + " rbx=[CFA-16]"}}},
		{"offset_extended r12 2", code{0x05, 12, 2}, []at{{0, entry + " r12=[CFA-16]"}}},
		{"offset_extended_sf r12 -2", code{0x11, 12, 0x7e}, []at{{0, entry + " r12=[CFA+16]"}}},
		{"GNU_negative_offset_extended r12 2", code{0x2f, 12, 2}, []at{{0, entry + " r12=[CFA+16]"}}},
		{"val_offset rbx 2", code{0x14, 3, 2}, []at{{0, entry + " rbx=CFA-16"}}},
		{"val_offset_sf rbx -2", code{0x15, 3, 0x7e}, []at{{0, entry + " rbx=CFA+16"}}},
		{"register rbx in r12", code{0x09, 3, 12}, []at{{0, entry + " rbx=r12"}}},
		{"register rbx in xmm0", code{0x09, 3, 17}, []at{{0, entry + " rbx=?"}}},
		{"undefined rbx", code{0x07, 3}, []at{{0, entry + " rbx=undefined"}}},
		{"same_value rbx", code{0x08, 3}, []at{{0, entry + " rbx=same"}}},
		{"expression rbx", code{0x10, 3, 5, 0x77, 8, 0x76, 0, 0x22}, []at{{0, entry + " rbx=[expression]"}}},
		{"val_expression rbx", code{0x16, 3, 5, 0x77, 8, 0x76, 0, 0x22}, []at{{0, entry + " rbx=expression"}}},
		{"offset rbx; restore rbx", code{0x83, 2, 0x44, 0xc3}, []at{{3, entry + " rbx=[CFA-16]"}, {4, entry}}},
		{"undefined rip; restore_extended rip", code{0x07, 16, 0x44, 0x06, 16}, []at{{3, "CFA=rsp+8 RA=undefined"}, {4, entry}}},
		{"remember, change all, restore", code{0x0a, 0x0c, 6, 16, 0x86, 2, 0x44, 0x0b},
			[]at{{3, "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]"}, {4, entry}}},
		{"remember twice", code{0x0a, 0x0e, 16, 0x44, 0x0a, 0x0e, 24, 0x44, 0x0b, 0x44, 0x0b},
			[]at{{0, "CFA=rsp+16 RA=[CFA-8]"}, {4, "CFA=rsp+24 RA=[CFA-8]"}, {8, "CFA=rsp+16 RA=[CFA-8]"}, {12, entry}}},
		{"remember to the end", code{0x0a, 0x0e, 16}, []at{{0, "CFA=rsp+16 RA=[CFA-8]"}}},
		{"def_cfa rbp 16", code{0x0c, 6, 16}, []at{{0, "CFA=rbp+16 RA=[CFA-8]"}}},
		{"def_cfa_sf rbp -2", code{0x12, 6, 0x7e}, []at{{0, "CFA=rbp+16 RA=[CFA-8]"}}},
		{"def_cfa_register rbp", code{0x0d, 6}, []at{{0, "CFA=rbp+8 RA=[CFA-8]"}}},
		{"def_cfa_offset_sf -2", code{0x13, 0x7e}, []at{{0, "CFA=rsp+16 RA=[CFA-8]"}}},
		{"def_cfa_expression", code{0x0f, 5, 0x77, 8, 0x76, 0, 0x22}, []at{{0, "CFA=expression RA=[CFA-8]"}}},
		// As in libgcrypt's AVX2 code: the offset outlives the expression.
		{"def_cfa_expression; def_cfa_register rbp", code{0x0f, 2, 0x77, 8, 0x44, 0x0d, 6},
			[]at{{3, "CFA=rsp+8 RA=[CFA-8]"}, {4, "CFA=rbp+8 RA=[CFA-8]"}}},
		{"def_cfa xmm0", code{0x0c, 17, 8}, []at{{0, "unsupported"}}},
		{"GNU_args_size 32", code{0x2e, 32}, []at{{0, entry}}},
		// What follows the wanted row does not matter.
		{"advance_loc 4; damage", code{0x44, 0x0b}, []at{{3, entry}, {4, "malformed"}}},
		{"GNU_window_save is SPARC's", code{0x2d}, []at{{0, "unsupported"}}},
		{"unknown", code{0x3f}, []at{{0, "unsupported"}}},
		{"operand cut off", code{0x0e}, []at{{0, "malformed"}}},
		{"expression cut off", code{0x0f, 5, 0x77}, []at{{0, "malformed"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cie := cieText{version: 1, ra: 16, code: onEntry}
			frames := cie.assemble(8, fdeText{start: textAddr, size: 16, code: c.code})
			img := imageOf(archNamed(t, "x86_64", "", false), image.Section{Name: ".eh_frame", Data: frames})
			for _, r := range c.rows {
				if got := ask(img, textAddr+r.off); got != r.want {
					t.Errorf("at +%d: %s, want %s", r.off, got, r.want)
				}
			}
		})
	}
}

// TestRememberIsBounded: a program may not use up the stack of Go.
func TestRememberIsBounded(t *testing.T) {
	deep := make(code, 100_000)
	for i := range deep {
		deep[i] = 0x0a
	}
	cie := cieText{version: 1, ra: 16, code: onEntry}
	frames := cie.assemble(8, fdeText{start: textAddr, size: 16, code: deep})
	img := imageOf(archNamed(t, "x86_64", "", false), image.Section{Name: ".eh_frame", Data: frames})
	if got := ask(img, textAddr); got != "malformed" {
		t.Error(got)
	}
}

// TestReturnAddressColumn: where the return address comes from, per processor.
func TestReturnAddressColumn(t *testing.T) {
	for _, c := range []struct {
		name      string
		arch, abi string
		ra        byte
		signal    bool
		cie, fde  code
		want      string
	}{
		{"riscv: not yet saved", "riscv64", "", 1, false, code{0x0d, 2}, nil, "CFA=sp RA=ra"},
		{"riscv: saved; ra is the PC's rule, not ra's", "riscv64", "", 1, false, code{0x0d, 2}, code{0x81, 1}, "CFA=sp RA=[CFA-8]"},
		{"riscv: __riscv_save_0 is called through t0", "riscv64", "", 5, false, code{0x0d, 2}, nil, "CFA=sp RA=t0 ra=same"},
		{"riscv: ra same_value", "riscv64", "", 1, false, code{0x0d, 2}, code{0x08, 1}, "CFA=sp RA=ra"},
		{"riscv: _start", "riscv64", "", 1, false, code{0x0d, 2}, code{0x07, 1}, "CFA=sp RA=undefined"},
		{"riscv: _start without CFA", "riscv64", "", 1, false, nil, code{0x07, 1}, "CFA=? RA=undefined"},
		{"riscv: no CFA", "riscv64", "", 1, false, nil, nil, "unsupported"},
		{"riscv: signal frame, column 64", "riscv64", "", 64, true, code{0x0d, 2}, code{0x81, 1, 0x05, 64, 2, 0x82, 3},
			"signal CFA=sp RA=[CFA-16] ra=[CFA-8] sp=[CFA-24]"},
		{"mips: signal frame, column 66", "mips", "o32", 66, true, code{0x0d, 29}, code{0x80 + 31, 1, 0x05, 66, 2},
			"signal CFA=sp RA=[CFA-16] ra=[CFA-8]"},
		{"pseudo column without rule", "mips", "o32", 66, false, code{0x0d, 29}, nil, "unsupported"},
		{"aarch64: signed", "aarch64", "", 30, false, code{0x0c, 31, 0}, code{0x2d}, "signed CFA=sp RA=x30"},
		{"aarch64: signed and back", "aarch64", "", 30, false, code{0x0c, 31, 0}, code{0x2d, 0x2d}, "CFA=sp RA=x30"},
		{"aarch64: negate_ra_state_with_pc", "aarch64", "", 30, false, code{0x0c, 31, 0}, code{0x2c}, "signed CFA=sp RA=x30"},
		{"aarch64: remembered", "aarch64", "", 30, false, code{0x0c, 31, 0}, code{0x0a, 0x2d, 0x0b}, "CFA=sp RA=x30"},
		{"aarch64: vector registers are not tracked", "aarch64", "", 30, false, code{0x0c, 31, 0}, code{0x05, 72, 2}, "CFA=sp RA=x30"},
		{"x86-64: the return address has no rule", "x86_64", "", 16, false, code{0x0c, 7, 8}, nil, "unsupported"},
		{"i386", "i386", "", 8, false, code{0x0c, 4, 4, 0x88, 1}, nil, "CFA=esp+4 RA=[CFA-8]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			arch := archNamed(t, c.arch, c.abi, c.arch == "mips")
			cie := cieText{version: 1, aug: "z", ra: c.ra, code: c.cie, bigFirst: arch.BigEndian}
			if c.signal {
				cie.aug = "zS"
			}
			frames := cie.assemble(arch.AddrSize, fdeText{start: textAddr, size: 16, code: c.fde})
			img := imageOf(arch, image.Section{Name: ".eh_frame", Data: frames})
			if got := ask(img, textAddr+4); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestReturnAddressAboveCFA: a function saves the return address in its own frame. glibc
// 2.36's _dl_runtime_resolve on AArch64 does not count x16 and x30, which the PLT pushed.
func TestReturnAddressAboveCFA(t *testing.T) {
	for _, c := range []struct {
		name, aug string
		cpu       string
		ra        byte
		off       byte // of the return address, in units of -8
		want      string
	}{
		{"AArch64's resolver", "", "aarch64", 30, 0x7f, "CFA=sp+224 RA=[CFA-8] x8=[CFA-224]"},
		{"in the frame", "", "aarch64", 30, 1, "CFA=sp+208 RA=[CFA-8] x8=[CFA-208]"},
		{"further away than SP is aligned", "", "aarch64", 30, 0x7e, "CFA=sp+208 RA=[CFA+16] x8=[CFA-208]"},
		{"a signal frame", "zS", "aarch64", 30, 0x7f, "signal CFA=sp+208 RA=[CFA+8] x8=[CFA-208] x30=[CFA+8]"},
		{"a call pushes it", "", "x86_64", 16, 0x7f, "CFA=rsp+208 RA=[CFA+8] r8=[CFA-208]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := archNamed(t, c.cpu, "", false)
			sp := byte(a.Regs[a.SP].DWARF)
			cie := cieText{version: 1, aug: c.aug, ra: c.ra, code: code{0x0c, sp, 0xd0, 1, 0x80 | 8, 26, 0x11, c.ra, c.off}}
			img := imageOf(a, image.Section{Name: ".eh_frame", Data: cie.assemble(8, fdeText{start: textAddr, size: 16})})
			if got := ask(img, textAddr); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
