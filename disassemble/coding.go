package disassemble

// coding is an instruction that some bits of its word tell, and how it is written.
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
