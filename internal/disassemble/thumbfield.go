package disassemble

import (
	"fmt"
	"math/bits"
)

// operand writes an operand of T32 that is more than one field; the names are those of the
// forms.
func (w thumbWord) operand(name string) string {
	v := w.word
	switch name {
	case "list":
		return w.list()
	case "vector":
		return w.vector()
	case "wback": // of a 16-bit load: not where the base is loaded itself
		return [2]string{"!", ""}[v>>(v>>8&7)&1]
	case "w":
		return [2]string{"", "!"}[v>>21&1]
	case "x8":
		return fmt.Sprintf("0x%04x", v&0xff)
	case "x6":
		return fmt.Sprintf("0x%04x", v&0x3f)
	case "aif":
		return lettersOf(v, "fia")
	case "cond":
		if v>>16 != 0 {
			return conditions[v>>22&15]
		}
		return conditions[v>>8&15]
	case "near", "b8", "b11", "b20", "b24":
		return w.target(name)
	case "halves":
		return letter(v>>5, "bt") + letter(v>>4, "bt")
	case "half":
		return letter(v>>4, "bt")
	case "x":
		return [2]string{"", "x"}[v>>4&1]
	case "r":
		return [2]string{"", "r"}[v>>4&1]
	case "lanes":
		return [8]string{"s", "q", "sh", "?", "u", "uq", "uh", "?"}[v>>4&7]
	case "barrier":
		return barriers[v&15]
	case "special":
		return special(v & 0xff)
	case "udf":
		return fmt.Sprint(v>>4&0xf000 | v&0xfff)
	case "cp":
		return fmt.Sprintf("%d, %d, %s, cr%d, cr%d, {%d}", v>>8&15, v>>21&7, w.reg(v>>12), v>>16&15, v&15, v>>5&7)
	case "pairs":
		return w.indexed(v>>24&1, v>>23&1, v>>21&1, v&0xff*4)
	case "indexed":
		return w.indexed(v>>10&1, v>>9&1, v>>8&1, v&0xff)
	}
	return w.immediate(name)
}

func letter(n uint32, of string) string { return of[n&1 : n&1+1] }

// lettersOf are the letters of the bits that are set, the highest first.
func lettersOf(v uint32, of string) (s string) {
	for i := len(of) - 1; i >= 0; i-- {
		if v>>i&1 != 0 {
			s += of[i : i+1]
		}
	}
	return s
}

var barriers = [16]string{"#0", "oshld", "oshst", "osh", "#4", "nshld", "nshst", "nsh", "#8", "ishld", "ishst", "ish", "#12", "ld", "st", "sy"}

// specials are the special registers of the M profile, by SYSm (ARM DDI 0553 §D1.2.189, MRS).
var specials = [128]string{0: "apsr", 1: "iapsr", 2: "eapsr", 3: "xpsr", 5: "ipsr", 6: "epsr", 7: "iepsr", 8: "msp", 9: "psp", 10: "msplim", 11: "psplim",
	16: "primask", 17: "basepri", 18: "basepri_max", 19: "faultmask", 20: "control"}

// special is a special register, whose highest bit asks for the non-secure one.
func special(n uint32) string {
	name := specials[n&0x7f]
	switch {
	case name == "":
		return fmt.Sprint(n)
	case n >= 0x80:
		return name + "_ns"
	}
	return name
}

