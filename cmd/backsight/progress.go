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

// progress is what standard error is told: warnings, each once, and on a terminal a line
// on how far the work is.
type progress struct {
	w    io.Writer
	mu   sync.Mutex
	said map[string]bool
	line bool // a progress line stands there
}

func newProgress(w io.Writer) *progress { return &progress{w: w, said: make(map[string]bool)} }

// warn writes one line, unless it has been said before.
func (p *progress) warn(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.said[what] || len(p.said) > maxWarnings {
		return
	}
	p.said[what] = true
	p.erase()
	if len(p.said) > maxWarnings {
		what = "further warnings are left out"
	}
	complain(p.w, what)
}

// clear removes the progress line, until it is written again.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

// while shows on a terminal that something takes its time, until the returned function is called.
func (p *progress) while(what string) (stop func()) {
	if !isTerminal(p.w) {
		return func() {}
	}
	start := time.Now()
	return p.watch(func() string { return fmt.Sprintf("backsight: %s, %.0f s", what, time.Since(start).Seconds()) })
}

// erase removes the progress line.
func (p *progress) erase() {
	if p.line {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.line = false
	}
}

// watch shows progress once a second, after the first, until the returned function
// is called. status may be called at any time.
func (p *progress) watch(status func() string) (stop func()) {
	ticks := time.NewTicker(time.Second)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-ticks.C:
				p.mu.Lock()
				fmt.Fprintf(p.w, "\r\x1b[K%s", status())
				p.line = true
				p.mu.Unlock()
			}
		}
	}()
	return func() {
		ticks.Stop()
		close(done)
		p.mu.Lock()
		p.erase()
		p.mu.Unlock()
	}
}
