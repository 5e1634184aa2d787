package unwind

import "testing"

// TestScore: among answers of equal trust a matching target outweighs everything
// but what speaks against the frame.
func TestScore(t *testing.T) {
	ascending := []Checks{
		ordinary | TargetDiffers,
		ordinary &^ CallBefore,
		ordinary&^SPAligned | CodeMissing,
		ordinary,
		ordinary | EntryKnown,
		ordinary | MethodsAgree,
		ordinary | MethodsAgree | EntryKnown,
		ordinary&^SPAligned | TargetMatches,
	}
	for i := 1; i < len(ascending); i++ {
		if a, b := score(ascending[i-1]), score(ascending[i]); a >= b {
			t.Errorf("%v scores %d, %v %d", ascending[i-1], a, ascending[i], b)
		}
	}
}
