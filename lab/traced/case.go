// Package traced makes cases of truth out of what the tracer saw: which files the
// captures' addresses belong to, and the call chain of each.
package traced

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/lab/tracer"
	"github.com/backsight/backsight/lab/truth"
)

// Place says where files lie.
type Place struct {
	// Dir is the folder of the case, Lib that of the libraries, which cases share.
	Dir, Lib string
	// Program is the executable that ran, Root the folder that its libraries came from.
	Program, Root string
}

// Case is a case in the making.
type Case struct {
	place   Place
	prog    string
	arch    *cpu.Arch
	images  []loaded
	snaps   []*truth.Snapshot
	answers []truth.Answer
}

// loaded is an image of the program's address space.
type loaded struct {
	file, path string // in images.json; on this machine
	bias       uint64
	placed     bool // where its code is
	sure       bool // by the mapping that begins with that
	ran        bool // and that the program's chains lead through
	img        *image.Image
}

// New is a case without captures; prog is the program's name.
func New(place Place, prog string, arch *cpu.Arch) *Case {
	return &Case{place: place, prog: prog, arch: arch}
}

// Captures is how many there are.
func (c *Case) Captures() int { return len(c.snaps) }

// Close closes the images.
func (c *Case) Close() {
	for _, l := range c.images {
		l.img.Close()
	}
}

// Add takes a trace.
func (c *Case) Add(t *tracer.Trace) error {
	if err := c.open(t); err != nil {
		return err
	}
	for i := range t.Captures {
		c.add(&t.Captures[i])
	}
	return nil
}

// open opens the program and the images that lie below its root: the others are the
// emulator's, or files that the program maps as data.
func (c *Case) open(t *tracer.Trace) error {
	at := map[string]int{}
	for _, m := range t.Images {
		if m.Path != c.place.Program && !strings.HasPrefix(m.Path, c.place.Root+string(filepath.Separator)) {
			continue
		}
		i, seen := at[m.Path]
		if !seen {
			img, err := elf.Open(m.Path, image.Options{Archs: backsight.CPUs()})
			if err != nil {
				continue // locale data and the like
			}
			l := loaded{file: filepath.Base(m.Path), path: m.Path, img: img}
			if m.Path == c.place.Program {
				l.file = truth.Own
			}
			i = len(c.images)
			at[m.Path], c.images = i, append(c.images, l)
		}
		l := &c.images[i]
		bias, in, begins := biasOf(l.img, m)
		ran := begins && executed(t, m)
		if begins && !l.sure || ran && !l.ran || in && !l.placed {
			l.bias, l.placed, l.sure, l.ran = bias, true, begins, ran
		}
	}
	c.images = slices.DeleteFunc(c.images, func(l loaded) bool { return !l.placed })
	if len(c.images) == 0 {
		return errors.New("the trace names no image of the program")
	}
	return nil
}

// executed tells whether captured chains lead through a mapping. SWI-Prolog maps its own program as data, too, where it
// looks for a saved state behind the program's end.
func executed(t *tracer.Trace, m tracer.Image) bool {
	through := func(a tracer.Activation) bool { return a.Ret >= m.Base && a.Ret-m.Base < m.Size }
	return slices.ContainsFunc(t.Captures, func(c tracer.Capture) bool {
		return c.Before >= m.Base && c.Before-m.Base < m.Size || slices.ContainsFunc(c.Chain, through)
	})
}

// biasOf is target address minus image address by a mapping, if the image's code begins there or, last, lies
// in there. Dart's loader has the first page of a snapshot mapped elsewhere as well; LLVM's linker has the page
// between two segments in both.
func biasOf(img *image.Image, m tracer.Image) (bias uint64, in, begins bool) {
	const page = 4096
	for _, s := range img.Segments {
		if from := s.FileOff &^ (page - 1); s.Exec && from-uint64(m.Offset) < uint64(m.Size) {
			return uint64(m.Base) + s.FileOff - uint64(m.Offset) - s.Addr, true, from == uint64(m.Offset)
		}
	}
	return 0, false, false
}

// add makes a snapshot and its answer of a capture. There is none of a delay slot:
// neither hardware nor kernels stop there.
func (c *Case) add(t *tracer.Capture) {
	pc, mode := c.arch.SplitCode(uint64(pcOf(t.Regs, c.arch)))
	if c.inSlot(uint64(t.Before), pc, mode) {
		return
	}
	s := truth.NewSnapshot(c.arch)
	s.Regs = t.Regs
	for _, m := range t.Memory {
		s.Memory = append(s.Memory, truth.Segment{Base: m.Base, Bytes: m.Bytes})
	}
	c.snaps = append(c.snaps, s)
	c.answers = append(c.answers, c.answer(t, truth.Hex(pc)))
}

// pcOf is the PC among registers, which captures call pc or, on x86, rip or eip.
func pcOf(regs map[string]truth.Hex, arch *cpu.Arch) truth.Hex {
	for name, v := range regs {
		if r, ok := arch.RegByName(name); ok && r == arch.PC {
			return v
		}
	}
	return 0
}

// inSlot tells whether pc is the delay slot of the instruction before.
func (c *Case) inSlot(before, pc uint64, mode cpu.Mode) bool {
	var buf [1]cpu.Insn
	for _, l := range c.images {
		if code := l.img.Segments.Code(before - l.bias); code != nil {
			n := c.arch.Decoder.Decode(code, before-l.bias, mode, buf[:])
			return n == 1 && buf[0].Flags&cpu.FlagDelaySlot != 0 && before+uint64(buf[0].Len) == pc
		}
	}
	return false
}

// answer is the true call chain of a capture.
func (c *Case) answer(t *tracer.Capture, pc truth.Hex) truth.Answer {
	a := truth.Answer{Prog: c.prog, Step: t.Step, Kind: t.Kind, ModeBit: c.arch.ISABit}
	own := t.Kind
	for _, e := range t.Chain {
		f := truth.Frame{PC: pc, Entry: e.Start, Kind: own}
		own = "call"
		if e.Signal {
			f.Kind, own = "sigtramp", "interrupted"
		} else {
			f.CFA = &e.CFA
		}
		a.Frames = append(a.Frames, f)
		pc = e.Ret
	}
	a.Frames = append(a.Frames, truth.Frame{PC: pc, Kind: "main-caller"})
	return a
}

// Write writes the case, and the libraries that no case beside it has brought.
func (c *Case) Write() error {
	if err := errors.Join(truth.Write(c.place.Dir, c.snaps, c.answers), os.MkdirAll(c.place.Lib, 0o755)); err != nil {
		return err
	}
	var placed []truth.Placed
	for _, l := range c.images {
		placed = append(placed, truth.Placed{File: l.file, Bias: truth.Hex(l.bias)})
		to := filepath.Join(c.place.Lib, l.file+".gz")
		if l.file == truth.Own {
			to = filepath.Join(c.place.Dir, "stripped.elf.gz")
		}
		if _, err := os.Stat(to); err == nil && l.file != truth.Own {
			continue
		}
		if err := truth.Compress(l.path, to); err != nil {
			return err
		}
	}
	return truth.WriteImages(c.place.Dir, placed)
}
