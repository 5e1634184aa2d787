// Package listing reads lists of frames that programs, run-times, tools and debuggers print as text, whoever printed them, and
// what stands beside such lists: Android's tombstones with registers, memory and mappings, the reports of sanitizers,
// backtrace_symbols, panics of Go and Rust, a debugger's bt.
//
//	line ─► Parse ─► Frame        by the rows of forms
//	log ─► scanner ─► record ─► modules ─► threads with their lists
//
// The binaries are found by build ID where a line says that, else by name where the user said where; each frame is then
// verified by the code.
package listing

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/input/regtext"
	"github.com/backsight/backsight/internal/phrases"
)

// Reader knows such lists.
func Reader() console.Reader {
	return console.Reader{Name: "list of frames", Beside: true, Read: read, Signs: signs, Next: next, Scan: func(log *console.Log, env *input.Env) { contentsOf(log, env) }}
}

type logKey struct{}

// contents are the records of a log, and their threads by the line at which each begins.
type contents struct {
	at    map[int]*thread
	begin []int // the lines, in order
}

// contentsOf are the records of a log.
func contentsOf(log *console.Log, env *input.Env) *contents {
	return log.Memo(logKey{}, func() any { return scan(log, env) }).(*contents)
}

// read is the list that begins at line at.
func read(ctx context.Context, log *console.Log, at int, env *input.Env) (*console.Report, int) {
	c := contentsOf(log, env)
	t, ok := c.at[at]
	switch {
	case !ok:
		return nil, at + 1
	case t.again:
		return nil, t.to + 1
	}
	return t.of.report(ctx, t, log, env), t.to + 1
}

// next is the first line from at on at which a list begins.
func next(log *console.Log, at, end int) int {
	c := contentsOf(log, nil)
	if i, _ := slices.BinarySearch(c.begin, at); i < len(c.begin) {
		return min(end, c.begin[i])
	}
	return end
}

// scan reads a log.
func scan(log *console.Log, env *input.Env) *contents {
	s := scanner{vocabulary: regtext.NewVocabulary(env.Archs), room: newRoom(log.Len())}
	telling := 0 // the next line that tells something
	for i := 0; i < log.Len(); i++ {
		if i > telling && s.rec == nil {
			if telling = log.Telling(i); telling == log.Len() {
				break
			}
			i = telling
		}
		text, more := wrapped(log, i)
		s.read(i, text)
		if i += more; more > 0 && s.th != nil {
			s.th.to, s.rec.last = i, i
		}
	}
	return contentsOfRecords(s.records)
}

// wrapped is line i, with those behind it that debuggers made of the same frame, and tells how many those are:
//
//	#0  0x000055d3c01ba0fc in tick (this=0x10, s=0x7fff1234aff0 "abc",
//	    n=3) at toy.c:41
//	#1  0x00007f3a2cf1888f in clone ()
//	    at ../sysdeps/unix/sysv/linux/x86_64/clone.S:95
func wrapped(log *console.Log, i int) (text string, more int) {
	text = message(log, i)
	if text = strings.TrimRight(text, " \t\r"); len(text) > maxFrameLine || !beginsFrame(text) {
		return text, 0
	}
	whole := text
	for more < maxWrapped && i+more+1 < log.Len() && len(whole) < maxFrameLine {
		next := strings.TrimSpace(message(log, i+more+1))
		if next == "" || next[0] == '#' || strings.Count(whole, "(") <= strings.Count(whole, ")") && !phrases.Begins(next, "at ", "from ") && !strings.HasSuffix(whole, " from") && !strings.HasSuffix(whole, " at") {
			break
		}
		whole, more = whole+" "+next, more+1
	}
	if more == 0 {
		return text, 0
	}
	if f, ok := Parse(text); ok && (f.File != "" || f.Module != "") { // a text in the line has the parenthesis
		return text, 0
	}
	if f, ok := Parse(whole); !ok || f.File == "" && f.Module == "" && whole[len(whole)-1] != ')' {
		return text, 0
	}
	return whole, more
}

// maxWrapped bounds the lines that were made of a frame's.
const maxWrapped = 32

// beginsFrame tells whether a line begins with the number of a frame.
func beginsFrame(text string) bool {
	text = strings.TrimLeft(text, " \t")
	return len(text) > 1 && text[0] == '#' && phrases.IsDigit(text[1]) && !strings.Contains(text, "#012")
}

// read reads line i.
func (s *scanner) read(i int, text string) {
	if strings.IndexByte(text, '#') < 0 {
		s.line(i, text)
		return
	}
	for part := range strings.SplitSeq(text, "#012") { // rsyslog's line feed
		s.line(i, strings.ReplaceAll(part, "#011", "\t"))
	}
}

// contentsOfRecords are the threads of those records that are reports.
func contentsOfRecords(records []*record) *contents {
	c := &contents{at: map[int]*thread{}}
	for _, r := range records {
		if !r.isReport() {
			continue
		}
		r.once()
		r.crashed = r.whoCrashed()
		for _, t := range r.threads {
			if _, taken := c.at[t.from]; !taken && len(t.frames)+len(t.regs) > 0 {
				c.at[t.from] = t
				c.begin = append(c.begin, t.from)
			}
		}
	}
	slices.Sort(c.begin)
	return c
}

