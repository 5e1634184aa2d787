package stackuse_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/stackuse"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// listings are programs of functions written by hand. Lines with # say of each function what the one who wrote it
// counted: its own stack, the depth at each call (j: a tail call; ?: nobody knows where it goes), and what is not bounded.
var listings = []struct {
	file, cpu string
	mode      cpu.Mode
}{
	{"x86_64", "x86_64", 0},
	{"aarch64", "aarch64", 0},
	{"thumb", "arm", 1},
	{"mips", "mips big", 0},
	{"riscv64", "riscv64", 0},
}

// words are doubts as the listings have them.
var words = map[stackuse.Reason]string{stackuse.Dynamic: "dynamic", stackuse.Loop: "loop", stackuse.OtherStack: "otherstack",
	stackuse.Unfollowed: "unfollowed", stackuse.TooLarge: "toolarge", stackuse.NoCode: "nocode", stackuse.LandingPads: "pads"}

// TestListings: what is said of each function is what its writer counted.
func TestListings(t *testing.T) {
	functions := 0
	for _, l := range listings {
		text, err := os.ReadFile("testdata/" + l.file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		img := codetest.Program{CPU: l.cpu, Mode: l.mode, Listing: code(string(text))}.Image(t)
		all := analyses.Of(img, nil)
		for want := range strings.Lines(string(text)) {
			want, isWant := strings.CutPrefix(strings.TrimSpace(want), "# ")
			if !isWant {
				continue
			}
			functions++
			name, want, _ := strings.Cut(want, " ")
			sym, ok := img.Symbols.Named(name)
			if !ok {
				t.Errorf("%s: no function %s", l.file, name)
				continue
			}
			if got := counted(all, stackuse.Of(all, disasm.Addr{PC: sym.Addr, Mode: l.mode}, nil)); got != want {
				t.Errorf("%s, %s: %s, want %s", l.file, name, got, want)
			}
		}
	}
	if functions < 100 {
		t.Errorf("%d functions", functions)
	}
}

// code is a listing without the lines of what is wanted.
func code(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// counted is what was found, as the listings have it.
func counted(all *analyses.Image, u *stackuse.Use) string {
	s := fmt.Sprintf("own %d", u.Own)
	if u.Reach != u.Own {
		s += fmt.Sprintf(" reach %d", u.Reach)
	}
	calls := slices.Clone(u.Calls)
	slices.SortFunc(calls, func(a, b stackuse.Call) int { return cmp.Compare(a.Site.PC, b.Site.PC) })
	for i, c := range calls {
		to := "?"
		if len(c.To) > 0 {
			sym, _ := all.Img.Symbols.At(c.To[0].PC)
			to = sym.Name
		}
		s += fmt.Sprintf("%s%s@%d%s", [2]string{" ", " calls "}[min(1, max(0, 1-i))], to, c.Depth, [2]string{"", "j"}[bit(c.Jump)])
	}
	for i, d := range u.Doubts {
		s += [2]string{" ", " doubts "}[min(1, max(0, 1-i))] + words[d.Why]
	}
	return s
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
