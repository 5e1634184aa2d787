package table

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Part is a source that a table is compiled from.
type Part struct {
	Method unwind.Method
	// List yields rows in order of address. A row that begins before the end of the row
	// yielded before is cut. wanted tells whether the sources asked before left any address
	// from lo up to hi without a rule; it may be called concurrently.
	List func(img *image.Image, wanted func(lo, hi uint64) bool, yield Yield)
}

// padding is the most that compilers fill up between functions.
const padding = 15

// Yield takes the row from lo up to hi, image addresses, and returns false when no more rows
// are wanted. mode is the mode of the row's code.
type Yield = func(lo, hi uint64, mode cpu.Mode, rule packed.Row) bool

// Listed is a Part whose source knows no modes and lists everything, as cfi.Source.Rows
// does. rule is nil where the source has a rule that a Rule cannot say.
func Listed(m unwind.Method, rows func(img *image.Image, yield func(lo, hi uint64, rule *stackwalk.Rule) bool)) Part {
	return Part{m, func(img *image.Image, _ func(lo, hi uint64) bool, yield Yield) {
		rows(img, func(lo, hi uint64, rule *stackwalk.Rule) bool {
			l := packed.Row{Start: ^uint64(0)}
			if rule != nil {
				l.Rule, l.Packs = packed.Of(img.Arch, rule)
				l.Flags, l.Start = rule.Flags, rule.Start
			}
			return yield(lo, hi, unmoded, l)
		})
	}}
}

// unmoded is the mode of rows that hold in any.
const unmoded = ^cpu.Mode(0)

// Build compiles the table of an image: each place has the rule of the first source
// that lists it.
func Build(img *image.Image, sources ...Part) *Table {
	b := builder{img: img, numbers: make(map[entry]uint32)}
	for _, p := range sources {
		b.method = p.Method
		below := b.runs
		b.runs, b.end, b.start = nil, 0, 0
		p.List(img, func(lo, hi uint64) bool { return !covered(below, lo, max(lo+1, hi-min(hi, padding))) }, b.add)
		b.runs = overlay(below, b.runs)
	}
	return b.table()
}

// run is a row before the table is laid out. rule is the number of the rule in order of
// appearance, or otherRule.
type run struct {
	lo, hi uint64
	rule   uint32
	begins bool
}

const (
	noRule    = ^uint32(0)
	otherRule = ^uint32(0) - 1
)

// entry is a rule with everything else that a row says.
type entry struct {
	rule   packed.Rule
	method unwind.Method
	mode   uint8
	flags  stackwalk.RuleFlags
}

// numbered is an entry and one more than its number; 0: there is none.
type numbered struct {
	entry
	n uint32
}

type builder struct {
	img     *image.Image
	method  unwind.Method
	rules   []entry
	numbers map[entry]uint32
	recent  [256]numbered // by hash: rows often repeat
	runs    []run
	end     uint64
	start   uint64 // of the function at hand, as its table states it
	funcs   uint32
	counted uint64 // where the last of them begins
}

// add adds the row from lo up to hi.
func (b *builder) add(lo, hi uint64, mode cpu.Mode, rule packed.Row) bool {
	first := lo
	if lo = max(lo, b.end); lo >= hi {
		return true
	}
	r := run{lo, hi, b.number(&rule, mode), false}
	if rule.Start == lo && lo == first && (b.funcs == 0 || b.counted != lo) {
		b.counted = lo
		b.funcs++
	}
	if rule.Flags&stackwalk.StartStated != 0 {
		if r.begins = rule.Start == lo && lo == first && b.start != lo; r.begins {
			b.start = lo
		} else if rule.Start != b.start {
			r.rule = otherRule
		}
	}
	b.end = hi
	if n := len(b.runs); n > 0 && b.runs[n-1].hi == lo && b.runs[n-1].rule == r.rule && !r.begins {
		b.runs[n-1].hi = hi
		return true
	}
	if len(b.runs) == cap(b.runs) {
		b.runs = slices.Grow(b.runs, len(b.runs)) // append's quarter copies often
	}
	b.runs = append(b.runs, r)
	return true
}

// number interns a rule.
func (b *builder) number(rule *packed.Row, mode cpu.Mode) uint32 {
	if !rule.Packs {
		return otherRule
	}
	e := entry{rule.Rule, b.method, anyMode, rule.Flags &^ stackwalk.SignedRA}
	if mode != unmoded {
		e.mode = uint8(mode)&1 + 1
	}
	recent := &b.recent[e.rule.Hash()>>56]
	if recent.n > 0 && recent.entry == e {
		return recent.n - 1
	}
	n, ok := b.numbers[e]
	if !ok {
		n = uint32(len(b.rules))
		b.numbers[e] = n
		b.rules = append(b.rules, e)
	}
	*recent = numbered{e, n + 1}
	return n
}