// isReport tells whether a record is one, and no line of a text that looks like a frame.
func (r *record) isReport() bool {
	frames, registers, highest := 0, 0, uint64(0)
	for _, t := range r.threads {
		for i := range t.frames {
			highest = max(highest, t.frames[i].Addr)
		}
		frames, registers = frames+len(t.frames), registers+len(t.regs)
		if len(t.frames) > 0 && t.frames[0].how&relative != 0 && t.frames[0].Number == 0 {
			return true
		}
	}
	if r.maker == "Rust" && r.reason == "" && highest>>32 == 0 { // probes print such lists of a device
		return false
	}
	if !r.headed {
		return frames > 1
	}
	return frames > 0 || (r.maker == "Android" && r.pid >= 0 || r.maker == "Linux" || r.maker == cygwin) && registers > leastRegisters
}

// once finds the threads that debuggers show more than once: ddb at a panic, up to so many frames, and when it is asked to trace; Windows'
// debuggers by k, kn, kb and !analyze, the registers apart from the list, at the top of whose stack they point.
func (r *record) once() {
	if r.maker != "BSD" && r.maker != winDbg {
		return
	}
	for i, t := range r.threads {
		for _, before := range r.threads[max(0, i-maxAgain):i] {
			switch {
			case before.again || t.again || before.title != t.title:
			case slices.Equal(before.regs, t.regs) && len(t.frames) == 0, before.begins(t) && len(before.frames) >= len(t.frames), t.standsAt(before):
				before.takes(t)
			case before.begins(t), before.standsAt(t):
				t.takes(before)
			}
		}
	}
}

// takes takes what another thread says of the same one.
func (t *thread) takes(other *thread) {
	if other.again = true; len(t.regs) == 0 {
		t.regs = other.regs
	}
	t.crashed = t.crashed || other.crashed
}

// maxAgain is how many threads lie between two that are the same.
const maxAgain = 8

// standsAt tells whether a thread of registers alone is at the top of a list: the stack or the frame pointer points to the place on the
// stack that the first line says, or to the word beside, of a function that keeps no frame pointer.
func (t *thread) standsAt(list *thread) bool {
	const word = 4
	return len(t.frames) == 0 && len(list.frames) > 0 && len(list.regs) == 0 && slices.ContainsFunc(t.regs, func(v regtext.Value) bool {
		return v.Value+word-list.frames[0].stack <= 2*word && slices.Contains([]string{"rsp", "esp", "rbp", "ebp"}, v.Name)
	})
}

// begins tells whether of two lists one is the beginning of the other, or both are of one place on the stack.
func (t *thread) begins(other *thread) bool {
	n := min(len(t.frames), len(other.frames))
	if n == 0 || t.frames[0].stack != other.frames[0].stack {
		return false
	}
	return t.frames[0].stack != 0 || slices.EqualFunc(t.frames[:n], other.frames[:n], func(a, b Frame) bool {
		return a.Function == b.Function && a.FuncOffset == b.FuncOffset && a.Addr == b.Addr && a.Offset == b.Offset && a.Module == b.Module
	})
}

// leastRegisters is how many registers make a report of a thread without a list.
const leastRegisters = 4

// report makes a report of a thread.
func (r *record) report(ctx context.Context, t *thread, log *console.Log, env *input.Env) *console.Report {
	b := log.Memo(r, func() any { return newBinaries(ctx, r, env) }).(*binaries)
	out := &console.Report{
		Title: r.titleOf(t), Arch: b.arch, OS: r.system(), Space: r, Command: r.command, PID: max(r.pid, 0),
		Modules: b.modules, Issues: b.issues, CodeMask: r.codeMask(b.arch),
	}
	if b.given { // with the record's first report
		out.Modules, out.Issues = nil, nil
	}
	b.given = true
	out.Thread = b.thread(r, t)
	if t == r.crashed {
		out.Fault = r.target()
		out.Thread.Crashed = out.Fault != nil
	}
	return out
}

// whoCrashed is the thread that the record is about: the one that the debugger names, else the first.
func (r *record) whoCrashed() (th *thread) {
	for _, t := range r.threads {
		if t.again {
			continue
		}
		th = cmp.Or(th, t)
		if t.crashed || r.current != "" && strings.HasPrefix(t.title, r.current) {
			return t
		}
	}
	return th
}

// titleOf says whose list a thread is.
func (r *record) titleOf(t *thread) string {
	title := joined(r.maker, t.title)
	return strings.ToValidUTF8(title[:min(len(title), maxTitle)], "")
}

func (r *record) system() string {
	switch r.maker {
	case "Linux", "Android":
		return r.maker
	case "OpenHarmony":
		return "OpenHarmony"
	case "macOS":
		return "macOS"
	}
	return ""
}
