package kallsyms

import (
	"bytes"
	"encoding/binary"
)

// tokens are kallsyms_token_table, 256 strings that each end with a NUL byte, and
// kallsyms_token_index, the offset of each: a name is a list of bytes, each of which stands
// for a token (scripts/kallsyms.c, "Table compression").
type tokens struct {
	at     int // of kallsyms_token_table in the data
	end    int // behind kallsyms_token_index
	starts [257]int
	table  []byte
}

// digits are the tokens 0x30 to 0x39. Every kernel has names with each digit, and a
// character that stands in names is always a token of its own, at its own place.
var digits = []byte("0\x001\x002\x003\x004\x005\x006\x007\x008\x009\x00")

const (
	tokenCount = 256
	// maxToken bounds the length of a token: names have 512 characters at most (KSYM_NAME_LEN).
	maxToken = 512
)

// findTokens finds the next token table from an offset on, and its byte order.
func findTokens(data []byte, from int) (t tokens, order binary.ByteOrder, found bool) {
	for {
		i := bytes.Index(data[from:], digits)
		if i < 0 {
			return t, nil, false
		}
		from += i
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			if t.read(data, from, order) {
				return t, order, true
			}
		}
		from += len(digits)
	}
}

// read takes the table whose token '0' lies at zero. The index behind the table decides: it
// has the offset of each token, 511 bytes of which must be right.
func (t *tokens) read(data []byte, zero int, order binary.ByteOrder) bool {
	first := zero - 1 // the end of a token
	for range '0' - 1 {
		n := bytes.LastIndexByte(data[max(0, first-maxToken):first], 0)
		if n < 0 {
			return false
		}
		first = max(0, first-maxToken) + n
	}
	// first is the end of token 0, whose beginning only the index tells.
	ends := make([]int, 1, tokenCount)
	ends[0] = first
	for len(ends) < tokenCount {
		at := ends[len(ends)-1] + 1
		n := bytes.IndexByte(data[at:min(at+maxToken, len(data))], 0)
		if n < 0 {
			return false
		}
		ends = append(ends, at+n)
	}
	for pad := range 8 {
		if t.index(data, ends, ends[tokenCount-1]+1+pad, order) {
			return true
		}
	}
	return false
}

// index checks that the words at an offset are the index of tokens with these ends.
func (t *tokens) index(data []byte, ends []int, at int, order binary.ByteOrder) bool {
	if at+2*tokenCount > len(data) || order.Uint16(data[at:]) != 0 {
		return false
	}
	t.at = ends[0] + 1 - int(order.Uint16(data[at+2:]))
	if t.at < 0 || t.at > ends[0] {
		return false
	}
	for k := range tokenCount {
		t.starts[k] = int(order.Uint16(data[at+2*k:]))
		if k > 0 && t.at+t.starts[k] != ends[k-1]+1 {
			return false
		}
	}
	t.end = at + 2*tokenCount
	t.table = data[t.at : ends[tokenCount-1]+1]
	t.starts[tokenCount] = len(t.table)
	return true
}

// token is the string that a byte of a name stands for.
func (t *tokens) token(b byte) []byte { return t.table[t.starts[b] : t.starts[int(b)+1]-1] }

// packed are kallsyms_names: for each symbol the number of its tokens, and these. The first
// character is nm's letter.
type packed struct {
	tokens tokens
	names  []byte
	// short: the number is one byte; else names of 128 tokens and more take two (since
	// Linux 6.1).
	short bool
}

// next is where the name behind the one at an offset begins; false at the end of the data.
func (p *packed) next(at int) (int, bool) {
	n, size := p.length(at)
	if size == 0 || at+size+n > len(p.names) {
		return 0, false
	}
	return at + size + n, true
}

// length decodes how many tokens the name at an offset has, in size bytes.
func (p *packed) length(at int) (n, size int) {
	if at >= len(p.names) {
		return 0, 0
	}
	n = int(p.names[at])
	if n < 0x80 || p.short {
		return n, 1
	}
	if at+1 >= len(p.names) {
		return 0, 0
	}
	return n&0x7f | int(p.names[at+1])<<7, 2
}

// symbol implements namer.
func (p *packed) symbol(ref uint32) (name, module string, kind byte) {
	n, size := p.length(int(ref))
	var buf [128]byte
	full := buf[:0]
	from := int(ref) + size
	for _, b := range p.names[from:min(from+n, len(p.names))] {
		if full = append(full, p.tokens.token(b)...); len(full) > maxToken {
			break
		}
	}
	if len(full) == 0 {
		return "", "", 0
	}
	return string(full[1:]), "", full[0]
}
