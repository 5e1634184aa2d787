package corrupt

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/lab/hostile"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Answer is what became of a mutant.
type Answer struct {
	Frames []Place
	// Said: something was said, an error or an issue.
	Said   bool
	Took   time.Duration
	Memory int64 // bytes, 0 where the system does not tell
}

// Place is a frame beyond the innermost one of a backtrace.
type Place struct {
	PC     uint64
	Module string
	Offset uint64
	// Certain: the frame's trust is certain.
	Certain bool
}

// Ask is a line that a worker reads: the mutant of a seed, or the seed itself.
type Ask struct {
	Seed    int
	N       uint64
	Mutated bool
}

// Work answers, for each line that it reads, what becomes of that mutant, in a folder of
// its own below dir. A worker may crash or never answer: its parent then knows over which
// mutant.
func Work(ctx context.Context, dir string, seeds []Seed, in io.Reader, out io.Writer) error {
	w := json.NewEncoder(out)
	for r := bufio.NewScanner(in); r.Scan(); {
		var ask Ask
		if err := json.Unmarshal(r.Bytes(), &ask); err != nil || ask.Seed < 0 || ask.Seed >= len(seeds) {
			return fmt.Errorf("no mutant: %q", r.Text())
		}
		s := &seeds[ask.Seed]
		files := s.Files
		if ask.Mutated {
			files = s.Corrupt(ask.N).Files
		}
		a, err := answer(ctx, dir, s, files)
		if err != nil {
			return err
		}
		if err := w.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

// Write writes the files of a seed or mutant into a folder, beside the binaries that stay as they are.
func (s *Seed) Write(dir string, files []File) error {
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			return err
		}
	}
	for name, path := range s.Links {
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// answer runs one mutant and measures what it costs.
func answer(ctx context.Context, dir string, s *Seed, files []File) (a Answer, err error) {
	if dir, err = os.MkdirTemp(dir, "mutant"); err != nil {
		return a, err
	}
	defer os.RemoveAll(dir)
	if err := s.Write(dir, files); err != nil {
		return a, err
	}
	// Peak memory is counted anew from here (proc(5), clear_refs). Where the system does not allow
	// this, a mutant is judged by the largest peak so far.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	start := time.Now()
	a.Frames, a.Said = backtraces(ctx, filepath.Join(dir, captureName), s)
	a.Took, a.Memory = time.Since(start), hostile.HighWater("/proc/self/status")
	return a, nil
}

// backtraces does what the command does, each snapshot after the other.
func backtraces(ctx context.Context, capture string, s *Seed) (frames []Place, said bool) {
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{s.Sysroot}})
	defer files.Close()
	stream, err := backsight.Open(ctx, capture, input.Env{Files: files})
	if err != nil {
		return nil, true
	}
	defer stream.Close()
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return nil, false // the default sources are right
	}
	for {
		snap, err := stream.Next(ctx)
		var e *input.Error
		if err == nil {
			more, issues := oneSnapshot(ctx, u, snap)
			frames, said = append(frames, more...), said || issues
		} else if said = said || err != io.EOF; !errors.As(err, &e) || !e.Recoverable {
			return frames, said
		}
	}
}

func oneSnapshot(ctx context.Context, u *backsight.Unwinder, snap *target.Snapshot) (frames []Place, said bool) {
	traces, err := u.Backtraces(ctx, snap)
	r := backsight.Report(ctx, snap, traces, backsight.Names(false))
	render.AppendText(nil, r, render.Style{})
	for i := range r.Threads {
		for k := range r.Threads[i].Frames {
			frames = append(frames, placeOf(r.Threads[i].Frames[k].Frame, k))
		}
	}
	return frames, err != nil || len(r.Issues) > 0
}

// placeOf is the place of a frame. The innermost frame is where the registers say: its trust proves
// nothing.
func placeOf(f *unwind.Frame, index int) Place {
	p := Place{PC: f.PC, Certain: index > 0 && f.Trust == unwind.Certain}
	if f.Module != nil {
		p.Module, p.Offset = path.Base(f.Module.Name), f.Module.ToImage(f.PC)
	}
	return p
}
