package kernellog

import (
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// code is what a report prints of the code around the PC: units of 1 (x86), 2 or 4 bytes, in
// the processor's order.
type code struct {
	units []stackWord
	size  int // of a unit in bytes
	at    int // index of the unit at the PC
}

// maxUnits bounds the units of a line: x86 prints 64 bytes.
const maxUnits = 128

// parseCode reads what follows "Code:". The PC's unit stands in brackets: <0f>, (b9400021).
// ok is false where the kernel could not read the code, or the line lost the brackets.
func parseCode(text string) (c code, ok bool) {
	c.at = -1
	for _, f := range strings.Fields(text) {
		inner := strings.Trim(f, "<>()")
		n := digitsOf(inner)
		if n != 2 && n != 4 && n != 8 || len(c.units) >= maxUnits {
			return c, false
		}
		if len(inner) != len(f) {
			c.at = len(c.units)
		}
		if c.size == 0 {
			c.size = n / 2
		}
		v, _ := phrases.Hex(inner)
		c.units = append(c.units, stackWord{v, n == 2*c.size})
	}
	return c, c.at >= 0
}

// bytes are the code's, before units that the line lost and behind; at is the offset of the
// PC's.
func (c *code) bytes(big bool) (data []byte, at int) {
	first := c.at
	for first > 0 && c.units[first-1].known {
		first--
	}
	for i := first; i < len(c.units) && c.units[i].known; i++ {
		data = appendWord(data, c.units[i].value, c.size, big)
	}
	return data, (c.at - first) * c.size
}
