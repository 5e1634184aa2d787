package disassemble

// coding is a row of a table of instructions: the bits of a word that tell the instruction, and how the
// instruction is written.
type coding struct {
	mask, value uint32
	form        string
}

// formOf is the form of the first coding that a word matches.
func formOf(codings []coding, word uint32) (form string, ok bool) {
	for i := range codings {
		if c := &codings[i]; word&c.mask == c.value {
			return c.form, true
		}
	}
	return "", false
}
