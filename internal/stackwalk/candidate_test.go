package stackwalk

import (
	"github.com/backsight/backsight/unwind"
	"testing"
)

// TestScore: among answers of equal trust a matching target outweighs everything
// but what speaks against the frame.
func TestScore(t *testing.T) {
	ascending := []unwind.Checks{
		ordinary | unwind.TargetDiffers,
		ordinary &^ unwind.CallBefore,
		ordinary&^unwind.SPAligned | unwind.CodeMissing,
		ordinary,
		ordinary | unwind.EntryKnown,
		ordinary | unwind.MethodsAgree,
		ordinary | unwind.MethodsAgree | unwind.EntryKnown,
		ordinary&^unwind.SPAligned | unwind.TargetMatches,
	}
	for i := 1; i < len(ascending); i++ {
		if a, b := score(ascending[i-1]), score(ascending[i]); a >= b {
			t.Errorf("%v scores %d, %v %d", ascending[i-1], a, ascending[i], b)
		}
	}
}
