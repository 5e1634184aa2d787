package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
)

// output writes reports one after the other. As JSON a single report is an object, several are one
// array: the first report is held back until there is a second, or the end.
type output struct {
	w      io.Writer
	format string
	title  string // of the whole, for a page
	n      int    // reports
	first  []byte // held back
	// stacks counts the stacks of all reports, for the formats that are such counts; nil else.
	stacks *render.Stacks
}

// use chooses the format.
func (o *output) use(format, title string) error {
	o.format, o.title = format, title
	switch format {
	case "pprof":
		if isTerminal(o.w) {
			return errors.New("--format pprof writes bytes that a terminal cannot show: redirect it")
		}
		o.stacks = new(render.Stacks)
	case "folded":
		o.stacks = new(render.Stacks)
	}
	return nil
}

// render makes a report's text. It may be called by several goroutines.
func (o *output) render(r *report.Report, style render.Style) []byte {
	switch o.format {
	case "jsonl":
		return render.AppendJSONLine(nil, r, style)
	case "json":
		return render.AppendJSON(nil, r, style)
	case "html":
		return render.AppendPage(nil, r, style)
	case "apple":
		return render.AppendApple(nil, r)
	case "problems":
		return render.AppendProblems(nil, r)
	}
	return render.AppendText(nil, r, style)
}

// add writes the text of a report with one call: a reader behind a pipe sees whole reports, each as
// soon as it is made.
func (o *output) add(b []byte) error {
	o.n++
	switch {
	case o.format == "json" && o.n == 1:
		o.first = b
		return nil
	case o.format == "json":
		b = append([]byte(",\n"), bytes.TrimSuffix(b, []byte("\n"))...)
		if o.n == 2 {
			b = append(append([]byte("[\n"), bytes.TrimSuffix(o.first, []byte("\n"))...), b...)
			o.first = nil
		}
	case (o.format == "text" || o.format == "apple") && o.n > 1:
		b = append([]byte{'\n'}, b...)
	case o.format == "html" && o.n == 1:
		b = append(render.AppendPageHead(nil, o.title), b...)
	}
	return o.write(b)
}

// end writes what add held back, and the end of the format.
func (o *output) end() error {
	switch {
	case o.format == "folded":
		return o.write(o.stacks.AppendFolded(nil))
	case o.format == "pprof":
		b, err := o.stacks.AppendPprof(nil)
		if err != nil {
			return err
		}
		return o.write(b)
	case o.first != nil:
		return o.write(o.first)
	case o.format == "json" && o.n > 1:
		return o.write([]byte("\n]\n"))
	case o.format == "html" && o.n > 0:
		return o.write(render.AppendPageTail(nil))
	}
	return nil
}

func (o *output) write(b []byte) error {
	if _, err := o.w.Write(b); err != nil {
		return outputFailed(err)
	}
	return nil
}

// outputFailed is the error of a write to standard output, without the name that the system has
// for it. A reader who has seen enough makes none.
func outputFailed(err error) error {
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
