package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// maxWarnings bounds what is said on standard error: a batch of a million broken
// lines has its reasons in the output as well.
const maxWarnings = 1000

// talk is standard error: warnings, each said once, and a progress line on a
// terminal.
type talk struct {
	w    io.Writer
	mu   sync.Mutex
	said map[string]bool
	line bool // a progress line stands there
}

func newTalk(w io.Writer) *talk { return &talk{w: w, said: make(map[string]bool)} }

// warn writes one line, unless it has been said before.
func (t *talk) warn(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said[what] || len(t.said) > maxWarnings {
		return
	}
	t.said[what] = true
	t.erase()
	if len(t.said) > maxWarnings {
		what = "further warnings are left out"
	}
	complain(t.w, what)
}

// erase removes the progress line.
func (t *talk) erase() {
	if t.line {
		fmt.Fprint(t.w, "\r\x1b[K")
		t.line = false
	}
}

// watch shows progress once a second, after the first, until the returned function
// is called. status may be called at any time.
func (t *talk) watch(status func() string) (stop func()) {
	ticks := time.NewTicker(time.Second)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-ticks.C:
				t.mu.Lock()
				fmt.Fprintf(t.w, "\r\x1b[K%s", status())
				t.line = true
				t.mu.Unlock()
			}
		}
	}()
	return func() {
		ticks.Stop()
		close(done)
		t.mu.Lock()
		t.erase()
		t.mu.Unlock()
	}
}