// immediate writes shifts and numbers that several fields make up.
func (w thumbWord) immediate(name string) string {
	v := w.word
	low := v>>10&0x1c | v>>6&3 // imm3:imm2
	switch name {
	case "shift": // 0 is 32 where the shift is to the right
		n, kind := low, v>>4&3
		if v>>16 == 0 {
			n, kind = v>>6&31, v>>11&3
		}
		if n == 0 && kind != 0 {
			n = 32
		}
		return fmt.Sprint(n)
	case "shifted":
		return shifted(v>>4&3, low)
	case "sat":
		if low == 0 {
			return ""
		}
		return ", " + [2]string{"lsl", "asr"}[v>>21&1] + fmt.Sprintf(" #%d", low)
	case "times":
		if v>>4&3 == 0 {
			return ""
		}
		return fmt.Sprintf(", lsl #%d", v>>4&3)
	case "rotated":
		if v>>4&3 == 0 {
			return ""
		}
		return fmt.Sprintf(", ror #%d", v>>4&3*8)
	case "lsb":
		return fmt.Sprint(low)
	case "bits": // up to the most significant one
		return fmt.Sprint(int32(v&31) - int32(low) + 1)
	case "const":
		return fmt.Sprint(expanded(v>>15&0x800 | v>>4&0x700 | v&0xff))
	case "i12":
		return fmt.Sprint(v>>15&0x800 | v>>4&0x700 | v&0xff)
	case "i16":
		return fmt.Sprint(v>>4&0xf000 | v>>15&0x800 | v>>4&0x700 | v&0xff)
	case "literal":
		return [2]string{"-", ""}[v>>23&1] + fmt.Sprint(v&0xfff)
	}
	return "?"
}

// shifted is the shift of a second operand; nothing for none.
func shifted(kind, n uint32) string {
	switch {
	case kind == 0 && n == 0:
		return ""
	case kind == 3 && n == 0:
		return ", rrx"
	case n == 0:
		n = 32
	}
	return fmt.Sprintf(", %s #%d", [4]string{"lsl", "lsr", "asr", "ror"}[kind], n)
}

// expanded is ThumbExpandImm (ARM DDI 0403E.e §A5.3.2): a byte, repeated or rotated.
func expanded(imm uint32) uint32 {
	b := imm & 0xff
	switch imm >> 8 {
	case 0:
		return b
	case 1:
		return b<<16 | b
	case 2:
		return b<<24 | b<<8
	case 3:
		return b * 0x0101_0101
	}
	return bits.RotateLeft32(b|0x80, -int(imm>>7))
}

// indexed is an address with an offset: before, after the access, with or without writing back.
func (w thumbWord) indexed(before, up, back, n uint32) string {
	sign := [2]string{"-", ""}[up]
	base := w.reg(w.word >> 16)
	switch {
	case before == 0:
		return fmt.Sprintf("[%s], #%s%d", base, sign, n)
	case back != 0:
		return fmt.Sprintf("[%s, #%s%d]!", base, sign, n)
	case n == 0 && up != 0:
		return "[" + base + "]"
	}
	return fmt.Sprintf("[%s, #%s%d]", base, sign, n)
}

// vector are the consecutive floating-point registers of a list: {d8-d11}.
func (w thumbWord) vector() string {
	v := w.word
	kind, first, n := "s", v>>11&0x1e|v>>22&1, v&0xff
	if v>>8&1 != 0 {
		kind, first, n = "d", v>>18&16|v>>12&15, n/2
	}
	if n == 1 {
		return fmt.Sprintf("{%s%d}", kind, first)
	}
	return fmt.Sprintf("{%s%d-%s%d}", kind, first, kind, first+n-1)
}

// target is where a branch leads.
func (w thumbWord) target(name string) string {
	v, base := w.word, w.pc+4
	s := int32(v) << 5 >> 31 // bit 26
	var distance int32
	switch name {
	case "near":
		distance = int32(v>>3&0x40 | v>>2&0x3e)
	case "b8":
		distance = int32(int8(v)) << 1
	case "b11":
		distance = int32(v) << 21 >> 20
	case "b20":
		distance = s<<20 | int32(v>>11&1<<19|v>>13&1<<18|v>>16&0x3f<<12|v&0x7ff<<1)
	case "b24":
		i1, i2 := ^(v>>13^v>>26)&1, ^(v>>11^v>>26)&1
		distance = s<<24 | int32(i1<<23|i2<<22|v>>16&0x3ff<<12|v&0x7ff<<1)
		if v>>12&1 == 0 { // blx counts from a word
			base &^= 3
		}
	}
	return fmt.Sprintf("%#x", (base+uint64(distance))&w.arch.AddrMask())
}
