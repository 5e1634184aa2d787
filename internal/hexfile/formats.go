package hexfile

import "bytes"

// The record types of Intel HEX.
const (
	intelData = iota
	intelEnd
	intelSegment      // bits 4–19 of the addresses that follow
	intelStartSegment // CS:IP
	intelLinear       // bits 16–31 of the addresses that follow
	intelStartLinear  // EIP
)

// intel reads a colon, the number of data bytes, a 16-bit offset, the type, the bytes, and
// what makes the sum of all of them 0.
func (b *builder) intel(line []byte) error {
	if line[0] != ':' {
		return errDigits
	}
	r, err := b.bytes(line[1:])
	switch {
	case err != nil:
		return err
	case len(r) < 5 || len(r) < int(r[0])+5:
		return errLength
	}
	r = r[:int(r[0])+5]
	if sum(r) != 0 {
		return errSum
	}
	data := r[4 : len(r)-1]
	switch r[3] {
	case intelData:
		b.add(b.base+number(r[1:3]), data)
	case intelEnd:
		b.done = true
	case intelSegment:
		b.base = number(data) << 4
	case intelLinear:
		b.base = number(data) << 16
	case intelStartLinear:
		b.out.Entry = number(data)
	case intelStartSegment:
	default:
		return errDigits
	}
	return nil
}

// motorola reads S, the type, the number of bytes that follow, an address of 16, 24 or 32
// bits, the bytes, and the ones' complement of the sum of all bytes.
func (b *builder) motorola(line []byte) error {
	if len(line) < 4 || line[0] != 'S' {
		return errDigits
	}
	r, err := b.bytes(line[2:])
	switch {
	case err != nil:
		return err
	case len(r) < int(r[0])+1:
		return errLength
	}
	r = r[:int(r[0])+1]
	if sum(r) != 0xff {
		return errSum
	}
	switch kind := line[1]; kind {
	case '1', '2', '3':
		n := int(kind-'1') + 3 // where the data begin
		if len(r) < n+1 {
			return errLength
		}
		b.add(number(r[1:n]), r[n:len(r)-1])
	case '7', '8', '9':
		b.out.Entry = number(r[1 : len(r)-1])
	}
	return nil
}

// ti reads an at sign and an address, or bytes with white space between them. q ends the
// file.
func (b *builder) ti(line []byte) error {
	switch {
	case line[0] == 'q' || line[0] == 'Q':
		b.done = true
	case line[0] == '@':
		if len(line) < 2 || len(line) > 17 || !allHex(line[1:]) {
			return errDigits
		}
		b.at = 0
		for _, c := range line[1:] {
			v, _ := digit(c)
			b.at = b.at<<4 | uint64(v)
		}
	default:
		r, err := b.bytes(bytes.Join(bytes.Fields(line), nil))
		if err != nil {
			return err
		}
		b.add(b.at, r)
		b.at += uint64(len(r))
	}
	return nil
}
