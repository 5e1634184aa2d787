package disassemble

import "fmt"

// neonTransfer is a load or store of vectors, which the block copies of C libraries for ARM
// consist of: ARM DDI 0406C §A7.7.1, where A32 and T32 differ in the highest byte only. "" for
// another word, and for structures of several elements of which one is transferred.
func (w thumbWord) neonTransfer() string {
	v := w.word
	first, name := v>>18&16|v>>12&15, [2]string{"vst", "vld"}[v>>21&1]
	switch {
	case v>>20&1 != 0:
		return ""
	case v>>23&1 == 0:
		shape := neonShapes[v>>8&15]
		if shape.elements == 0 || shape.elements > 1 && v>>6&3 == 3 {
			return ""
		}
		list := fmt.Sprintf("d%d", first)
		if last := first + shape.registers - 1; shape.step == 2 {
			list = spaced(first, shape.registers)
		} else if shape.registers > 1 {
			list += fmt.Sprintf("-d%d", last)
		}
		align := [4]string{"", " :64", " :128", " :256"}[v>>4&3]
		return fmt.Sprintf("%s%d.%d {%s}, %s", name, shape.elements, 8<<(v>>6&3), list, w.neonAddress(align))
	case v>>8&3 != 0 || v>>10&3 == 3:
		return ""
	}
	size := v >> 10 & 3
	lane := v >> (5 + size) & (1<<(3-size) - 1)
	align := ""
	if v>>4&(1<<size-1) != 0 {
		align = fmt.Sprintf(" :%d", 8<<size)
	}
	return fmt.Sprintf("%s1.%d {d%d[%d]}, %s", name, 8<<size, first, lane, w.neonAddress(align))
}

// neonShapes are what a transfer of whole registers moves, by its bits 11 to 8: structures of so
// many elements, in so many registers, each or each second one.
var neonShapes = [16]struct{ elements, registers, step uint32 }{
	0: {4, 4, 1}, 1: {4, 4, 2}, 2: {1, 4, 1}, 3: {2, 4, 1}, 4: {3, 3, 1}, 5: {3, 3, 2}, 6: {1, 3, 1}, 7: {1, 1, 1}, 8: {2, 2, 1}, 9: {2, 2, 2}, 10: {1, 2, 1},
}

// spaced are n registers, each second one.
func spaced(first, n uint32) string {
	s := fmt.Sprintf("d%d", first)
	for i := uint32(1); i < n; i++ {
		s += fmt.Sprintf(", d%d", first+2*i)
	}
	return s
}

// neonAddress is the address of a transfer, with what the base grows by.
func (w thumbWord) neonAddress(align string) string {
	base := "[" + w.reg(w.word>>16) + align + "]"
	switch m := w.word & 15; m {
	case 15:
		return base
	case 13:
		return base + "!"
	default:
		return base + ", " + w.reg(m)
	}
}
