package console

import (
	"bytes"
	"context"
	"strings"
)

// messages are lines of a log, each ended by LF. LF within a message is CR, which ends lines as well.
type messages []byte

func (m *messages) add(message []byte) {
	from := len(*m)
	*m = append(append(*m, bytes.TrimRight(message, "\r\n")...), '\n')
	for i := from; i < len(*m)-1; i++ {
		if (*m)[i] == '\n' {
			(*m)[i] = '\r'
		}
	}
}

// inOrder are the messages, the earliest first: log servers export what they show, often the newest line first.
func (m messages) inOrder(ctx context.Context) []byte {
	if !m.newestFirst(ctx) {
		return m
	}
	text := make([]byte, len(m))
	at := len(m)
	for line := range bytes.Lines(m) {
		if ctx.Err() != nil {
			break
		}
		at -= len(line)
		copy(text[at:], line)
	}
	return text
}

// newestFirst tells whether the times of printk in messages mostly fall.
func (m messages) newestFirst(ctx context.Context) bool {
	var last uint64
	falls := 0
	for line := range bytes.Lines(m) {
		t, ok := timeOf(line)
		switch {
		case ctx.Err() != nil:
			return false
		case !ok:
			continue
		case t < last:
			falls++
		case t > last && last != 0:
			falls--
		}
		last = t
	}
	return falls > 0
}

// timeOf is the time of printk at the beginning of a message, in microseconds.
func timeOf(message []byte) (us uint64, ok bool) {
	rest, ok := bytes.CutPrefix(message, []byte("["))
	time, _, closed := bytes.Cut(rest[:min(len(rest), maxTag)], []byte("]"))
	s := strings.TrimLeft(string(time), " ")
	if !ok || !closed || !isSeconds(s) {
		return 0, false
	}
	for _, c := range s {
		if c != '.' {
			us = us*10 + uint64(c-'0')
		}
	}
	return us, true
}
