package report

import (
	"strings"

	"github.com/backsight/backsight/cpu"
)

// WordText is an address-sized word as characters in the order of memory: "" unless the
// first four bytes at least are printable, and all behind the printable ones are 0.
func WordText(arch *cpu.Arch, v uint64) string {
	b := make([]byte, arch.AddrSize)
	for i := range b {
		k := i
		if arch.BigEndian {
			k = len(b) - 1 - i
		}
		b[k] = byte(v >> (8 * i))
	}
	s := strings.TrimRight(string(b), "\x00")
	if len(s) < 4 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return s
}
