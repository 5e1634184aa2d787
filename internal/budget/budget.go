// Package budget bounds what untrusted input can make the program spend: steps of
// work (an instruction decoded, a row, a DIE) and bytes of memory kept.
//
// A budget is a floor, which honest files of any kind stay below, and so much for
// each byte that was really read; never a number that the input states. No clock is
// in it: the same input gives the same result on every machine. Whoever works or
// keeps memory draws from the budget beforehand, and where a draw fails, ends that
// part of the work with what has been found, and reports Err with the file and the
// place:
//
//	rows := budget.New("line table rows", 1<<20, uint64(len(section)))
//	for more() {
//		if !rows.Draw(1) {
//			return fmt.Errorf("%s: .debug_line at %#x: %w", path, at, rows.Err())
//		}
//		…
//	}
package budget

import (
	"context"
	"fmt"
	"math"
)

// Budget is how much of one thing may still be spent. It is a value and belongs to
// one goroutine; one that several share lies behind their lock. The zero Budget
// holds nothing.
type Budget struct {
	unit        string
	limit, left int64
	spent       bool            // a draw has failed
	ctx         context.Context // nil, or what no draw outlasts
}

// New returns a budget of floor and share units. share is what the bytes that were
// read are worth, in units; a sum that an int64 cannot hold is cut. unit is a noun in
// the plural, for messages.
func New(unit string, floor, share uint64) Budget {
	b := Budget{unit: unit}
	b.Add(floor)
	b.Add(share)
	return b
}

// Add puts n more units into the budget: for more bytes read, or for another question
// asked by the user.
func (b *Budget) Add(n uint64) {
	room := uint64(math.MaxInt64 - max(b.limit, b.left))
	more := int64(min(n, room))
	b.limit, b.left = b.limit+more, b.left+more
}

// Draw takes n units and tells whether there were as many. A draw that fails takes
// nothing. A negative n is no amount, and fails.
func (b *Budget) Draw(n int) bool {
	if n < 0 || int64(n) > b.left || b.ctx != nil && b.ctx.Err() != nil {
		b.spent = true
		return false
	}
	b.left -= int64(n)
	return true
}

// Until makes draws fail once ctx has ended.
func (b *Budget) Until(ctx context.Context) { b.ctx = ctx }

// Return puts back n units that were drawn, for memory that was released.
func (b *Budget) Return(n int) { b.left += min(int64(max(n, 0)), b.limit-b.left) }

// Left is how many units may still be drawn.
func (b *Budget) Left() int64 { return b.left }

// Err is nil, or, after a draw failed, an *Exceeded, or the error of the context that has ended.
func (b *Budget) Err() error {
	switch {
	case !b.spent:
		return nil
	case b.ctx != nil && b.ctx.Err() != nil:
		return b.ctx.Err()
	}
	return &Exceeded{Unit: b.unit, Limit: b.limit}
}

// Exceeded says what ran out. The caller adds the file, the place in it, and what is
// missing from the result.
type Exceeded struct {
	Unit  string
	Limit int64 // in units
}

func (e *Exceeded) Error() string { return fmt.Sprintf("more than %d %s", e.Limit, e.Unit) }
