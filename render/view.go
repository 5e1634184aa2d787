package render

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/unwind"
)

// What the page shows of a report, as text: names from captures have gone through Text,
// and appendMarkup escapes them for HTML.
type (
	reportView struct {
		Title          string
		Reasons, Facts []string
		Threads        iter.Seq[threadView] // each made when it is its turn
		Modules        []moduleView
		Issues         []string
	}
	threadView struct {
		Title, Summary, Stop string
		Open, Crashed        bool
		Kernel               int // how many of Frames are the kernel's
		Frames               []frameView
		Again                []string // behind each of Frames: which frames are left out there, "" for none
		Registers            []registerView
		Words                []wordView
		Stack                string
	}
	frameView struct {
		Number                                      int
		PC, CFA, Name, Function, Place, Module, Tag string // Function is the name in full, where Name is shorter
		TailCaller                                  string // left the stack to the frame's function by a jump
		evidenceView
		Inlines   []inlineView
		Variables []variableView
		Excerpt   []lineView
		Tried     []attemptView
	}
	evidenceView struct{ Trust, Method, Checks string }
	inlineView   struct{ Name, Place string }
	lineView     struct {
		Text string
		Here bool
	}
	variableView struct{ Name, Type, Value string }
	attemptView  struct {
		Method, Text string
		Taken        bool
	}
	registerView struct{ Name, Value string }
	moduleView   struct{ Lo, Hi, Name, BuildID, File string }
)

// pageWords bounds the words of all threads' stacks together, so that a page with many
// threads stays below a megabyte; a thread has at least some.
const (
	pageWords   = 4096
	threadWords = 32
)

// maxRows bounds the frames of a thread on the page: a browser is no place for a million.
const maxRows = 2000

func viewReport(r *report.Report, style Style) reportView {
	v := reportView{Title: cmp.Or(style.Title, style.Capture, "Backtraces"), Threads: func(func(threadView) bool) {}}
	for _, i := range r.Issues {
		v.Issues = append(v.Issues, i.Text)
	}
	if r.Snapshot == nil {
		return v
	}
	s := r.Snapshot
	digits := 2 * s.Arch.AddrSize
	if r.Crash != nil {
		v.Reasons = append(v.Reasons, r.Crash.Reasons...)
		v.Facts = append(v.Facts, strings.TrimSpace(r.Crash.Signal+" "+r.Crash.Code))
		if r.Crash.HasAddress {
			v.Facts = append(v.Facts, "at "+address(r.Crash.Address, digits))
		}
	}
	if s.Command != "" {
		v.Facts = append(v.Facts, s.Command)
	}
	if s.PID != 0 {
		v.Facts = append(v.Facts, "PID "+strconv.Itoa(s.PID))
	}
	v.Facts = append(v.Facts, strings.TrimSpace(s.Arch.Name+" "+s.Arch.ABI), s.OS)
	v.Facts = append(v.Facts, s.Time)
	v.Facts = slices.DeleteFunc(v.Facts, func(f string) bool { return f == "" })
	v.Threads = func(yield func(threadView) bool) {
		for _, group := range alikeThreads(r.Threads, nobody) {
			if !yield(viewThread(r, group, max(threadWords, pageWords/len(r.Threads)), digits)) {
				return
			}
		}
	}
	for _, m := range s.Modules {
		mv := moduleView{Lo: address(m.Lo, digits), Hi: address(m.Hi, digits), Name: m.Name, BuildID: hex.EncodeToString(m.BuildID)}
		if m.Image != nil {
			mv.File, mv.BuildID = m.Image.Path, hex.EncodeToString(m.Image.BuildID)
		}
		v.Modules = append(v.Modules, mv)
	}
	return v
}

// viewThread shows the first of threads that are alike.
func viewThread(r *report.Report, group []*report.Thread, words, digits int) threadView {
	th := group[0]
	v := threadView{Title: threadTitle(group[:1]), Kernel: th.Kernel, Crashed: th.Crashed, Open: th.Crashed || len(r.Threads) == 1, Stop: th.Stop.Reason.String() + ": " + th.Stop.Reason.Means()}
	if th.Name != "" {
		v.Title += " " + th.Name
	}
	if len(group) > 1 {
		v.Title += fmt.Sprintf(" and %d alike", len(group)-1)
	}
	v.Summary = fmt.Sprintf("%d frames", th.Count())
	if len(th.Frames) > 0 {
		v.Summary += ", " + shownName(&th.Frames[0], digits)
	}
	for i := range th.Frames[:min(len(th.Frames), maxRows)] {
		v.Frames = append(v.Frames, viewFrame(r.Snapshot.Arch, th, i, digits))
		v.Again = append(v.Again, "")
		if next := th.Repeats.Number(i + 1); next > th.Repeats.Number(i)+1 {
			v.Again[i] = fmt.Sprintf("frames %d–%d: the frames above again", th.Repeats.Number(i)+1, next-1)
		}
	}
	arch := r.Snapshot.Arch
	for i := range arch.Regs {
		if x, ok := th.Regs.Lookup(cpu.Reg(i)); ok && th.Crashed {
			v.Registers = append(v.Registers, registerView{arch.Regs[i].Names[0], address(x, 2*arch.Regs[i].Size)})
		}
	}
	if s := createdBy(th); s != "" {
		v.Stop = s + "; stop: " + v.Stop
	}
	v.Words, v.Stack = viewStack(r, th, words, digits)
	return v
}

// shownName is the frame's name, or its address where no binary is known to lie there: on the page
// no address stands beside the name.
func shownName(f *report.Frame, digits int) string {
	if f.Function == "" && f.Module == nil {
		return address(f.PC, digits)
	}
	return typeset.FrameName(f)
}

func viewFrame(arch *cpu.Arch, th *report.Thread, n, digits int) frameView {
	f := &th.Frames[n]
	tag, _ := doubt(f)
	v := frameView{Number: th.Repeats.Number(n), PC: address(f.PC, digits), Name: shownName(f, digits), Place: where(f), Tag: tag,
		evidenceView: evidenceView{f.Trust.String(), f.Method.String() + ", " + f.Method.Means(), strings.Join(f.Checks.Means(), "; ")}}
	if short := shortName(v.Name, maxName); short != v.Name {
		v.Name, v.Function = short, v.Name
	}
	if f.HasCFA {
		v.CFA = address(f.CFA, digits)
	}
	if f.Module != nil {
		v.Module = f.Module.Name
	}
	if l := tailCaller(f); l != nil {
		v.TailCaller = l.Function
	}
	for _, in := range f.Inlines {
		v.Inlines = append(v.Inlines, inlineView{shortName(typeset.OrUnknown(in.Function), maxName), strings.TrimSpace(typeset.OrUnknown(in.Function) + " " + place(in.File, f.Dir, in.Line))})
	}
	if d := f.Details; d != nil {
		v.Variables, v.Excerpt = viewVariables(d), viewExcerpt(arch, d, digits)
	}
	if th.Tried == nil || !th.Crashed || f.Method == unwind.MethodContext {
		return v
	}
	for i := range th.Tried[n] {
		a := &th.Tried[n][i]
		if a.RuleText == "" && !a.Applied {
			continue // a source without an answer
		}
		text := a.RuleText
		if a.Applied {
			text += " → " + address(a.PC, digits)
		}
		if a.Reason != "" {
			text += ": " + a.Reason
		}
		v.Tried = append(v.Tried, attemptView{a.Method.String(), text, a.Taken})
	}
	return v
}

func address(v uint64, digits int) string { return string(typeset.AppendHex(nil, v, digits)) }
