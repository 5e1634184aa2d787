package hostile

import "bytes"

// abbreviations: 1 unit (low_pc, high_pc, stmt_list), 2 function (low_pc, high_pc), 3
// inlined call (abstract_origin, DW_AT_ranges the unit's), 4 lexical block.
var abbreviations = []byte{
	1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0x10, 0x17, 0, 0,
	2, 0x2e, 1, 0x11, 0x01, 0x12, 0x07, 0, 0,
	3, 0x1d, 1, 0x55, 0x17, 0, 0,
	4, 0x0b, 1, 0, 0,
	0,
}

// oneRow is a sequence of a line number program: set_address, a row, advance_pc by a
// page, end_sequence.
var oneRow = append(words([]byte{0, 9, 2}, 8, text), 1, 2, 0x80, 0x20, 0, 1, 1)

// debug is a binary whose function has n times die in it, and whose line number program
// has n times opcode.
func debug(die, opcode []byte) func(int) map[string][]byte {
	return func(n int) map[string][]byte {
		unit := words([]byte{4, 0, 0, 0, 0, 0, 8, 1}, 8, text, 4096)
		unit = words(unit, 4, 0)
		unit = append(unit, words([]byte{2}, 8, text, 4096)...)
		unit = append(unit, bytes.Repeat(die, n)...)
		// One range: the page of code.
		ranges := words(nil, 8, 0, 4096, 0, 0)
		program := append(words([]byte{0, 9, 2}, 8, text), bytes.Repeat(opcode, n)...)
		program = append(program, 1, 2, 0x80, 0x20, 0, 1, 1)
		prologue := []byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 'a', 0, 0, 0, 0, 0}
		lines := append(words([]byte{4, 0}, 4, uint64(len(prologue))), prologue...)
		return through(image(nops(), []section{
			{name: ".debug_info", typ: shtProgbits, data: sized(unit)},
			{name: ".debug_abbrev", typ: shtProgbits, data: abbreviations},
			{name: ".debug_ranges", typ: shtProgbits, data: ranges},
			{name: ".debug_line", typ: shtProgbits, data: sized(append(lines, program...))},
		}), text+8, text+100, text+500)
	}
}

// sized puts the length before what follows it.
func sized(b []byte) []byte { return append(words(nil, 4, uint64(len(b))), b...) }
