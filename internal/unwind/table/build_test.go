package table

import (
	"testing"

	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/stackwalk"
)

// TestNumbers: equal rules have one number, others have others, the first and the empty rule too.
func TestNumbers(t *testing.T) {
	rows := []packed.Row{{Packs: true, Flags: stackwalk.FromEntry}, {Packs: true}, {Packs: true, Flags: stackwalk.Agreed}}
	b := builder{numbers: make(map[entry]uint32)}
	for range 2 {
		for i := range rows {
			if n := b.number(&rows[i], unmoded); n != uint32(i) {
				t.Errorf("row %d has the number %d", i, n)
			}
		}
	}
	if len(b.rules) != len(rows) {
		t.Errorf("%d rules of %d", len(b.rules), len(rows))
	}
}
