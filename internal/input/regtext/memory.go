package regtext

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// Row is memory in one line: Words of Size bytes each, as the processor reads them, from
// Addr on.
type Row struct {
	Addr  uint64
	Words []uint64
	Size  int
}

// Memory reads a row of memory: an address, and behind a colon, an equals sign or a bar
// numbers of one length.
//
//	200029c0: 00000004 00007eb4 00000002 a0000000
//	3fc8f7f0: 0x00000000 0x42015f8a
//	  addr: 20002b00    data: 20002b32
//	0x200210b8 0x20021100
//	0x20000000 | 00 30 00 20 c1 01 00 08
func Memory(line string) (Row, bool) {
	if _, rest, ok := strings.Cut(line, "addr:"); ok {
		if addr, data, ok := strings.Cut(rest, "data:"); ok {
			return rowOf(strings.TrimSpace(addr), data)
		}
	}
	if pair := strings.Fields(line); len(pair) == 2 && len(pair[0]) >= 10 && len(pair[0]) == len(pair[1]) &&
		strings.HasPrefix(pair[0], "0x") && strings.HasPrefix(pair[1], "0x") {
		return rowOf(pair[0][2:], pair[1])
	}
	for at := 0; at < len(line); {
		if !phrases.IsWord(line[at]) {
			at++
			continue
		}
		number, prefixed, next := hex(line, at)
		if len(number) >= 8 || prefixed && len(number) >= 4 {
			if rest, ok := behindMark(line[next:]); ok {
				if r, ok := rowOf(number, rest); ok {
					return r, true
				}
			}
		}
		at = wordEnd(line, at)
	}
	return Row{}, false
}

// behindMark is what stands behind an address.
func behindMark(s string) (string, bool) {
	s = strings.TrimLeft(s, " \t")
	if strings.HasPrefix(s, "<") { // GDB: 0x3001c3c8 <area+1360>:
		_, s, _ = strings.Cut(s, ">")
	}
	if s == "" || strings.IndexByte(":=|", s[0]) < 0 {
		return "", false
	}
	return s[1:], true
}

// rowOf reads the numbers of a row up to the first that has another length: the bytes as
// characters stand there.
func rowOf(addr, data string) (r Row, ok bool) {
	a, err := strconv.ParseUint(addr, 16, 64)
	if err != nil {
		return r, false
	}
	r.Addr = a
	for at := 0; at < len(data) && len(r.Words) < maxWords; {
		number, _, next := hex(data, skipSpaces(data, at))
		if number == "" || r.Size != 0 && len(number) != 2*r.Size {
			break
		}
		switch len(number) {
		case 2, 4, 8, 16:
			r.Size = len(number) / 2
		default:
			return r, false
		}
		v, _ := strconv.ParseUint(number, 16, 64)
		r.Words = append(r.Words, v)
		at = next
	}
	if r.Size >= 4 && a%4 != 0 { // PX4's hardfault_log counts words and prints them as addresses
		return r, false
	}
	// Two or four digits behind a colon are anything; four such numbers are bytes.
	return r, len(r.Words) >= 4 || len(r.Words) > 0 && r.Size >= 4
}

// maxWords bounds the numbers of one row.
const maxWords = 64

// Bytes are the row's bytes in the processor's order.
func (r *Row) Bytes(bigEndian bool) []byte {
	out := make([]byte, 0, len(r.Words)*r.Size)
	for _, w := range r.Words {
		for i := range r.Size {
			if bigEndian {
				i = r.Size - 1 - i
			}
			out = append(out, byte(w>>(8*i)))
		}
	}
	return out
}
