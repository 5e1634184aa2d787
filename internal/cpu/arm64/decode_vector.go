package arm64

import "github.com/backsight/backsight/cpu"

// vector decodes "Data processing -- scalar floating-point and Advanced SIMD"
// for the few that write a general register.
func vector(w uint32, in *cpu.Insn) {
	opcode, rmode := w>>16&7, w>>19&3
	switch {
	case w&0x7f20fc00 == 0x1e200000:
		// Between floating point and integer: fcvt*s, fcvt*u in all rounding
		// modes; fcvta*; fmov to a general register, fjcvtzs.
		if opcode <= 1 || opcode <= 5 && opcode >= 4 && rmode == 0 || opcode == 6 && rmode != 2 {
			clobber(in, regZ(w, 0))
		}
	case w&0x7f200000 == 0x1e000000:
		// Between floating point and fixed point: fcvtzs, fcvtzu.
		if opcode <= 1 {
			clobber(in, regZ(w, 0))
		}
	case w&0xbfe0fc00 == 0x0e002c00, w&0xbfe0fc00 == 0x0e003c00: // smov, umov
		clobber(in, regZ(w, 0))
	}
}

// scalable decodes SVE, again for those that write a general register. All
// values depend on the vector length, which the code does not tell; addvl and
// addpl are how the stack pointer gets such a value.
func scalable(w uint32, in *cpu.Insn) {
	switch {
	case w&0xffa0f000 == 0x04205000: // addvl, addpl, addsvl, addspl
		clobber(in, regS(w, 0))
	case w&0xfffff000 == 0x04bf5000, // rdvl, rdsvl
		w&0xff20f000 == 0x0420f000, // sqincb, uqdecd, …
		w&0xff20f800 == 0x0420e000, // cntb, incb, decd, …
		w&0xff38c000 == 0x25208000, // cntp
		w&0xff38f800 == 0x25288800, // incp, sqdecp, …
		w&0xff2ee000 == 0x0520a000: // lasta, lastb, clasta, clastb
		clobber(in, regZ(w, 0))
	}
}
