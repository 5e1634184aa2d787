package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/lab/child"
)

// Latency is how soon a reader ends on a large input.
type Latency struct {
	Case
	Input   int64         // bytes
	Opening time.Duration // until all snapshots were read, without an end
	// Context is from the end of a context to the return, the longest of some, and Interrupt from SIGINT to the end of the
	// command, both while the input is opened. Zero: the input was open before.
	Context, Interrupt time.Duration
	// Cut is what the command says where its input is cut short meanwhile.
	Cut string
}

// large are the cases whose opening takes long, and how many times as large they are here.
func large() (list []Case) {
	times := map[string]int{"threads": 20, "memory": 10, "mappings": 3, "registers": 5, "plcrash": 6, "crash": 3, "frames": 3, "ips": 6,
		"records": 3, "quote": 3, "letters": 3, "oopses": 3, "faults": 3, "broken": 3, "descriptors": 10, "pointers": 4, "tasks": 3, "names": 5,
		"turns": 20, "ids": 20}
	for _, c := range Cases() {
		if n := times[c.Name]; n > 0 {
			c.n *= n
			list = append(list, c)
		}
	}
	return list
}

// Latencies makes the large inputs below dir, one after the other, and calls tell with what was measured of each.
func Latencies(ctx context.Context, dir string, opt Options, tell func(Latency)) error {
	for _, c := range large() {
		if opt.Only != "" && opt.Only != c.Name {
			continue
		}
		l, err := latency(ctx, dir, c, opt)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		tell(l)
	}
	return nil
}

// moments is how many contexts end while an input is opened.
const moments = 8

func latency(ctx context.Context, dir string, c Case, opt Options) (l Latency, err error) {
	dir, err = os.MkdirTemp(dir, c.Name)
	if err != nil {
		return l, err
	}
	defer os.RemoveAll(dir)
	l.Case = c
	files := c.files(max(1, c.n/max(1, opt.Scale)))
	names := make(map[string]string)
	for name, data := range files {
		l.Input += int64(len(data))
		names[name] = filepath.Join(dir, name)
		if err := os.WriteFile(names[name], data, 0o600); err != nil {
			return l, err
		}
	}
	args := arguments(files)
	clear(files)
	begun := time.Now()
	if err := read(ctx, names); ctx.Err() != nil {
		return l, err
	}
	l.Opening = time.Since(begun)
	for i := range moments {
		after := l.Opening * time.Duration(2*i+1) / (2 * moments)
		l.Context = max(l.Context, untilReturn(ctx, after, names))
	}
	if l.Interrupt, _, err = disturb(ctx, dir, l.Opening/2, opt.Command, args, func(p *os.Process) error { return p.Signal(os.Interrupt) }); err != nil {
		return l, err
	}
	_, l.Cut, err = disturb(ctx, dir, l.Opening/4, opt.Command, args, func(*os.Process) error {
		largest := names[capture]
		if names[memory] != "" {
			largest = names[memory]
		}
		return os.Truncate(largest, l.Input/64)
	})
	return l, err
}

// read opens a capture, or memory, and reads all its snapshots.
func read(ctx context.Context, names map[string]string) error {
	files := backsight.NewFiles(input.FileOptions{Exe: names[program]})
	defer files.Close()
	env := input.Env{Files: files}
	var s input.Stream
	var err error
	if names[memory] != "" {
		env.RAM = []input.NamedImage{{Path: names[memory]}}
		s, err = backsight.OpenMemory(ctx, env)
	} else {
		s, err = backsight.Open(ctx, names[capture], env)
	}
	if err != nil {
		return err
	}
	for err == nil {
		_, err = s.Next(ctx)
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, s.Close())
}

// untilReturn is the time from the end of a context to the return of read, 0 where that returned before.
func untilReturn(ctx context.Context, after time.Duration, names map[string]string) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan time.Time, 1)
	timer := time.AfterFunc(after, func() {
		ended <- time.Now()
		cancel()
	})
	_ = read(ctx, names) // how it ends is of no interest
	returned := time.Now()
	if timer.Stop() {
		return 0
	}
	return returned.Sub(<-ended)
}

// disturb starts the command, does something to it or its files after some time, and returns how long it went on and what
// it said at last.
func disturb(ctx context.Context, dir string, after time.Duration, name string, args []string, do func(*os.Process) error) (time.Duration, string, error) {
	cmd := child.Command(ctx, name, args...)
	var said bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &said
	if err := cmd.Start(); err != nil {
		return 0, "", err
	}
	exited := make(chan time.Time, 1)
	go func() {
		_ = cmd.Wait() // its exit status is of no interest
		exited <- time.Now()
	}()
	select {
	case <-exited:
		return 0, last(said.Bytes()), nil
	case <-time.After(after):
	}
	begun := time.Now()
	if err := do(cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return 0, "", err
	}
	return (<-exited).Sub(begun), last(said.Bytes()), nil
}

// last is the last line of what a command said.
func last(said []byte) string {
	said = bytes.TrimSpace(said)
	return string(said[bytes.LastIndexByte(said, '\n')+1:])
}
