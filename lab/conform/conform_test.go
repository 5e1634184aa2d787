package conform

import (
	"context"
	"os"
	"strings"
	"testing"
)

// TestNothingGotWorse compares the figures with those of CONFORMANCE.md, which is what
// the program writes and nothing else.
func TestNothingGotWorse(t *testing.T) {
	kept, err := os.ReadFile("../../CONFORMANCE.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Write(context.Background(), &b, Options{Root: "../../testdata/truth", Results: "../results"}); err != nil {
		t.Fatal(err)
	}
	for _, w := range Worse(string(kept), b.String()) {
		t.Error(w)
	}
	for _, head := range []string{headMatrix, headDiff} {
		if section(string(kept), head) != section(b.String(), head) {
			t.Errorf("%s: not what lab/results has", head)
		}
	}
	if before, _, _ := strings.Cut(b.String(), headTruth); !strings.HasPrefix(string(kept), before) {
		t.Error("the introduction is another one")
	}
}

func TestWorse(t *testing.T) {
	doc := func(whole, lie string) string {
		return headTruth + "\n\n| tier | arch | n | whole % | frames % | wrong % | lie % | short % | cfa % |\n|---|---|\n| naked | mips | 9 | " +
			whole + " | 99.0 | 0.0 | " + lie + " | 0.0 | 100.0 |\n\n## Next\n"
	}
	if w := Worse(doc("99.0", "0.1"), doc("99.5", "0.0")); len(w) != 0 {
		t.Error("better is reported as worse:", w)
	}
	if w := Worse(doc("99.0", "0.0"), doc("98.0", "0.1")); len(w) != 2 {
		t.Error("not reported:", w)
	}
	if w := Worse(doc("99.0", "0.0"), headTruth+"\n\n"); len(w) != 1 {
		t.Error("a missing row is not reported:", w)
	}
}
