package readers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/lab/gdb"
	"github.com/backsight/backsight/lab/score"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/tables"
)

// Options say what to measure.
type Options struct {
	Root, Only, Tier string
	// GDB asks GDB about each n-th snapshot; 0: not at all.
	GDB int
	// Form is the form of GDB's debug file: debug_frame or eh_frame.
	Form string
	// Wrong, if set, is told of chains that are not whole.
	Wrong func(c *truth.Case, reader string, a *truth.Answer, got []uint64)
}

// Tally counts the snapshots of a CPU, by reader.
type Tally struct{ N, Whole, Wrong int }

func (t *Tally) add(v *score.Verdict) {
	t.N++
	if v.Whole {
		t.Whole++
	}
	if v.Wrong {
		t.Wrong++
	}
}

// Readers are the columns of a table, in order.
var Readers = [...]string{"gdb", "gdb with our debug file", "STACK CFI", "STACK CFI, no signal frames"}

// Row are the tallies of one CPU by Readers.
type Row [len(Readers)]Tally

// Run measures all cases of a tier, by CPU.
func Run(ctx context.Context, opt Options) (map[string]*Row, error) {
	cases, err := truth.Cases(opt.Root, opt.Only)
	if err != nil {
		return nil, err
	}
	rows := map[string]*Row{}
	for i := range cases {
		c := &cases[i]
		if rows[c.Arch] == nil {
			rows[c.Arch] = new(Row)
		}
		m := measurement{opt: &opt, c: c, row: rows[c.Arch]}
		if err := m.run(ctx); err != nil {
			return rows, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return rows, nil
}

// measurement measures one case.
type measurement struct {
	opt     *Options
	c       *truth.Case
	row     *Row
	answers []truth.Answer
	images  []truth.Image
	dir     string
}

func (m *measurement) run(ctx context.Context) error {
	images, cleanup, err := m.c.Images(m.opt.Tier)
	if err != nil {
		return err
	}
	defer cleanup()
	if len(images) != 1 {
		return nil
	}
	m.images = images
	if m.answers, err = m.c.Answers(); err != nil {
		return err
	}
	if m.dir, err = os.MkdirTemp("", "readers"); err != nil {
		return err
	}
	defer os.RemoveAll(m.dir)
	files := backsight.NewFiles(input.FileOptions{})
	defer files.Close()
	img, err := files.Open(images[0].Path)
	if err != nil {
		return err
	}
	p, err := backsight.ListRules(ctx, img)
	if err != nil {
		return err
	}
	cfi, err := stackCFI(p)
	if err != nil {
		return err
	}
	return m.snapshots(ctx, p, cfi)
}

// loaded is the address that a module's symbol file is relative to.
func loaded(img *image.Image) uint64 {
	if s := img.Segments; len(s) > 0 && s[0].FileOff <= s[0].Addr {
		return s[0].Addr - s[0].FileOff
	}
	return 0
}

// Write writes the rules of a program in a form.
func Write(w io.Writer, form string, p *tables.Program) error {
	for _, f := range backsight.TableFormats() {
		if f.Name == form {
			_, err := f.Write(w, p)
			return err
		}
	}
	return errors.New("no such form: " + form)
}

// snapshots goes through the snapshots of a case.
func (m *measurement) snapshots(ctx context.Context, p *tables.Program, cfi *StackCFI) error {
	sessions, err := m.sessions(p)
	if err != nil {
		return err
	}
	stream, err := backsight.Open(ctx, m.c.Snapshots(), input.Env{Files: backsight.NewFiles(input.FileOptions{Images: score.Named(m.images)})})
	if err != nil {
		return err
	}
	defer stream.Close()
	walk := modules{cfi, map[uint64]*StackCFI{}}
	var asked []int
	for n := 0; n < len(m.answers); n++ {
		snap, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		chain, err := walk.Backtrace(snap)
		if err != nil {
			return err
		}
		m.judge(2, n, chain)
		if m.answers[n].Kind != "signal" {
			m.judge(3, n, chain)
		}
		if len(sessions) > 0 && n%m.opt.GDB == 0 {
			asked = append(asked, n)
			for _, s := range sessions {
				if err := s.Add(snap); err != nil {
					return err
				}
			}
		}
	}
	return m.gdb(ctx, sessions, asked)
}

// sessions are GDB's without and with a debug file.
func (m *measurement) sessions(p *tables.Program) (list []*gdb.Session, err error) {
	if m.opt.GDB == 0 {
		return nil, nil
	}
	debug := filepath.Join(m.dir, "tables.debug")
	f, err := os.Create(debug)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(Write(f, m.opt.Form, p), f.Close()); err != nil {
		return nil, err
	}
	for _, symbols := range []string{"", debug} {
		s, err := gdb.NewSession(m.images[0].Path)
		if err != nil {
			return nil, err
		}
		s.Symbols = symbols
		list = append(list, s)
	}
	return list, nil
}

// gdb judges what GDB says of the snapshots with these numbers.
func (m *measurement) gdb(ctx context.Context, sessions []*gdb.Session, asked []int) error {
	for column, s := range sessions {
		chains, err := s.Backtraces(ctx)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		for i, n := range asked {
			m.judge(column, n, chains[i])
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurement) judge(column, n int, chain []uint64) {
	var got []score.Got
	for _, pc := range chain {
		got = append(got, score.Got{PC: pc})
	}
	v := score.Judge(&m.answers[n], got)
	m.row[column].add(&v)
	if !v.Whole && m.opt.Wrong != nil {
		m.opt.Wrong(m.c, Readers[column], &m.answers[n], chain)
	}
}
