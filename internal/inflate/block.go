package inflate

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// codes are those of a block.
type codes struct {
	litlen   litLenTable
	distance distTable
}

// fixedCodes prepares for a block with fixed codes (3.2.6).
func (d *Reader) fixedCodes() error {
	if d.fixed {
		return nil
	}
	d.fixed = true
	run := func(n byte, times int) []byte { return bytes.Repeat([]byte{n}, times) }
	return d.use(slices.Concat(run(8, 144), run(9, 112), run(7, 24), run(8, 8)), run(5, 32))
}

// use makes codes those of the block.
func (d *Reader) use(litLens, dists []uint8) error {
	if !build(d.litlen[:], litLenBits, litLens, litLen) || !build(d.distance[:], distBits, dists, dist) {
		return ErrCorrupt
	}
	return nil
}

// ownCodes reads the codes of a block (3.2.7): their lengths, and before them the
// lengths of the codes in which these are written.
func (d *Reader) ownCodes() error {
	nLit, nDist, n := 257+d.take(5), 1+d.take(5), 4+d.take(4)
	if nLit > maxLitLen || nDist > maxDist {
		return ErrCorrupt
	}
	d.fixed = false
	order := [...]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	var lengths [len(order)]uint8
	for _, s := range order[:n] {
		d.fill()
		lengths[s] = uint8(d.take(3))
	}
	plain := func(s int) entry { return symbol(s, 0) }
	if !build(d.distance[:], codeLengthBits, lengths[:], plain) {
		return ErrCorrupt
	}
	var all [maxLitLen + maxDist]uint8
	if err := d.readLengths(all[:nLit+nDist]); err != nil {
		return err
	}
	return d.use(all[:nLit], all[nLit:nLit+nDist])
}

// readLengths reads the lengths of codes, by the codes in d.distance.
func (d *Reader) readLengths(lengths []uint8) error {
	for i := 0; i < len(lengths); {
		d.fill()
		e := d.distance[d.bits&(1<<codeLengthBits-1)]
		d.take(uint(e >> 27))
		value, times := uint8(e.value()), uint(1)
		switch {
		case e&special != 0 || value == 16 && i == 0:
			return ErrCorrupt
		case value == 16:
			value, times = lengths[i-1], 3+d.take(2)
		case value == 17:
			value, times = 0, 3+d.take(3)
		case value == 18:
			value, times = 0, 11+d.take(7)
		}
		if times > uint(len(lengths)-i) {
			return ErrCorrupt
		}
		for range times {
			lengths[i] = value
			i++
		}
	}
	return nil
}

// far is how many bits a distance takes at most: 15, and 13 extra. What comes before it in a
// round, two literals out of the first index and a length, takes 42 at most.
const far = 28

// decode goes on in a block of codes, to its end or until out is full or in is used up. Each
// round takes up to two literals without a branch on whether they are any: which of them is
// the last cannot be foretold, and to guess wrong takes as long as two look-ups. Of nbits,
// only the lowest six bits count.
func (d *Reader) decode() (err error) {
	pos, bits, nbits, w := d.pos, d.bits, d.nbits, d.w
	for w < full && pos < ahead {
		bits |= binary.LittleEndian.Uint64(d.in[pos:pos+word]) << (nbits & 63)
		pos += (^nbits & 63) >> 3
		nbits |= 56

		e := d.litlen[bits&(1<<litLenBits-1)]
		d.out[w] = e.byte()
		w += e.literals()
		bits >>= e & 63
		nbits -= uint(e)

		e = d.litlen[bits&(1<<litLenBits-1)]
		d.out[w] = e.byte()
		w += e.literals()
		bits >>= e & 63
		nbits -= uint(e)

		e = d.litlen[bits&(1<<litLenBits-1)]
		if e&(literal|special) != 0 {
			if e.link() {
				e = d.litlen[e.second(bits>>litLenBits)]
			}
			if e&literal != 0 {
				d.out[w] = e.byte()
				w++
				bits >>= e & 63
				nbits -= uint(e)
				continue
			}
			if e&special != 0 {
				bits >>= e.size()
				nbits -= e.size()
				if d.coded = false; e&end != end {
					err = ErrCorrupt
				}
				break
			}
		}
		n := e.value() + e.extra(bits)
		bits >>= e.size()
		nbits -= e.size()

		if nbits&63 < far {
			bits |= binary.LittleEndian.Uint64(d.in[pos:pos+word]) << (nbits & 63)
			pos += (^nbits & 63) >> 3
			nbits |= 56
		}
		e = d.distance[bits&(1<<distBits-1)]
		if e.link() {
			e = d.distance[e.second(bits>>distBits)]
		}
		back := e.value() + e.extra(bits)
		bits >>= e.size()
		nbits -= e.size()
		if back > w || e&special != 0 {
			err = ErrCorrupt
			break
		}
		from := w - back
		if back < word {
			for i := range n {
				d.out[w+i] = d.out[from+i]
			}
		} else { // what this writes beyond n is overwritten
			for i := uint(0); i < n; i += 2 * word {
				copyWords(d.out[w+i:w+i+2*word], d.out[from+i:from+i+2*word])
			}
		}
		w += n
	}
	d.pos, d.bits, d.nbits, d.w = pos, bits, nbits&63, w
	return err
}

// copyWords copies two words, one after the other: the second may begin in the first.
func copyWords(to, from []byte) {
	binary.LittleEndian.PutUint64(to[:word], binary.LittleEndian.Uint64(from[:word]))
	binary.LittleEndian.PutUint64(to[word:], binary.LittleEndian.Uint64(from[word:]))
}
