// Package signature names crashes so that equal ones have equal names: by the functions of the innermost frames that are
// verified, without those of the run-time. What is the same in another build is the function's fingerprint
// (internal/code/features), in the same build where the function begins. docs/signatures.md is the definition.
//
//	raise ─► abort ─► __assert_fail ─► check ─► on_packet ─► main          a thread's frames
//	└── the run-time, left out ──┘     └──────── signed ───────┘
package signature

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/features"
	"github.com/backsight/backsight/internal/sha256"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

const (
	// Version is the version of the definition, part of each key.
	Version = 1
	// ExactDepth and StableDepth are how many functions a key has.
	ExactDepth, StableDepth = 8, 2
	// maxSigned bounds the threads without a crash that are signed.
	maxSigned = 64
)

// Code tells of functions; edges.Graph does.
type Code interface {
	// FunctionAt is what stays of the function at a target address in m, nil where none is known.
	FunctionAt(m *target.Module, pc uint64, mode cpu.Mode) *features.Function
	// NamedBefore are hashes of what the function at a target address in m names right in front of that; tells: the place is known
	// by them.
	NamedBefore(m *target.Module, pc uint64, mode cpu.Mode) (named []uint32, tells bool)
	// ImportCalled is the name of the import that the call before a return address in m goes to, "" for none.
	ImportCalled(m *target.Module, ra uint64, mode cpu.Mode) string
}

// Add signs the threads of a report: those that crashed, and the first of the others. Once ctx has ended, no more.
func Add(ctx context.Context, code Code, r *report.Report) {
	left := maxSigned
	for i := range r.Threads {
		t := &r.Threads[i]
		if t.Thread == nil || len(t.Frames) == 0 || ctx.Err() != nil {
			continue
		}
		if !t.Crashed {
			if left == 0 {
				continue
			}
			left--
		}
		s := signer{code: code, report: r, thread: t}
		t.Signature = s.sign()
	}
}

// signer signs one thread.
type signer struct {
	code   Code
	report *report.Report
	thread *report.Thread
}

func (s *signer) sign() *report.Signature {
	out := &report.Signature{Version: Version, Class: s.class()}
	frames, whole := s.functions()
	out.Whole, out.Frames = whole, frames
	if s.overflow() {
		frames = s.turning(frames)
	}
	out.Exact = key("exact", s.report.Snapshot.Arch.Name+" "+out.Class, frames[:min(len(frames), ExactDepth)], exact)
	out.Stable = Stable(s.what(), frames)
	out.Title = s.title(out.Frames)
	return out
}

// Stable is the stable key of a crash by what hit the program, the name of a signal, and its functions, innermost first; "" for
// no functions.
func Stable(happened string, frames []report.SignedFrame) string {
	return key("stable", happened, telling(frames), stable)
}

// fault is what hit the thread, nil for nothing.
func (s *signer) fault() *target.Fault {
	t, snap := s.thread, s.report.Snapshot
	switch {
	case t.Fault != nil:
		return t.Fault
	case snap.Fault != nil && snap.Fault.Thread == t.ID:
		return snap.Fault
	}
	return nil
}

// crash is why the thread crashed, nil where that is not known.
func (s *signer) crash() *report.Crash {
	if f := s.report.Snapshot.Fault; f != nil && f.Thread == s.thread.ID {
		return s.report.Crash
	}
	return nil
}

// happened is the name of what hit the thread.
func (s *signer) happened() string {
	f := s.fault()
	switch {
	case f != nil && f.Name != "":
		return f.Name
	case f != nil || s.thread.Crashed:
		return "crashed"
	}
	return "stopped"
}

