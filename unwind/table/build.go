package table

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/unwind"
)

// Rows lists rules: see cfi.Source.Rows. Rows come in order of address; one that
// reaches back over another is cut.
type Rows func(img *image.Image, yield func(lo, hi uint64, rule *unwind.Rule) bool)

// Build compiles the table of an image from what a source lists.
func Build(img *image.Image, rows Rows) *Table {
	b := builder{img: img, numbers: make(map[unwind.Packed]uint32)}
	rows(img, b.add)
	return b.table()
}

// run is a row on its way into the table. rule is the number of the rule in order of
// appearance, or one of the two words below.
type run struct {
	start uint64
	rule  uint32
}

const (
	noRule    = ^uint32(0)
	otherRule = ^uint32(0) - 1
)

type builder struct {
	img     *image.Image
	rules   []unwind.Packed
	numbers map[unwind.Packed]uint32
	last    unwind.Packed // and its number: rows often repeat
	lastNo  uint32
	runs    []run
	end     uint64
	funcs   uint32
}

// padding is the most that compilers fill up between functions.
const padding = 15

// add adds the row from lo up to hi. Who runs through padding comes to the function
// behind it: that function's first row holds there as well, and a row that says so
// is saved.
func (b *builder) add(lo, hi uint64, rule *unwind.Rule) bool {
	if lo = max(lo, b.end); lo >= hi {
		return true
	}
	start := lo
	switch {
	case b.end != 0 && lo > b.end && lo-b.end <= padding:
		start = b.end
	case lo > b.end:
		b.push(b.end, noRule)
	}
	if rule != nil && rule.Flags&unwind.StartStated != 0 && rule.Start == lo {
		b.funcs++
	}
	b.push(start, b.number(rule))
	b.end = hi
	return true
}

func (b *builder) push(start uint64, rule uint32) {
	if n := len(b.runs); n > 0 && b.runs[n-1].rule == rule || n == 0 && rule == noRule {
		return
	}
	b.runs = append(b.runs, run{start, rule})
}

// number interns a rule.
func (b *builder) number(rule *unwind.Rule) uint32 {
	if rule == nil {
		return otherRule
	}
	p, ok := unwind.Pack(b.img.Arch, rule)
	if !ok {
		return otherRule
	}
	if p == b.last && len(b.rules) > 0 {
		return b.lastNo
	}
	n, ok := b.numbers[p]
	if !ok {
		n = uint32(len(b.rules))
		b.numbers[p] = n
		b.rules = append(b.rules, p)
	}
	b.last, b.lastNo = p, n
	return n
}

// table lays the runs out in pages.
func (b *builder) table() *Table {
	b.push(b.end, noRule)
	t := &Table{arch: b.img.Arch}
	if len(b.runs) == 0 {
		t.pages = make([]byte, 4)
		return t
	}
	order := b.byFrequency()
	t.head.base = b.runs[0].start &^ lowMask
	current := uint32(noRule)
	next := 0
	for page := t.head.base; next < len(b.runs); page += 1 << pageShift {
		t.pages = binary.LittleEndian.AppendUint32(t.pages, uint32(len(t.kinds)))
		if b.runs[next].start != page {
			t.row(0, current, order)
		}
		for ; next < len(b.runs) && b.runs[next].start-page <= lowMask; next++ {
			current = b.runs[next].rule
			t.row(uint16(b.runs[next].start-page), current, order)
		}
	}
	t.pages = binary.LittleEndian.AppendUint32(t.pages, uint32(len(t.kinds)))
	t.head.pages, t.head.rows = uint32(len(t.pages)/4-1), uint32(len(t.kinds))
	t.head.rules, t.head.rares, t.head.funcs = uint32(len(b.rules)), uint32(len(t.rares)/8), b.funcs
	slices.SortFunc(b.rules, func(x, y unwind.Packed) int { return cmp.Compare(order[b.numbers[x]], order[b.numbers[y]]) })
	for _, p := range b.rules {
		t.rules = p.Append(t.rules)
	}
	return t
}

// byFrequency numbers the rules anew, those of most rows first.
func (b *builder) byFrequency() (order []uint32) {
	counts := make([]uint32, len(b.rules))
	for _, r := range b.runs {
		if r.rule < otherRule {
			counts[r.rule]++
		}
	}
	byCount := make([]uint32, len(b.rules))
	for i := range byCount {
		byCount[i] = uint32(i)
	}
	slices.SortFunc(byCount, func(x, y uint32) int { return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y)) })
	order = make([]uint32, len(b.rules))
	for to, from := range byCount {
		order[from] = uint32(to)
	}
	return order
}

// row appends a row.
func (t *Table) row(low uint16, rule uint32, order []uint32) {
	kind := byte(gap)
	switch {
	case rule == noRule:
	case rule == otherRule:
		kind = elsewhere
	case order[rule] < rare:
		kind = byte(order[rule])
	default:
		kind = rare
		t.rares = binary.LittleEndian.AppendUint32(t.rares, uint32(len(t.kinds)))
		t.rares = binary.LittleEndian.AppendUint32(t.rares, order[rule])
	}
	t.lows = binary.LittleEndian.AppendUint16(t.lows, low)
	t.kinds = append(t.kinds, kind)
}
