package ehabi

import "github.com/backsight/backsight/unwind"

// program is a sequence of unwinding bytecodes. They are the bytes of words, the
// most significant first, in words of the data's byte order.
type program struct {
	words     []byte
	next      int // index of the next bytecode
	bigEndian bool
}

// compact marks a word that begins with an index of the ABI's own personality
// routines; clear, it is the prel31 of another one.
const compact = 1 << 31

// open makes p the bytecodes of a table entry (section 7). The entry of another
// personality routine may hold anything; all compilers follow GNU's, whose data
// begins like that of routine 1, in bits 31–24 (section 10.2, __gxx_personality_v0).
func (p *program) open(entry []byte, bigEndian bool) unwind.Verdict {
	p.bigEndian = bigEndian
	if len(entry) < 4 {
		return unwind.Malformed
	}
	first := word(entry, bigEndian)
	if first&compact == 0 {
		entry = entry[4:]
		if len(entry) < 4 {
			return unwind.Malformed
		}
		return p.take(entry, int(word(entry, bigEndian)>>24), 1)
	}
	switch first >> 24 & 0x7f {
	case 0: // Su16: three bytecodes
		return p.take(entry, 0, 1)
	case 1, 2: // Lu16, Lu32: number of additional words, two bytecodes
		return p.take(entry, int(first>>16&0xff), 2)
	}
	return unwind.Unsupported
}

// take makes p the bytecodes from index next on of one word and more words.
func (p *program) take(entry []byte, more, next int) unwind.Verdict {
	n := 4 + 4*more
	if len(entry) < n {
		return unwind.Malformed
	}
	p.words, p.next = entry[:n], next
	return unwind.Found
}

// byte returns the next bytecode; "finish", with which short sequences are filled
// up, after the last.
func (p *program) byte() uint8 {
	if p.next >= len(p.words) {
		return finish
	}
	i := p.next
	if !p.bigEndian {
		i ^= 3
	}
	p.next++
	return p.words[i]
}

// uleb reads a ULEB128 number; bits beyond 32 are dropped.
func (p *program) uleb() (v uint32) {
	for shift := uint(0); p.next < len(p.words); shift += 7 {
		b := p.byte()
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			break
		}
	}
	return v
}