func (s *signer) class() string {
	words := []string{s.happened()}
	if c := s.crash(); c != nil {
		words = append(words, c.Kind, c.Access)
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// telling are the functions that a stable key has: those from the innermost to the first that says enough, StableDepth of the
// program's own at most. Who calls such a function is another way to the same crash.
func telling(frames []report.SignedFrame) []report.SignedFrame {
	own := 0
	for i := range frames {
		if frames[i].Import != "" {
			continue
		}
		if own++; own == StableDepth || frames[i].Known || features.Tells(frames[i].Named) {
			return frames[:i+1]
		}
	}
	return frames
}

// what is what happened as far as another build has the same.
func (s *signer) what() string {
	if s.overflow() {
		return s.happened() + " " + report.CrashStackOverflow
	}
	return s.happened()
}

func (s *signer) overflow() bool {
	c := s.crash()
	return c != nil && c.Kind == report.CrashStackOverflow
}

// functions are those of the verified frames, innermost first, each once; whole tells whether they are as many as a key has,
// or all.
func (s *signer) functions() (list []report.SignedFrame, whole bool) {
	t := s.thread
	for i := s.first(); i < len(t.Frames); i++ {
		f := &t.Frames[i]
		switch {
		case f.Trust == unwind.Guess:
			return list, false
		case len(list) == ExactDepth:
			return list, true
		case f.Method == unwind.MethodSigframe || f.Module == nil || s.starts(f):
			continue
		case isRuntime(f.Module):
			list = s.asked(list, i)
			continue
		}
		signed := s.signed(i)
		if !slices.ContainsFunc(list, func(o report.SignedFrame) bool { return o.Import == "" }) {
			signed.Before, signed.Known = s.code.NamedBefore(f.Module, f.PC, f.Mode)
		}
		if !slices.ContainsFunc(list, func(o report.SignedFrame) bool {
			return o.Start == signed.Start && o.Module == signed.Module && o.Import == ""
		}) {
			list = append(list, signed)
		}
	}
	return list, t.Stop.Reason == unwind.StopRoot
}

// starts tells whether a frame is of the code at which the system starts a program, which is the run-time's.
func (s *signer) starts(f *report.Frame) bool {
	if f.Module.Image == nil || f.Module.Image.Entry == 0 {
		return false
	}
	entry := f.Module.Image.Entry
	if f.Module.Image.Arch.ISABit {
		entry &^= 1
	}
	fn := s.code.FunctionAt(f.Module, f.CallSite, f.Mode)
	return fn != nil && fn.Entry == entry
}

// asked appends what the caller of a run-time's function at frame i, if the caller is of the program, asked for.
func (s *signer) asked(list []report.SignedFrame, i int) []report.SignedFrame {
	frames := s.thread.Frames
	if i+1 == len(frames) {
		return list
	}
	caller := &frames[i+1]
	if caller.Trust == unwind.Guess || caller.Module == nil || caller.Exact || isRuntime(caller.Module) {
		return list
	}
	signed := s.signed(i)
	if signed.Import = s.code.ImportCalled(caller.Module, caller.PC, caller.Mode); signed.Import == "" || len(list) > 0 {
		return list // what called back, as qsort does, is no place
	}
	return append(list, signed)
}

// signed is the function of frame i.
func (s *signer) signed(i int) report.SignedFrame {
	f := &s.thread.Frames[i]
	out := report.SignedFrame{Index: s.thread.Repeats.Number(i), Module: f.Module.Base(), Build: hex.EncodeToString(f.Module.BuildID), Function: f.Function,
		Start: f.Module.ToImage(f.CallSite), Inside: true, Sure: f.Trust == unwind.Certain}
	if f.Function != "" && !f.NoEntry {
		out.Start, out.Inside = f.Entry, false
	}
	if fn := s.code.FunctionAt(f.Module, f.CallSite, f.Mode); fn != nil {
		out.Start, out.Inside = fn.Entry, false
		out.Print, out.Named, out.Members = fn.Print(), fn.Named, fn.Offsets
		if out.Build == "" {
			out.Build = codeHash(f.Module, fn)
		}
	}
	if !out.Inside {
		out.Offset = f.Module.ToImage(f.PC) - out.Start
	}
	return out
}

// codeHash stands for the build ID of a binary that has none: a hash of the function's code.
func codeHash(m *target.Module, fn *features.Function) string {
	seg, ok := m.Image.Segments.At(fn.Entry)
	if !ok {
		return ""
	}
	from := min(fn.Entry-seg.Addr, uint64(len(seg.Data)))
	to := max(from, min(fn.End-seg.Addr, uint64(len(seg.Data))))
	sum := sha256.Sum256(seg.Data[from:to])
	return "code " + hex.EncodeToString(sum[:8])
}

// maxTurn bounds the frames among which a function's second one is looked for.
const maxTurn = 256

// turning are the functions of a stack overflow's recursion, by their fingerprints: which of them had no room is chance. They are
// those that are on the stack twice, or in a turn that was left out.
func (s *signer) turning(list []report.SignedFrame) (turn []report.SignedFrame) {
	t := s.thread
	count := make([]int, len(list))
	for i := range t.Frames[:min(len(t.Frames), maxTurn)] {
		if t.Frames[i].Module == nil || t.Frames[i].Trust == unwind.Guess {
			continue
		}
		o := s.signed(i)
		again := len(t.Repeats) > 0 && i < t.Repeats[0].At && i >= t.Repeats[0].At-t.Repeats[0].Period
		for k := range list {
			if o.Start == list[k].Start && o.Module == list[k].Module {
				if count[k]++; again {
					count[k]++
				}
			}
		}
	}
	for k, f := range list {
		if count[k] > 1 && f.Import == "" {
			f.Offset, f.Before, f.Known = 0, nil, false
			turn = append(turn, f)
		}
	}
	if len(turn) == 0 {
		return list
	}
	if named := func(f report.SignedFrame) bool { return len(f.Named) >= 2 }; slices.ContainsFunc(turn, named) {
		turn = slices.DeleteFunc(turn, func(f report.SignedFrame) bool { return !named(f) }) // other fingerprints do not stay
	}
	sort.Slice(turn, func(a, b int) bool {
		return cmp.Or(cmp.Compare(turn[a].Print, turn[b].Print), strings.Compare(turn[a].Function, turn[b].Function)) < 0
	})
	return turn
}

// exact names a place in a function of a build.
func exact(f *report.SignedFrame) string {
	id, at := f.Build, ""
	if id == "" {
		id = f.Module
	}
	if f.Inside {
		at = "?"
	}
	return fmt.Sprintf("%s %#x%s+%#x", id, f.Start, at, f.Offset)
}

// stable names a function in whatever build.
func stable(f *report.SignedFrame) string {
	switch {
	case f.Import != "":
		return "import " + f.Import
	case f.Known:
		return fmt.Sprintf("at %08x", f.Before)
	case f.Print != 0 && f.Before != nil:
		return fmt.Sprintf("print %08x at %08x", f.Print, f.Before)
	case f.Print != 0:
		return fmt.Sprintf("print %08x", f.Print)
	case f.Function != "":
		return "name " + f.Function
	}
	return fmt.Sprintf("%s %#x", f.Module, f.Start)
}

// key is the first 8 bytes of the SHA-256 of a key's lines.
func key(kind, class string, frames []report.SignedFrame, name func(*report.SignedFrame) string) string {
	if len(frames) == 0 {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "backsight %s %d\n%s\n", kind, Version, class)
	for i := range frames {
		fmt.Fprintln(h, name(&frames[i]))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
