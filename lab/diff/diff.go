// Package diff compares two unwind sources at every instruction of a binary that
// the first one covers: code analysis against call frame information, against
// EHABI, frame pointers against either. What compilers wrote into the tables is
// the truth of code analysis, and what the code does shows where tables are wrong.
//
//	FDE ─► instruction ─► rule of the table ─┐
//	                      rule of the subject ┴─► code.Compare ─► agree, wrong, undecided
package diff

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/image/macho"
	"github.com/backsight/backsight/internal/image/pe"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/ehabi"
	"github.com/backsight/backsight/internal/unwind/fp"
	"github.com/backsight/backsight/internal/unwind/lint"
	"github.com/backsight/backsight/unwind"
)

// Options say what to compare.
type Options struct {
	Archs cpu.Set
	// Subject is the source under test: code, ehabi, fp.
	Subject string
	// Naked hides symbols and sections from code analysis, as if they had been
	// stripped; only what is loaded is left.
	Naked bool
	// Every compares each n-th function only; 0 and 1: all.
	Every int
	// Keep is how many disagreements are kept.
	Keep int
	// Progress, if set, is told how many functions are done.
	Progress func(done, all int)
}

// Situation is where a place stands by the table's own word.
type Situation int

// The situations of an instruction boundary.
const (
	Entry   Situation = iota // the function's first instruction
	Bare                     // no frame: before the prologue, behind the epilogue, in a leaf
	Framed                   // within a frame
	Resumed                  // behind a call
	Situations
)

func (s Situation) String() string { return [...]string{"entry", "bare", "framed", "resumed"}[s] }

// Kind is the kind of code that a wrong answer is in.
type Kind int

// The kinds.
const (
	Flow Kind = iota // reached from the start of the table's range
	Pad              // not reached from there: landing pads, ends of unknown jumps
	Part             // the range is a function's cold part, a PLT, …
	Kinds
)

func (k Kind) String() string { return [...]string{"flow", "pad", "part"}[k] }

// Verdict is what comes of comparing one place.
type Verdict int

// The verdicts that are worth a look.
const (
	Wrong     Verdict = iota // the two contradict
	Undecided                // nothing relates them
	NoAnswer                 // the subject has none
	Registers                // they agree but for a preserved register
)

func (v Verdict) String() string { return [...]string{"wrong", "open", "none", "registers"}[v] }

// Tally counts places.
type Tally struct {
	Places int // that the table has a rule for
	None   int // the subject has no answer
	Agree  int
	Wrong  int
	// Open: nothing relates the two answers.
	Open int
	// Regs: they agree, but recover a preserved register differently.
	Regs int
}

func (t *Tally) add(o *Tally) {
	t.Places += o.Places
	t.None += o.None
	t.Agree += o.Agree
	t.Wrong += o.Wrong
	t.Open += o.Open
	t.Regs += o.Regs
}

// Disagreement is the first place of a function with a verdict.
type Disagreement struct {
	Verdict        Verdict
	Places         int // of the function that have this verdict
	Place          uint64
	Mode           cpu.Mode
	Situation      Situation
	Kind           Kind
	Lo, Hi         uint64 // the table's range
	Function       string // the symbol there, "" for none
	Table, Subject stackwalk.Rule
	query          stackwalk.Query
	// Suspect: both directions of code analysis agree from a known entry, so that
	// the table itself is in doubt.
	Suspect bool
}

// Result is what one binary gave.
type Result struct {
	Path      string
	Arch      *cpu.Arch
	Reference unwind.Method
	Functions int
	// Unreadable are places where the table itself is malformed or unsupported.
	Unreadable int
	// Denied are places where the table contradicts the instruction before; they
	// are not compared.
	Denied int
	By     [Situations]Tally
	// Wrong counts the wrong places by kind.
	Wrong [Kinds]int
	// Disagreements are those with the most places, one a function and verdict.
	Disagreements []Disagreement
	// Suspects are the functions whose table is in doubt, by start.
	Suspects []Disagreement
	img      *image.Image
	view     *image.Image // what code analysis may see
	code     *code.Source
}

// Total sums all situations.
func (r *Result) Total() (t Tally) {
	for i := range r.By {
		t.add(&r.By[i])
	}
	return t
}

