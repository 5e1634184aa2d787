package conform

import (
	"context"
	"os"
	"strings"
	"testing"
)

// TestNothingGotWorse compares the figures with those of lab/results/conformance.md, which is what
// the program writes and nothing else.
func TestNothingGotWorse(t *testing.T) {
	if testing.Short() {
		t.Skip("score's tests use the same goroutines")
	}
	kept, err := os.ReadFile("../results/conformance.md")
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
	for _, head := range []string{headTrust, headMatrix, headDiff, headDecoders, headTables, headDevice, headSoak} {
		if section(string(kept), head) != section(b.String(), head) {
			t.Errorf("%s: not what lab/results has", head)
		}
	}
	if before, _, _ := strings.Cut(b.String(), headTruth); !strings.HasPrefix(string(kept), before) {
		t.Error("the introduction is another one")
	}
}

// TestWorse: a figure that fell and a row that is gone are reported, a figure that rose is not.
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

// TestDecoderTables sums what the tests of two packages logged.
func TestDecoderTables(t *testing.T) {
	log := `=== RUN   TestAgainstObjdump
    difftest.go:49: compared | x86_64 | /lib/libc.so.6 | 300 | 0
    difftest.go:51: accepted | x86_64 | fwait | 2
    difftest.go:49: compared | x86_64 | /usr/lib32/libc.so.6 | 40 | 1
    difftest.go:51: accepted | x86_64 | fwait | 3
        difftest.go:49: compared | arm | random words | 7 | 0
`
	var b strings.Builder
	decoderTables(&b, []byte(log))
	for _, want := range []string{"| x86_64 | libc.so.6 | 2 | 340 | 1 |\n", "| arm | random words | 1 | 7 | 0 |\n", "| x86_64 | fwait | 5 |\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
