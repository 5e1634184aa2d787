package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
)

// output writes reports one after the other. Of a form in which a lone report has no head the first is held back until
// there is a second, or the end.
type output struct {
	w      io.Writer
	format string
	form   form   // of that name
	title  string // of the whole, for a page
	n      int    // reports
	first  piece  // held back
	// stacks counts the stacks of all reports, for the formats that are such counts; nil else.
	stacks *display.Stacks
	buffer *bufio.Writer // to w; nil: nothing was written
	direct bool          // to a terminal, on which messages stand between
}

// use chooses the format.
func (o *output) use(format, title string) error {
	o.format, o.title, o.direct = format, title, isTerminal(o.w)
	all := forms()
	if i := slices.IndexFunc(all, func(f form) bool { return f.name == format }); i >= 0 {
		o.form = all[i]
	}
	if o.form.binary && o.direct {
		return fmt.Errorf("--format %s writes bytes that a terminal cannot show: redirect it", format)
	}
	if o.form.Append == nil {
		o.stacks = new(display.Stacks)
	}
	return nil
}

// piece writes a report's text.
type piece func(io.Writer) error

// mostRendered is how many frames a report has at most whose text is made before it is written. A report of more is written
// while that is made: the frames of a stack overflow take 300 MB as JSON.
const mostRendered = 1 << 14

// piece makes a report's text, or keeps a report that is too large. It may be called by several goroutines.
func (o *output) piece(r *report.Report, style render.Style) piece {
	frames := 0
	for i := range r.Threads {
		frames += r.Threads[i].Count()
	}
	if frames > mostRendered && o.form.Write != nil {
		return func(w io.Writer) error { return o.form.Write(w, r, style) }
	}
	return text(o.form.Append(nil, r, style))
}

// add writes the text of a report. With flush it is handed on: a reader behind a pipe sees whole reports, each as soon as it is made.
func (o *output) add(p piece) error {
	o.n++
	switch {
	case o.n == 1 && o.form.Lone:
		o.first = p
		return nil
	case o.n == 2 && o.form.Lone:
		first := o.first
		o.first = nil
		return o.write(text(o.form.Head(o.title)), first, text(o.form.Between), p)
	case o.n > 1:
		return o.write(text(o.form.Between), p)
	case o.form.Head != nil:
		return o.write(text(o.form.Head(o.title)), p)
	}
	return o.write(p)
}

func text[T string | []byte](s T) piece {
	return func(w io.Writer) error {
		_, err := w.Write([]byte(s))
		return err
	}
}

// end writes what add held back, and the end of the format.
func (o *output) end() error { return cmp.Or(o.last(), o.flush()) }

func (o *output) last() error {
	switch {
	case o.stacks != nil:
		return o.write(func(w io.Writer) error { return o.form.counts(o.stacks, w, o.title) })
	case o.first != nil:
		return o.write(o.first)
	case o.form.Tail != nil && o.n > 0:
		return o.write(text(o.form.Tail()))
	}
	return nil
}

func (o *output) write(pieces ...piece) error {
	if o.buffer == nil { // a recording has a hundred thousand reports of a line
		o.buffer = bufio.NewWriterSize(o.w, 1<<16)
	}
	var err error
	for _, p := range pieces {
		err = cmp.Or(err, p(o.buffer))
	}
	if o.direct {
		err = cmp.Or(err, o.buffer.Flush())
	}
	return outputFailed(err)
}

// flush hands on what was written.
func (o *output) flush() error {
	if o.buffer == nil {
		return nil
	}
	return outputFailed(o.buffer.Flush())
}

// outputFailed is the error of a write to standard output, without the name that the system has
// for it. A reader who has seen enough makes none.
func outputFailed(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EPIPE) {
		return &failure{code: exitOK}
	}
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &failure{exitNone, fmt.Errorf("standard output: %w", err)}
}

// lastError writes what cobra writes: help and completions, whose errors cobra does not return.
type lastError struct {
	w   io.Writer
	err error // outputFailed
}

func (l *lastError) Write(b []byte) (int, error) {
	n, err := l.w.Write(b)
	if err != nil {
		l.err = outputFailed(err)
	}
	return n, err
}

// notWritten is an error of outfile.Write as the command says it: what is wrong with the file at path, or what
// else err is.
func notWritten(path string, err error) error {
	if p := new(os.PathError); errors.As(err, &p) && p.Path == path {
		return &failure{exitNone, &image.Error{Path: path, Offset: -1, Reason: "cannot be written", Err: p.Err}}
	}
	return err
}
