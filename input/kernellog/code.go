package kernellog

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/target"
)

// code is what a report prints of the code around the PC: units of 1 (x86), 2 or 4 bytes, in
// the processor's order.
type code struct {
	units []word
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
		v, _ := parseHex(inner)
		c.units = append(c.units, word{v, n == 2*c.size})
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

// compareCode says where the code that a report prints is not that of the binary at its PC:
// then another build ran. Single instructions differ: the kernel changes its own code
// (alternatives, jump labels, tracing).
func (b *binaries) compareCode(c *code, pc uint64) []target.Issue {
	for _, m := range b.list() {
		if m.Image == nil || !m.Contains(pc) {
			continue
		}
		data, at := c.bytes(b.arch.BigEndian)
		image := m.Image.Segments.Bytes(m.ToImage(pc-uint64(at)) & b.arch.AddrMask())
		same, all := 0, min(len(data), len(image))/c.size
		for i := range all {
			if string(data[i*c.size:(i+1)*c.size]) == string(image[i*c.size:(i+1)*c.size]) {
				same++
			}
		}
		if 2*same < all {
			return []target.Issue{{Kind: target.IssueNotUsed, Subject: m.Name, Addr: pc,
				Text: fmt.Sprintf("%s: the code at %#x is not that of the report: another build?", m.Image.Path, pc)}}
		}
	}
	return nil
}
