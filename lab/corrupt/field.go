package corrupt

import (
	"encoding/binary"
	"math/rand/v2"
)

// group is a part of a file: a table of records, a list of notes, a section.
type group struct {
	name   string
	order  binary.ByteOrder
	fields []field
	// record is how many fields make a record of equal size, 0 where there are none.
	record int
	// evidence: the fields are registers.
	evidence bool
}

// field is a number of 1, 2, 4 or 8 bytes or, coded, a run of bytes in a code of variable
// lengths: LEB128, opcodes.
type field struct {
	off, size int
	coded     bool
}

// add adds numbers of the given sizes, one behind the other, as far as they lie in the
// file, and returns where they end.
func (g *group) add(b []byte, off int, sizes ...int) int {
	for _, n := range sizes {
		if off < 0 || off > len(b)-n {
			return off
		}
		if n > 0 {
			g.fields = append(g.fields, field{off: off, size: n})
		}
		off += n
	}
	return off
}

// addCoded adds a run of coded bytes.
func (g *group) addCoded(b []byte, off, size int) {
	if off >= 0 && off <= len(b) && size > 0 {
		g.fields = append(g.fields, field{off: off, size: min(size, len(b)-off), coded: true})
	}
}

// changeFields changes a field or a record of one of the groups, all groups being equally
// likely, and returns its name.
func changeFields(groups []group, b []byte, rng *rand.Rand) (what string, evidence bool) {
	if len(groups) == 0 {
		return changeBytes(b, rng), true
	}
	g := &groups[rng.IntN(len(groups))]
	if g.record > 0 && rng.IntN(4) == 0 {
		g.changeRecord(b, rng)
		return g.name, g.evidence
	}
	f := g.fields[rng.IntN(len(g.fields))]
	if f.coded {
		changeCoded(b[f.off:][:f.size], rng)
		return g.name, g.evidence
	}
	other := g.fields[rng.IntN(len(g.fields))]
	g.put(b, f, interesting(g.get(b, f), g.get(b, other), uint64(len(b)), rng))
	return g.name, g.evidence
}

// interesting is a number that programs trip over, or one close to what the file has.
func interesting(now, other, size uint64, rng *rand.Rand) uint64 {
	small := rng.Uint64N(17) - 8
	switch rng.IntN(12) {
	case 0:
		return 0
	case 1:
		return ^uint64(0) >> rng.IntN(64)
	case 2:
		return 1 << rng.IntN(64)
	case 3:
		return size + small
	case 4:
		return size - now
	case 5:
		return other
	case 6:
		return other + small
	case 7:
		return now << rng.IntN(8)
	case 8:
		return -now
	case 9:
		return now ^ 1<<rng.IntN(64)
	case 10:
		return rng.Uint64N(256)
	}
	return now + small
}

func (g *group) get(b []byte, f field) uint64 {
	p := b[f.off:]
	switch {
	case f.coded || f.size == 1:
		return uint64(p[0])
	case f.size == 2:
		return uint64(g.order.Uint16(p))
	case f.size == 4:
		return uint64(g.order.Uint32(p))
	}
	return g.order.Uint64(p)
}

func (g *group) put(b []byte, f field, v uint64) {
	p := b[f.off:]
	switch f.size {
	case 1:
		p[0] = byte(v)
	case 2:
		g.order.PutUint16(p, uint16(v))
	case 4:
		g.order.PutUint32(p, uint32(v))
	default:
		g.order.PutUint64(p, v)
	}
}

// changeRecord copies a record over another one, swaps two, or empties one.
func (g *group) changeRecord(b []byte, rng *rand.Rand) {
	n := len(g.fields) / g.record
	if n == 0 {
		return
	}
	x, y := g.bytes(b, rng.IntN(n)), g.bytes(b, rng.IntN(n))
	switch rng.IntN(3) {
	case 0:
		copy(x, y)
	case 1:
		for i := range x {
			x[i], y[i] = y[i], x[i]
		}
	case 2:
		clear(x)
	}
}

// bytes are those of record i.
func (g *group) bytes(b []byte, i int) []byte {
	first, last := g.fields[i*g.record], g.fields[(i+1)*g.record-1]
	return b[first.off : last.off+last.size]
}

// changeCoded changes some of a run of coded bytes; what lies behind them may be read in
// another way then.
func changeCoded(b []byte, rng *rand.Rand) {
	at := b[rng.IntN(len(b)):]
	run := at[:min(len(at), 1+rng.IntN(16))]
	switch rng.IntN(5) {
	case 0:
		at[0] ^= 1 << rng.IntN(8)
	case 1:
		at[0] = byte(rng.Uint32())
	case 2: // a LEB128 number of many bytes
		for i := range run {
			run[i] = 0xff
		}
	case 3: // the same over and over
		for i := range run {
			run[i] = at[0]
		}
	case 4:
		copy(run, b[rng.IntN(len(b)):])
	}
}
