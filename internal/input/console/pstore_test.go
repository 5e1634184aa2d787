package console

import (
	"context"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
)

// TestPstore: the pieces of a log in the order of their files' names, in which the last lines come first; two dumps, of one
// boot or of two; and text that only mentions a piece.
func TestPstore(t *testing.T) {
	for _, c := range []struct{ what, text, want string }{
		{"one dump", "Panic#1 Part1\ne\nf\nPanic#1 Part2\nc\nd\nPanic#1 Part3\na\nb\n", "a b c d e f"},
		{"two dumps", "Oops#1 Part1\nb\nOops#1 Part2\na\nPanic#2 Part1\nd\nPanic#2 Part2\nc\n", "a b c d"},
		{"two boots", "Panic#1 Part1\nb\nPanic#1 Part2\na\nPanic#1 Part1\nd\nPanic#1 Part2\nc\n", "a b c d"},
		{"in order", "Panic#1 Part2\na\nPanic#1 Part1\nb\n", "a b"},
		{"one piece", "Panic#1 Part1\na\n", "Panic#1_Part1 a"},
		{"no pieces", "a\nPanic#1 Part1\nb\nPanic#1 Part2\nc\n", "a Panic#1_Part1 b Panic#1_Part2 c"},
	} {
		got := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(string(rejoined([]byte(c.text)))), " ", "_"), "\n", " ")
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// TestPstoreFiles: the pieces that a user names are one capture; the last line of a file may have no end.
func TestPstoreFiles(t *testing.T) {
	format := Format(toy(&cpu.Arch{Name: "toy"}))
	last, first := "Panic#2 Part1\nCRASH b\nCRASH c", "Panic#2 Part2\nCRASH a\n"
	for text, want := range map[string]string{last: "pstore Panic#2", first: "pstore Panic#2", "Panic#2 Part1": "", "[    1.000000] boot\n": "", "": ""} {
		if got := format.Set(strings.NewReader(text)); got != want {
			t.Errorf("%q is of the set %q", text, got)
		}
	}
	c := input.NewCapture("1", []byte(last))
	c.Others = []*input.Capture{input.NewCapture("2", []byte(first))}
	s, err := format.Open(context.Background(), c, &input.Env{})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Next(context.Background())
	if err != nil || len(snap.Threads) != 3 || snap.Threads[0].Name != "a" || snap.Threads[2].Name != "c" {
		t.Errorf("%+v, %v", snap, err)
	}
}
