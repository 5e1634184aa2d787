package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/target"
)

// TestMoreThanThereMayBe: a few bytes of text make a thread, a run of memory, a search
// for a binary. Of more than honest snapshots have, the first are used, and an issue
// says so.
func TestMoreThanThereMayBe(t *testing.T) {
	for _, tt := range []struct {
		member, element string
		n               int
		issue           string
		used            func(*target.Snapshot) int
	}{
		{"threads", `{}`, 100_000, "threads", func(s *target.Snapshot) int { return len(s.Threads) }},
		{"memory", `{"base":1,"bytes":"AA=="}`, 100_000, "runs of memory", func(s *target.Snapshot) int { return len(s.Memory.Segments()) }},
		{"images", `{"path":"none"}`, 5_000, "images", func(s *target.Snapshot) int { return len(s.Issues) }},
	} {
		list := strings.Repeat(tt.element+",", tt.n-1) + tt.element
		s := first(t, `{"arch":"mips","`+tt.member+`":[`+list+`]}`)
		if got := fmt.Sprint(s.Issues); !strings.Contains(got, tt.issue+"; the others are left out") {
			t.Errorf("%s: issues %.300q", tt.member, got)
		}
		if n := tt.used(s); n == 0 || n >= tt.n {
			t.Errorf("%s: %d of %d are used", tt.member, n, tt.n)
		}
	}
}

// TestRegistersWithoutEnd: likewise the registers of one thread; those of the CPU that
// come first are known.
func TestRegistersWithoutEnd(t *testing.T) {
	s := first(t, `{"arch":"mips","regs":{"pc":"0x1000"`+strings.Repeat(`,"r":1`, 500_000)+`}}`)
	if pc, _, ok := s.Arch.PCOf(&s.Threads[0].Regs); !ok || pc != 0x1000 {
		t.Errorf("pc %#x, %v", pc, ok)
	}
	if len(s.Issues) != 1 || !strings.Contains(s.Issues[0].Text, "registers; the others are left out") {
		t.Errorf("issues %q", s.Issues)
	}
}

// TestNoProgramCounter: a walk has nowhere to begin, and the reader is told why.
func TestNoProgramCounter(t *testing.T) {
	s := first(t, `{"arch":"mips","threads":[{"regs":{"pc":"0x1000"}},{"regs":{"sp":"0x1000"}},{}]}`)
	if len(s.Issues) != 1 || s.Issues[0].Text != "2 of 3 threads have no program counter" {
		t.Errorf("issues %q", s.Issues)
	}
}
