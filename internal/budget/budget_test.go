package budget_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/backsight/backsight/internal/budget"
)

// TestDraw: a budget holds floor and share, gives no more, and says so.
func TestDraw(t *testing.T) {
	b := budget.New("rows", 10, 5)
	for i := range 15 {
		if !b.Draw(1) {
			t.Fatalf("draw %d of 15 failed", i+1)
		}
	}
	if b.Err() != nil {
		t.Errorf("all is drawn, nothing was refused: %v", b.Err())
	}
	if b.Draw(1) {
		t.Error("draw 16 of 15")
	}
	var e *budget.Exceeded
	if err := fmt.Errorf("a.out: %w", b.Err()); !errors.As(err, &e) || err.Error() != "a.out: more than 15 rows" {
		t.Errorf("%v", err)
	}
}

// TestRefusedDrawTakesNothing: a smaller piece of work may still fit.
func TestRefusedDrawTakesNothing(t *testing.T) {
	b := budget.New("bytes", 10, 0)
	if b.Draw(11) || b.Draw(-1) || b.Left() != 10 || !b.Draw(10) || b.Left() != 0 {
		t.Errorf("left %d", b.Left())
	}
}

// TestReturn: what is released can be drawn again; never more than there was.
func TestReturn(t *testing.T) {
	b := budget.New("bytes", 10, 0)
	b.Draw(8)
	b.Return(5)
	if b.Left() != 7 {
		t.Errorf("left %d, want 7", b.Left())
	}
	b.Return(math.MaxInt)
	b.Return(-1)
	if b.Left() != 10 {
		t.Errorf("left %d, want 10", b.Left())
	}
}

// TestLargeClaims: sums of what a file claims do not overflow.
func TestLargeClaims(t *testing.T) {
	b := budget.New("bytes", math.MaxUint64, math.MaxUint64)
	b.Add(1)
	if b.Left() != math.MaxInt64 || !b.Draw(math.MaxInt) {
		t.Errorf("left %d", b.Left())
	}
}

// TestZero: a budget that nobody filled gives nothing, except nothing.
func TestZero(t *testing.T) {
	var b budget.Budget
	if !b.Draw(0) || b.Draw(1) {
		t.Error("the zero Budget holds something")
	}
}

func BenchmarkDraw(b *testing.B) {
	w := budget.New("steps", math.MaxInt64, 0)
	for b.Loop() {
		w.Draw(1)
	}
}