// Run compares everything in one file on all cores. Each worker has its own Image:
// what a source learns of an image is behind a lock.
func Run(path string, opt Options) (*Result, error) {
	img, err := open(path, opt)
	if err != nil {
		return nil, err
	}
	ref, fs := lint.Functions(img)
	fs = thinned(fs, opt.Every)
	res := &Result{Path: path, Arch: img.Arch, Reference: ref.Method(), Functions: len(fs), img: img, code: code.New(nil)}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next, failed := 0, error(nil)
	take := func() []lint.Function {
		mu.Lock()
		defer mu.Unlock()
		const batch = 64
		from := next
		next = min(next+batch, len(fs))
		if opt.Progress != nil {
			opt.Progress(from, len(fs))
		}
		return fs[from:next]
	}
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			w, err := newWorker(path, opt, ref)
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
				return
			}
			defer w.own.Close()
			for fs := take(); len(fs) > 0; fs = take() {
				for _, f := range fs {
					w.function(f)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			res.merge(w)
		})
	}
	wg.Wait()
	res.view = img
	if opt.Naked {
		res.view = nakedView(img)
	}
	res.finish(opt.Keep)
	return res, failed
}

// thinned are each n-th of some functions.
func thinned(fs []lint.Function, every int) []lint.Function {
	if every <= 1 {
		return fs
	}
	kept := fs[:0]
	for i := 0; i < len(fs); i += every {
		kept = append(kept, fs[i])
	}
	return kept
}

// verdictOf is what is counted together.
type verdictOf struct {
	lo uint64
	v  Verdict
}

// worker compares functions one after another.
type worker struct {
	Result
	own       *image.Image // with its tables
	subject   stackwalk.RuleSource
	reference stackwalk.RuleSource
	sweep     lint.Sweep
	sp        lint.Pointer
	anchored  lint.Anchored
	q         stackwalk.Query
	table     stackwalk.Rule
	answer    stackwalk.Rule
	f         lint.Function
	kept      map[verdictOf]int // index in Disagreements
	related   map[string]bool   // of the function: pairs of rules over different registers that agree
}

func open(path string, opt Options) (*image.Image, error) {
	return image.Open(path, []image.Format{elf.Format(), macho.Format(), pe.Format()}, image.Options{Archs: opt.Archs, NoDebugFiles: true})
}

func newWorker(path string, opt Options, ref stackwalk.RuleSource) (*worker, error) {
	img, err := open(path, opt)
	if err != nil {
		return nil, err
	}
	w := &worker{own: img, kept: map[verdictOf]int{}, related: map[string]bool{}, sweep: lint.Sweep{Image: img, Mapping: readMapping(path)}}
	w.Reference = ref.Method()
	w.code, w.view = code.New(nil), img
	if opt.Naked {
		w.view = nakedView(img)
	}
	w.reference = ref
	switch opt.Subject {
	case "fp":
		w.subject = fp.Source{}
	case "ehabi":
		w.subject = ehabi.Source{}
	default:
		w.subject = w.code
	}
	return w, nil
}

func (r *Result) merge(w *worker) {
	for i := range r.By {
		r.By[i].add(&w.By[i])
	}
	for k, n := range w.Wrong {
		r.Wrong[k] += n
	}
	r.Unreadable += w.Unreadable
	r.Denied += w.Denied
	r.Disagreements = append(r.Disagreements, w.Disagreements...)
}

// finish sorts what was found and separates the suspects.
func (r *Result) finish(keep int) {
	slices.SortFunc(r.Disagreements, func(a, b Disagreement) int { return cmp.Compare(a.Place, b.Place) })
	for _, d := range r.Disagreements {
		if d.Suspect {
			r.Suspects = append(r.Suspects, d)
		}
	}
	slices.SortStableFunc(r.Disagreements, func(a, b Disagreement) int { return b.Places - a.Places })
	r.Disagreements = r.Disagreements[:min(len(r.Disagreements), keep)]
	r.name(r.Disagreements)
	r.name(r.Suspects)
}

// name adds the symbols, and ties the places to an image that stays open.
func (r *Result) name(ds []Disagreement) {
	for i := range ds {
		ds[i].query.Image = r.view
		if s, ok := r.img.Symbols.At(ds[i].Lo); ok {
			ds[i].Function = s.Name
		}
	}
}
