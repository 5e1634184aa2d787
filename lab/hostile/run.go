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

// Limits of a run: processor time, and peak memory, a floor and twice the bytes of the input.
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

func run(ctx context.Context, dir string, c Case, opt Options) (Result, error) {
	n := max(1, c.n/max(1, opt.Scale))
	cost, err := least(ctx, dir, c, n, opt)
	if err == nil && cost.Wrong == tooSlow && cost.CPU <= maxSlowness*MaxCPU {
		var part Cost
		if part, err = least(ctx, dir, c, max(1, n/partOf), opt); err == nil && float64(cost.CPU) <= maxGrowth*float64(part.CPU) {
			cost.Wrong = ""
		}
	}
	return Result{Case: c, Cost: cost}, err
}

// A case that takes more than MaxCPU on a slow machine is in proportion to its input nevertheless, if four times the
// input takes less than eight times as long: 8 lies as far from 4, proportion, as from 16, squares. Seven measures of a
// recording of unknown processes, which costs the same for each sample, gave 4.7 to 6.8.
const (
	maxSlowness = 4
	partOf      = 4
	maxGrowth   = 8.0
)

// least makes the input of a case at size n, and measures the command on the input up to so many rounds, until a cost
// is within the limits. The least cost counts, which the case cannot go below: on a busy machine garbage is collected
// late at times (97 MB became 116).
func least(ctx context.Context, dir string, c Case, n int, opt Options) (cost Cost, err error) {
	dir, err = os.MkdirTemp(dir, c.Name)
	if err != nil {
		return cost, err
	}
	defer os.RemoveAll(dir)
	size := int64(0)
	files := c.files(n)
	for name, data := range files {
		size += int64(len(data))
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return cost, err
		}
	}
	most := MaxCPU
	if opt.Untimed {
		most = math.MaxInt64
	}
	for round := 0; err == nil && (round == 0 || cost.Wrong != "" && round < rounds); round++ {
		var now Cost
		if now, err = Measure(ctx, dir, size, most, opt.Command, arguments(files)...); round == 0 || now.Wrong == "" || now.CPU < cost.CPU {
			cost = now
		}
	}
	return cost, err
}

// rounds is how often a case may be measured.
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

// tooSlow is wrong about a run that took more processor time than it may; nothing else is.
const tooSlow = "too much processor time"

// judge says what is wrong about a run.
func (r *Cost) judge(stderr []byte, mostCPU time.Duration) string {
	switch most := MaxMemory + 2*r.Input; {
	case r.Exit != 0 && r.Exit != 2:
		return fmt.Sprintf("exit %d", r.Exit)
	case bytes.Contains(stderr, []byte("goroutine ")):
		return "a Go trace"
	case r.Exit == 2 && len(bytes.TrimSpace(stderr)) == 0:
		return "silent"
	case r.Memory > most:
		return fmt.Sprintf("more than %d MB", most>>20)
	case r.CPU > mostCPU:
		return tooSlow
	}
	return ""
}
