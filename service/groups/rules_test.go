package groups_test

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/service/groups"
)

func TestRules(t *testing.T) {
	chain := reported("1", "a", "libc.so.6!abort", "app!fatal", "libui.so!draw", "app!main").Threads[0].Own.Signature.Frames
	for rules, want := range map[string]string{
		"":                                       "abort fatal draw main",
		"in-app app":                             "fatal main",
		"in-app app\nskip function fat*":         "main",
		"skip module libc*\n# x\n\n in-app  app": "fatal main",
		"skip module *":                          "abort fatal draw main", // none would be left
		"in-app nowhere":                         "abort fatal draw main",
	} {
		r, err := groups.ParseRules(rules)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range r.Left(chain) {
			names = append(names, f.Function)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q leaves %s, want %s", rules, got, want)
		}
	}
}

// What is no rule is told of with its line.
func TestNoRules(t *testing.T) {
	for text, want := range map[string]string{
		"in-app a\nskip x y":                     "line 2:",
		"skip module [":                          `line 1: "[" is no pattern`,
		strings.Repeat("in-app x\n", 1001):       "more than 1000 lines",
		"in-app a\n" + strings.Repeat("x", 2000): "line 2: longer",
	} {
		if _, err := groups.ParseRules(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// A device may have written its report itself: nothing in it makes a row large or a line two.
func TestHostileReport(t *testing.T) {
	r := reported("1", "a", strings.Repeat("f", 100_000)+"\u202e\n", "main")
	s := r.Threads[0].Own.Signature
	for range 1000 {
		s.Frames = append(s.Frames, s.Frames[0])
	}
	s.Frames[0].Named = make(jsonreport.Hashes, 100_000)
	k, chain := groups.Of(r, &groups.Rules{})
	if len(k.Title) > 400 || len(chain.Frames) > 8 || len(chain.Frames[0].Named) > 64 || len(chain.Frames[0].Function) > 400 {
		t.Errorf("%d %d", len(k.Title), len(chain.Frames))
	}
	s.Exact = "no key"
	if k, chain := groups.Of(r, &groups.Rules{}); chain != nil || !strings.HasPrefix(k.Own, "none:") {
		t.Errorf("%+v", k)
	}
}

func FuzzRules(f *testing.F) {
	f.Add("in-app a\nskip module b*\nskip function c?\n# d")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := groups.ParseRules(text); err == nil {
			groups.Of(reported("1", "a", "f", "g"), r)
		}
	})
}
