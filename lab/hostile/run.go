// Package hostile makes input of a few megabytes that could cost an unwinder gigabytes or
// minutes, and runs Backsight over the input: the cost must be in proportion to the input's size.
package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/backsight/backsight/lab/child"
)

// Limits of a run: processor time, more where the machine is slow at the moment, and peak memory, a floor and
// twice the bytes of the input.
const (
	MaxCPU    = 5 * time.Second
	MaxMemory = 64 << 20
)

// Options say what to run.
type Options struct {
	Command string // backsight
	Only    string // a case by its name, "" for all
	// Scale divides the size of the cases; 0 is 1.
	Scale int
	// Untimed: processor time is not judged.
	Untimed bool
}

// Result is what a case cost.
type Result struct {
	Case
	Cost
}

// Cost is what a run of the command cost.
type Cost struct {
	Input  int64 // bytes
	CPU    time.Duration
	Memory int64 // bytes, 0 where the system does not tell
	Exit   int
	// Wrong says which limit the run broke, "" for none.
	Wrong string
}

// Run makes the inputs below dir, one after the other, and calls tell with the result of each.
func Run(ctx context.Context, dir string, opt Options, tell func(Result)) error {
	for _, c := range Cases() {
		if opt.Only != "" && opt.Only != c.Name {
			continue
		}
		r, err := run(ctx, dir, c, opt)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		tell(r)
	}
	return nil
}

func run(ctx context.Context, dir string, c Case, opt Options) (r Result, err error) {
	dir, err = os.MkdirTemp(dir, c.Name)
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	r = Result{Case: c}
	size := int64(0)
	files := c.files(max(1, c.n/max(1, opt.Scale)))
	for name, data := range files {
		size += int64(len(data))
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return r, err
		}
	}
	most := MaxCPU
	if opt.Untimed {
		most = math.MaxInt64
	}
	for range rounds {
		r.Cost, err = Measure(ctx, dir, size, most, opt.Command, arguments(files)...)
		if err != nil || r.Wrong == "" {
			break
		}
		if r.CPU > most {
			most = time.Duration(float64(MaxCPU) * slowness())
		}
	}
	return r, err
}

// rounds is how often a case may be measured; the least cost counts, which a case cannot go below.
// On a busy machine garbage is collected late at times: 97 MB became 116.
const rounds = 3

// Measure runs a command in a folder, on input of so many bytes, and judges what it cost; most is the processor time
// that it may take.
func Measure(ctx context.Context, dir string, input int64, most time.Duration, name string, args ...string) (r Cost, err error) {
	r.Input = input
	ctx, cancel := context.WithTimeout(ctx, 20*MaxCPU)
	defer cancel()
	cmd := child.Command(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	if err := cmd.Start(); err != nil {
		return r, err
	}
	done, memory := make(chan struct{}), make(chan int64)
	go func() { memory <- watch(cmd.Process.Pid, done) }()
	err = cmd.Wait()
	close(done)
	r.Memory = <-memory
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, err
	}
	state := cmd.ProcessState
	r.Exit, r.CPU = state.ExitCode(), state.UserTime()+state.SystemTime()
	r.Wrong = r.judge(stderr.Bytes(), most)
	return r, nil
}

// judge says what is wrong about a run.
func (r *Cost) judge(stderr []byte, mostCPU time.Duration) string {
	switch most := MaxMemory + 2*r.Input; {
	case r.Exit != 0 && r.Exit != 2:
		return fmt.Sprintf("exit %d", r.Exit)
	case bytes.Contains(stderr, []byte("goroutine ")):
		return "a Go trace"
	case r.Exit == 2 && len(bytes.TrimSpace(stderr)) == 0:
		return "silent"
	case r.CPU > mostCPU:
		return fmt.Sprintf("more than %v", mostCPU.Round(time.Second/10))
	case r.Memory > most:
		return fmt.Sprintf("more than %d MB", most>>20)
	}
	return ""
}
