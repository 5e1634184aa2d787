package gdbremote

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

// wire is a server that has said what it will say.
type wire struct {
	io.Reader
	sent bytes.Buffer
}

func (w *wire) Write(b []byte) (int, error) { return w.sent.Write(b) }
func (w *wire) Close() error                { return nil }
func (w *wire) SetDeadline(time.Time) error { return nil }

// TestReceive: packets are unescaped and expanded; damaged ones are refused.
func TestReceive(t *testing.T) {
	for _, c := range []struct{ name, bytes, want, fails string }{
		{"plain", "$OK#9a", "OK", ""},
		{"behind acknowledgements", "+-+$OK#9a", "OK", ""},
		{"run length: 0* is 0 and three more", "$0* #7a", "0000", ""},
		{"escape", "$}\x03#80", "#", ""},
		{"empty: the request is not known", "$#00", "", ""},
		{"wrong sum, then right", "$OK#9b$OK#9a", "OK", ""},
		{"wrong each time", "$OK#9b$OK#9b$OK#9b$OK#9b", "", "damaged"},
		{"a run of nothing", "$* #4a", "", "run length"},
		{"cut", "$OK#9", "", "EOF"},
	} {
		got, err := newConn(&wire{Reader: strings.NewReader(c.bytes)}).receive()
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.fails)
			}
			continue
		}
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestSendEscapes(t *testing.T) {
	w := &wire{Reader: strings.NewReader("")}
	if err := newConn(w).send([]byte("a#b")); err != nil || w.sent.String() != "$a}\x03b#43" {
		t.Errorf("sent %q, %v", w.sent.String(), err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte("+$T05thread:01;#07"))
	f.Add([]byte("$0* }#..#7a$OK#9a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := newConn(&wire{Reader: bytes.NewReader(b)})
		for {
			if _, err := c.receive(); err != nil {
				return
			}
		}
	})
}
