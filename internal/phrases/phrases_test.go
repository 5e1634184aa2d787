package phrases

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestFirst(t *testing.T) {
	list := List{Phrases: func() []string { return []string{"hard fault on thread", "hard fault", "fault:", "ha"} }}
	for _, c := range []struct {
		text         string
		most, phrase int
	}{
		{"", 24, -1},
		{"h", 24, -1},
		{"bus fault: hard fault", 24, 1}, // by the list's order, not by the text's
		{"a hard fault on thread main", 24, 0},
		{"a hard fault on thread main", 2, 0},
		{"a hard fault on thread main", 1, -1},
		{"a fault", 24, -1},
		{"aloha", 24, 3},
		{"fault", 24, -1},
	} {
		if got := list.Within(c.text, c.most); got != c.phrase {
			t.Errorf("%q within %d: phrase %d, not %d", c.text, c.most, got, c.phrase)
		}
	}
}

// The list finds what strings.Index finds, asked for one phrase after the other.
func TestAsOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab"[rng.IntN(2)]
		}
		return string(b)
	}
	for range 2000 {
		var phrases []string
		for range 1 + rng.IntN(4) {
			phrases = append(phrases, word(2+rng.IntN(4)))
		}
		text, most := word(rng.IntN(16)), rng.IntN(16)
		want := -1
		for i, p := range phrases {
			if at := strings.Index(text, p); at >= 0 && at <= most {
				want = i
				break
			}
		}
		list := List{Phrases: func() []string { return phrases }}
		if got := list.Within(text, most); got != want {
			t.Fatalf("%q of %q within %d: %d, not %d", phrases, text, most, got, want)
		}
	}
}

// TestSigns: a line is for whom it has signs: phrases anywhere, words only where one begins, and what looks closer at the line.
func TestSigns(t *testing.T) {
	const trace, register, dump = 1, 2, 4
	digits := func(line []byte, at int) bool { return at+4 < len(line) && line[at+4] >= '0' && line[at+4] <= '9' }
	ends := [256]bool{':': true, '\n': true}
	always := func([]byte, int) bool { return true }
	signs := NewSigns(
		[]Sign{{Text: "Call Trace:", For: trace}, {Text: "Trace", For: dump}},
		[]Sign{{Text: "pc", Word: true, For: register}, {Text: "sp: ", Also: digits, For: register}, {Text: "lr", Word: true, Also: always, Behind: &ends, For: register}},
	)
	for line, want := range map[string]uint8{
		"": 0, "p": 0, "a line": 0, "[ 1.0] Call Trace:": trace | dump, "Call Trac": 0, "a Trace": dump, "pc 1": register, "x pc": register, "_pc": register,
		"ipc 1": 0, "3pc": 0, "sp: 1": register, "sp: x": 0, "sp: ": 0, "sp: x sp: 2 Trace": register | dump,
		"lr: 1": register, "the lr": register, "lrs": 0, "lrs lr": register,
	} {
		if got := signs.In([]byte(line)); got != want {
			t.Errorf("%q: %b, not %b", line, got, want)
		}
	}
}

// TestSignsAsContains: phrases are found as strings.Contains finds them, wherever they stand.
func TestSignsAsContains(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab :"[r.IntN(4)]
		}
		return string(b)
	}
	for range 2000 {
		var list []Sign
		for i := range 5 {
			list = append(list, Sign{Text: word(2 + r.IntN(4)), For: 1 << i})
		}
		line, want := word(r.IntN(20)), uint8(0)
		for _, s := range list {
			if strings.Contains(line, s.Text) {
				want |= s.For
			}
		}
		if got := NewSigns(list).In([]byte(line)); got != want {
			t.Fatalf("%v in %q: %b, not %b", list, line, got, want)
		}
	}
}
