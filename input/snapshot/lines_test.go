package snapshot

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestLongLine: a line above the limit is an error of its own, counted right, and
// is not kept.
func TestLongLine(t *testing.T) {
	l := newLines(strings.NewReader("{}\n{" + strings.Repeat("x", 1<<20) + "}\n{\"a\":1}\n"))
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
