package device

import (
	"encoding/binary"
	"slices"
)

const (
	magic = "bsD\x02"

	sizeAt      = 4
	sumAt       = 8
	machineAt   = 12
	shapeAt     = 14
	trackedAt   = 15
	countsAt    = 28
	baseAt      = 36
	unitsAt     = 44
	codeAt      = 48
	identityAt  = 64
	maxIdentity = 20
	headerSize  = 88

	blockSize = 128
	pageShift = 16

	recentRules = 7
	explicit    = 7   // in place of a recent rule's index
	farRule     = 224 // the first byte of rules with two
	lengthBits  = 5
	longRow     = 1<<lengthBits - 1
	longerRow   = 255
)

// header is the counts in the head of a table.
type header struct {
	base                        uint64
	units                       uint32
	pages, blocks, rules, forms int
}

// packer writes rows into blocks.
type packer struct {
	rules  int // how many there are
	stream []byte
	starts []uint32 // of blocks, in units
	recent recent
}

// recent lists rules: first the rule that holds now, then the rules that a row of one byte can name.
type recent [1 + recentRules]int

// start sets the list that holds at the start of a block.
func (r *recent) start() {
	for i := range r {
		r[i] = i - 1
	}
	r[0] = recentRules
}

// take makes a rule the one that holds: the i-th of the recent rules or, with i = explicit, any.
func (r *recent) take(i, rule int) {
	last := min(i+1, recentRules)
	copy(r[1:last+1], r[:last])
	r[0] = rule
}

// row writes a row, in parts where it is too long for one.
func (p *packer) row(at, units uint64, rule int) {
	const most = 1<<lengthBits + longerRow + 1<<16 - 1
	for units > 0 {
		n := min(units, most)
		p.part(uint32(at), uint32(n), rule)
		at, units = at+n, units-n
	}
}

func (p *packer) part(at, units uint32, rule int) {
	b := p.recent.code(units, rule)
	if used := len(p.stream) % blockSize; used == 0 || used+len(b) > blockSize {
		p.fill()
		p.starts = append(p.starts, at)
		p.recent.start()
		b = p.recent.code(units, rule)
	}
	p.recent.take(int(b[0]>>lengthBits), rule)
	p.stream = append(p.stream, b...)
}

// fill ends a block that another block follows.
func (p *packer) fill() {
	for len(p.stream)%blockSize != 0 {
		p.stream = append(p.stream, 0)
	}
}

// code is a row's bytes.
func (r *recent) code(units uint32, rule int) []byte {
	i := slices.Index(r[1:], rule)
	if i < 0 {
		i = explicit
	}
	b := []byte{byte(i << lengthBits)}
	switch {
	case i < explicit:
	case rule < farRule:
		b = append(b, byte(rule))
	default:
		b = append(b, byte(farRule+rule>>8), byte(rule))
	}
	return appendUnits(b, units)
}

// appendUnits adds a row's length to the row's first byte, and as much as does not fit there behind.
func appendUnits(b []byte, units uint32) []byte {
	if units <= longRow {
		b[0] |= byte(units - 1)
		return b
	}
	b[0] |= longRow
	if units < longRow+1+longerRow {
		return append(b, byte(units-longRow-1))
	}
	rest := units - longRow - 1 - longerRow
	return append(b, longerRow, byte(rest), byte(rest>>8))
}

// index is the two-level index: where pages begin among blocks, and blocks in pages.
func (p *packer) index(pages int) (b []byte) {
	for page := range pages + 1 {
		first, _ := slices.BinarySearch(p.starts, uint32(page)<<pageShift)
		b = binary.LittleEndian.AppendUint16(b, uint16(first))
	}
	for _, at := range p.starts {
		b = binary.LittleEndian.AppendUint16(b, uint16(at))
	}
	return b
}