// covered tells whether runs have all addresses from lo up to hi.
func covered(runs []run, lo, hi uint64) bool {
	i, _ := slices.BinarySearchFunc(runs, lo, func(r run, a uint64) int { return cmp.Compare(r.hi, a+1) })
	for ; i < len(runs) && lo < hi && runs[i].lo <= lo; i++ {
		lo = runs[i].hi
	}
	return lo >= hi
}

// overlay adds to runs the parts of others that lie between runs.
func overlay(runs, others []run) []run {
	if len(runs) == 0 {
		return others
	}
	if len(others) == 0 {
		return runs
	}
	out := make([]run, 0, len(runs)+len(others))
	i := 0
	for _, o := range others {
		for o.lo < o.hi {
			for ; i < len(runs) && runs[i].hi <= o.lo; i++ {
				out = append(out, runs[i])
			}
			if i == len(runs) || o.hi <= runs[i].lo {
				out = append(out, o)
				break
			}
			if before := o; o.lo < runs[i].lo {
				before.hi = runs[i].lo
				out = append(out, before)
			}
			o.lo, o.begins = runs[i].hi, false
		}
	}
	return append(out, runs[i:]...)
}

// table lays the runs out in groups and pages.
func (b *builder) table() *Table {
	t := &Table{arch: b.img.Arch}
	order := b.byFrequency()
	if len(b.runs) > 0 {
		t.head.base = b.runs[0].lo &^ (1<<groupShift - 1)
	}
	t.lows, t.kinds = make([]byte, 0, len(b.runs)), make([]byte, 0, len(b.runs))
	w := writer{Table: t, order: order, group: -1}
	end := uint64(0)
	for i := range b.runs {
		r := &b.runs[i]
		if i > 0 && r.lo > end {
			w.row(end, noRule, false)
		}
		w.row(r.lo, r.rule, r.begins)
		end = r.hi
	}
	if len(b.runs) > 0 {
		w.row(end, noRule, false)
	}
	w.finish(b)
	return t
}

// byFrequency numbers the rules anew, the rule of most rows first.
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

// writer appends rows to a table.
type writer struct {
	*Table
	order []uint32
	group int64  // the number of the last group
	page  int    // the pages of it that have been begun
	next  uint64 // behind the page of the last row
}

// row appends a row.
func (w *writer) row(at uint64, rule uint32, starts bool) {
	if at >= w.next {
		w.turn(at)
	}
	kind := byte(gap)
	switch {
	case rule == noRule:
	case rule == otherRule:
		kind = elsewhere
	case w.order[rule] < rare:
		kind = byte(w.order[rule])
	default:
		kind = rare
		w.rares = binary.LittleEndian.AppendUint32(w.rares, uint32(len(w.kinds)))
		w.rares = binary.LittleEndian.AppendUint32(w.rares, w.order[rule])
	}
	if starts {
		kind |= begins
	}
	w.lows, w.kinds = append(w.lows, byte(at)), append(w.kinds, kind)
}

// turn goes on to the page of an address.
func (w *writer) turn(at uint64) {
	if g := int64((at - w.head.base) >> groupShift); g != w.group {
		w.fill(pages)
		w.group, w.page = g, 0
		w.groups = binary.LittleEndian.AppendUint32(w.groups, uint32(g))
		w.groups = binary.LittleEndian.AppendUint32(w.groups, uint32(len(w.kinds)))
	}
	w.fill(int(at>>pageShift)%pages + 1)
	w.next = (at>>pageShift + 1) << pageShift
}

// fill begins pages up to n.
func (w *writer) fill(n int) {
	for ; len(w.groups) > 0 && w.page < n; w.page++ {
		w.pages = binary.LittleEndian.AppendUint16(w.pages, uint16(len(w.kinds)-u32(w.groups, len(w.groups)/4-1)))
	}
}

// finish appends what follows from the rows.
func (w *writer) finish(b *builder) {
	w.fill(pages)
	h := &w.head
	h.groups, h.rows, h.rares = uint32(len(w.groups)/8), uint32(len(w.kinds)), uint32(len(w.rares)/8)
	h.rules, h.funcs = uint32(len(b.rules)), b.funcs
	w.groups = binary.LittleEndian.AppendUint32(w.groups, ^uint32(0))
	w.groups = binary.LittleEndian.AppendUint32(w.groups, h.rows)
	slices.SortFunc(b.rules, func(x, y entry) int { return cmp.Compare(w.order[b.numbers[x]], w.order[b.numbers[y]]) })
	for _, e := range b.rules {
		w.rules = e.rule.Append(w.rules)
		w.origins = append(w.origins, byte(e.method), e.mode)
		w.origins = binary.LittleEndian.AppendUint16(w.origins, uint16(e.flags))
	}
}
