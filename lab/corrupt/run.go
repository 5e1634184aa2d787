package corrupt

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/backsight/backsight/lab/hostile"
)

// Options say how many mutants to make, and who looks at them.
type Options struct {
	Seeds []Seed
	// First and N: mutants First ≤ number < First+N.
	First, N uint64
	// Command is backsight, which has the last word on what a worker found.
	Command string
	// Worker starts a process that calls Work with the same seeds.
	Worker func(ctx context.Context, dir string) *exec.Cmd
	// Workers is how many run at a time.
	Workers int
	// Found, if set, is told of each mutant that fares badly.
	Found func(Finding)
	// Ran, if set, is told after each mutant how many there were.
	Ran func(n uint64)
}

// Finding is a mutant that fares badly.
type Finding struct {
	*Mutant
	Wrong string
}

// Run makes and judges mutants. The error is of the laboratory, not of what it tests.
func Run(ctx context.Context, opt Options) error {
	var next, done atomic.Uint64
	errs := make([]error, opt.Workers)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			p := &parent{opt: &opt, reference: map[int]map[any]bool{}}
			defer p.stop()
			for errs[i] == nil && ctx.Err() == nil {
				n := next.Add(1) - 1
				if n >= opt.N {
					return
				}
				var f *Finding
				f, errs[i] = p.judge(ctx, opt.First+n)
				mu.Lock()
				if f != nil && opt.Found != nil {
					opt.Found(*f)
				}
				if opt.Ran != nil {
					opt.Ran(done.Add(1))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// parent has one worker and judges what the worker says.
type parent struct {
	opt     *Options
	dir     string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	answers int // since the worker began
	// reference has the frames of unharmed seeds.
	reference map[int]map[any]bool
}

// renew is after how many answers a worker is replaced: what it keeps adds up.
const renew = 2000

// patience is how long a worker may take before the command is asked instead.
const patience = 4 * hostile.MaxCPU

// judge makes mutant n, of a seed that n chooses, and tells what is wrong about it.
func (p *parent) judge(ctx context.Context, n uint64) (*Finding, error) {
	i := rand.New(rand.NewPCG(n, 0)).IntN(len(p.opt.Seeds))
	known, err := p.frames(ctx, i)
	if err != nil {
		return nil, err
	}
	m := p.opt.Seeds[i].Corrupt(n)
	a, err := p.ask(ctx, Ask{i, n, true})
	if err != nil {
		return nil, err
	}
	if a == nil || a.suspicious(m) {
		wrong, err := p.confirm(ctx, m)
		if err != nil || wrong != "" {
			return &Finding{m, wrong}, err
		}
	}
	if lie := a.lie(known); lie != nil && !m.Evidence {
		return &Finding{m, fmt.Sprintf("%#x, %s+%#x is certain, and no frame of the unharmed capture", lie.PC, lie.Module, lie.Offset)}, nil
	}
	return nil, nil
}

// frames are those of an unharmed seed, by address and by place in their module.
func (p *parent) frames(ctx context.Context, seed int) (map[any]bool, error) {
	if known := p.reference[seed]; known != nil {
		return known, nil
	}
	a, err := p.ask(ctx, Ask{Seed: seed})
	if err != nil || a == nil || len(a.Frames) == 0 {
		return nil, fmt.Errorf("%s: no backtrace of the unharmed capture: %w", p.opt.Seeds[seed].Name, err)
	}
	p.reference[seed] = a.places()
	return p.reference[seed], nil
}

// places are the frames' addresses, and where in their modules they lie.
func (a *Answer) places() map[any]bool {
	all := map[any]bool{}
	for _, f := range a.Frames {
		all[f.PC] = true
		all[[2]any{f.Module, f.Offset}] = true
	}
	return all
}

// lie is a certain frame that is not known.
func (a *Answer) lie(known map[any]bool) *Place {
	for i := range a.frames() {
		if f := &a.Frames[i]; f.Certain && !known[f.PC] && !known[[2]any{f.Module, f.Offset}] {
			return f
		}
	}
	return nil
}

func (a *Answer) frames() []Place {
	if a == nil {
		return nil
	}
	return a.Frames
}

// suspicious tells whether the command is to be asked about a mutant: the worker's memory
// has what earlier mutants left in it, and its clock others' work.
func (a *Answer) suspicious(m *Mutant) bool {
	return a.Took > hostile.MaxCPU/5 || a.Memory > hostile.MaxMemory+2*m.size() || len(a.Frames) == 0 && !a.Said
}

func (m *Mutant) size() (n int64) {
	for _, f := range m.Files {
		n += int64(len(f.Data))
	}
	return n
}

// confirm runs the command on a mutant.
func (p *parent) confirm(ctx context.Context, m *Mutant) (wrong string, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := m.Seed.Write(dir, m.Files); err != nil {
		return "", err
	}
	args := []string{"bt", captureName}
	if m.Seed.Sysroot != "" {
		args = append(args, "--sysroot", m.Seed.Sysroot)
	}
	cost, err := hostile.Measure(ctx, dir, m.size(), hostile.MaxCPU, p.opt.Command, args...)
	return cost.Wrong, err
}

// ask asks the worker, nil where it crashed or took too long.
func (p *parent) ask(ctx context.Context, q Ask) (*Answer, error) {
	if p.cmd == nil {
		if err := p.start(ctx); err != nil {
			return nil, err
		}
	}
	line, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	late := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	if _, err := p.in.Write(append(line, '\n')); err != nil || !p.out.Scan() {
		p.stop()
		return nil, ctx.Err()
	}
	a := new(Answer)
	if err := json.Unmarshal(p.out.Bytes(), a); err != nil {
		return nil, err
	}
	if p.answers++; p.answers == renew {
		p.stop()
	}
	return a, nil
}

func (p *parent) start(ctx context.Context) (err error) {
	if p.dir, err = os.MkdirTemp("", "worker"); err != nil {
		return err
	}
	p.cmd, p.answers = p.opt.Worker(ctx, p.dir), 0
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 64<<20)
	return p.cmd.Start()
}

// stop ends the worker, however it fares.
func (p *parent) stop() {
	if p.cmd == nil {
		return
	}
	p.in.Close()
	for p.out.Scan() {
	}
	_ = p.cmd.Wait() // what it died of, the command tells
	os.RemoveAll(p.dir)
	p.cmd = nil
}
