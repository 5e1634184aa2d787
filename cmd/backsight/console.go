//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"golang.org/x/term"
)

// openConsole opens what watch follows: standard input, a serial line, which is set to pass
// on all bytes as they come, or a file that grows. A core file will not print anything.
func openConsole(ctx context.Context, path string, toEnd bool, env input.Env) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	flags := os.O_RDONLY
	if st, err := os.Stat(path); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		flags |= consoleFlags
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, fileError(path, err)
	}
	if line, is, err := raw(f); is {
		return line, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fileError(path, err), f.Close())
	}
	if st.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s: a directory, no console", path), f.Close())
	}
	if !st.Mode().IsRegular() {
		return f, nil
	}
	if err := noCapture(ctx, path, env); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if toEnd {
		return f, nil
	}
	return &growing{path: path, file: f, done: make(chan struct{})}, nil
}

// raw sets a serial line to pass on all bytes as they come; is is false for a file that is none.
func raw(f *os.File) (line *serialLine, is bool, err error) {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) {
		return nil, false, nil
	}
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, true, errors.Join(fileError(f.Name(), err), f.Close())
	}
	return &serialLine{f, func() error { return term.Restore(fd, before) }}, true, nil
}

// rawDevice sets the serial line of a path, for who opens it besides; nil where it is none.
func rawDevice(path string) (io.Closer, error) {
	st, err := os.Stat(path)
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return nil, nil
	}
	f, err := os.OpenFile(path, consoleFlags|os.O_RDWR, 0)
	if err != nil {
		return nil, fileError(path, err)
	}
	line, is, err := raw(f)
	if err != nil {
		return nil, err
	}
	if !is {
		return f, nil
	}
	return line, nil
}

// noCapture refuses a file of which another format than a console's log makes a capture.
func noCapture(ctx context.Context, path string, env input.Env) error {
	env.Formats = slices.DeleteFunc(backsight.Formats(), isConsole)
	stream, err := backsight.Open(ctx, path, env)
	if err != nil {
		return nil // the text of a console is nothing else
	}
	return errors.Join(fmt.Errorf("%s: a capture, no console: bt reads it", displayName(path)), stream.Close())
}

// isConsole tells the format of console logs.
func isConsole(f input.Format) bool { return f.Name == "console" }

// serialLine is a terminal that is set back when it is closed.
type serialLine struct {
	*os.File
	restore func() error
}

func (s *serialLine) Close() error { return errors.Join(s.restore(), s.File.Close()) }

// growing reads a file, and waits at its end for more. Where the file was cut short or
// replaced, as log rotation does, reading begins anew.
type growing struct {
	path string
	file *os.File
	at   int64
	done chan struct{}
}

// growInterval is how often a file is looked at.
const growInterval = 100 * time.Millisecond

func (g *growing) Read(p []byte) (int, error) {
	for {
		n, err := g.file.Read(p)
		g.at += int64(n)
		if n > 0 || err != io.EOF {
			return n, err
		}
		select {
		case <-g.done:
			return 0, io.EOF
		case <-time.After(growInterval):
		}
		if err := g.reopen(); err != nil {
			return 0, err
		}
	}
}

// reopen opens the file again where its name is another's or it was cut short.
func (g *growing) reopen() error {
	now, err := os.Stat(g.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it may come back
	}
	if err != nil {
		return err
	}
	was, err := g.file.Stat()
	if err != nil || os.SameFile(was, now) && now.Size() >= g.at {
		return err
	}
	f, err := os.Open(g.path)
	if err != nil {
		return err
	}
	err = g.file.Close()
	g.file, g.at = f, 0
	return err
}

func (g *growing) Close() error {
	close(g.done)
	return g.file.Close()
}

// chunk is what one read of a console gave: text, or why there will be no more.
type chunk struct {
	text []byte
	err  error
}

// readChunks reads a console until it ends, or until ctx does. The last chunk has the error.
func readChunks(ctx context.Context, source io.Reader) <-chan chunk {
	chunks := make(chan chunk)
	send := func(c chunk) (sent bool) {
		select {
		case chunks <- c:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		for {
			buf := make([]byte, 4096)
			n, err := source.Read(buf)
			if n > 0 && !send(chunk{text: buf[:n]}) {
				return
			}
			if err != nil {
				send(chunk{err: err})
				return
			}
		}
	}()
	return chunks
}
