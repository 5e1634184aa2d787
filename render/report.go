// Package render writes finished backtraces: as text for people, as JSON and JSON
// Lines for programs. It decides nothing about a backtrace, only how it looks.
//
// Names come from hostile files: whatever is written has no control characters,
// no escape sequences, nothing that reorders text, and is valid UTF-8.
package render

import (
	"path"
	"strings"

	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Report is what there is to say about one snapshot.
type Report struct {
	// Title precedes the text where there are several snapshots, "" for none.
	Title string
	// Snapshot is nil where none could be read; Issues say why.
	Snapshot *target.Snapshot
	Threads  []Thread
	// Issues are the capture's and what else went wrong, one line each.
	Issues []string
	// Version is the program's.
	Version string
	// Registers asks for the registers of every thread's innermost frame.
	Registers bool
}

// Thread is one thread's backtrace.
type Thread struct {
	*target.Thread
	Frames []Frame
	Stop   unwind.Stop
	// Tried are the attempts to find frame i, one list more than there are
	// frames; nil where nobody asked.
	Tried [][]Attempt
}

// Frame is a frame and its name.
type Frame struct {
	unwind.Frame
	symbol.Location
}

// Attempt is an unwind.Attempt that may be kept: Rule is nil, its text is here.
type Attempt struct {
	unwind.Attempt
	RuleText string
}

// Keep makes an Attempt of one that is valid during the callback only.
func Keep(a unwind.Attempt) Attempt {
	k := Attempt{Attempt: a}
	if a.Rule != nil {
		k.RuleText = a.Rule.Format(a.Arch)
	}
	k.Rule = nil
	return k
}

// entry is the target address where the frame's function begins.
func (f *Frame) entry() uint64 {
	if f.Module == nil {
		return f.Entry
	}
	return f.Module.ToTarget(f.Entry)
}

// moduleName is the last part of a module's path.
func moduleName(m *target.Module) string {
	if m == nil || m.Name == "" {
		return ""
	}
	return path.Base(m.Name)
}

// shortFile is the file's path as the compiler was told it, as far as it lies
// below the directory in which the compiler ran.
func shortFile(file, dir string) string {
	if dir == "" {
		return file
	}
	return strings.TrimPrefix(file, strings.TrimSuffix(dir, "/")+"/")
}
