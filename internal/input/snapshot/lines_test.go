package snapshot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/x86"
)

// TestLongLine: a line above the limit is an error of its own, counted right, and
// is not kept.
func TestLongLine(t *testing.T) {
	l := newLines(strings.NewReader("{}\n{"+strings.Repeat("x", 1<<20)+"}\n{\"a\":1}\n"), nil)
	l.max = 4096
	if text, err := l.next(); string(text) != "{}\n" || err != nil {
		t.Fatalf("%q, %v", text, err)
	}
	if _, err := l.next(); !errors.Is(err, errLongLine) || cap(l.buf) > 64<<10 {
		t.Errorf("%v, buffer of %d bytes", err, cap(l.buf))
	}
	if text, err := l.next(); string(text) != "{\"a\":1}\n" || err != nil || l.line != 3 || l.offset != 1<<20+6 {
		t.Errorf("%q, %v at line %d, offset %d", text, err, l.line, l.offset)
	}
	if _, err := l.next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// TestBalance: braces within strings and behind escapes do not count.
func TestBalance(t *testing.T) {
	for text, open := range map[string]bool{
		`{`: true, `{}`: false, `{"a}": [`: true, `{"a\"}": 1`: true, `{"a\\"}`: false, `"{`: false, ``: false, `{"cut`: false,
	} {
		var b balance
		if b.add([]byte(text)); b.open() != open {
			t.Errorf("%s: open %v", text, b.open())
		}
	}
}

// TestLongObject: an object that is long is a part of the file, whatever lines it has; those around it are copied.
func TestLongObject(t *testing.T) {
	long := "{\n\"a\": \"" + strings.Repeat("x", keepBuffer) + "\",\n\"b\": {}\n}\n"
	text := []byte("\xef\xbb\xbf" + long + "{}\n" + long)
	for _, whole := range [][]byte{nil, text} {
		l := newLines(bytes.NewReader(text), whole)
		for i, want := range []string{long, "{}\n", long} {
			got, err := l.next()
			if err != nil || string(got) != want {
				t.Fatalf("object %d has %d bytes, want %d; %v", i, len(got), len(want), err)
			}
			if at := text[l.offset:]; !bytes.HasPrefix(at, got) || (whole != nil && len(want) > keepBuffer) != (&at[0] == &got[0]) {
				t.Errorf("object %d at %#x is a copy or not, against expectation", i, l.offset)
			}
		}
	}
}

// ending is a context that ends when its error is asked for so many times.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestNextEndsWithContext: within an object too, and the next call reads on.
func TestNextEndsWithContext(t *testing.T) {
	for _, large := range []string{
		`{"threads":[{}` + strings.Repeat(",{}", 1<<20) + `]}`,
		strings.Repeat(" ", 3<<20) + `{"regs":{}}`,
	} {
		c := input.NewCapture("large", []byte(large+"\n"+`{"arch":"x86_64","regs":{"pc":1}}`+"\n"))
		s, err := open(t.Context(), c, &input.Env{Archs: x86.Archs(), Files: input.NewFiles(input.FileOptions{})})
		if err != nil {
			t.Fatal(err)
		}
		if snap, err := s.Next(&ending{t.Context(), 8}); snap != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", snap, err)
		}
		if snap, err := s.Next(t.Context()); err != nil || len(snap.Threads) != 1 {
			t.Errorf("after that: %v, %v", snap, err)
		}
	}
}
