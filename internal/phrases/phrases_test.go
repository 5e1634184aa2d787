package phrases

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestFirst(t *testing.T) {
	list := New("hard fault on thread", "hard fault", "fault:", "ha")
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
		if got := New(phrases...).Within(text, most); got != want {
			t.Fatalf("%q of %q within %d: %d, not %d", phrases, text, most, got, want)
		}
	}
}
