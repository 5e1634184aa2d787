// Package faultlog reads what microcontrollers print when they crash: registers, some words
// of the stack, and often a call chain that the device worked out by itself. What it prints
// is known by the words of its lines, not by the form of a whole report, so that a form
// that nobody foresaw is read as far as it has names of registers with values and rows of
// memory. The forms that have more to say are in forms.go and listed.go.
package faultlog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/internal/input/regtext"
	"github.com/backsight/backsight/internal/input/rtos"
	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/target"
)

// Reader is the reader of such reports for console.Format.
func Reader() console.Reader {
	return console.Reader{Name: "faultlog", Read: read, Signs: signs, Finish: finish}
}

// signs are what a line has at which a report may begin.
func signs(*input.Env) console.Signs {
	return console.Signs{
		Phrases:   append(formPhrases.Signs(), phrases.Texts("addr2line", "Backtrace:", backtraceFollows, "Trace|", "trace|", "sched_dumpstack: [", "Frame 0: ")...),
		Registers: func(name string) bool { return isPC(name) || isFirst(name) },
	}
}

// vocabularyKey is of the names of registers in a log's memos: thousands of lines may begin a
// report.
type vocabularyKey struct{}

// read reads the report that begins at a line, if one does.
func read(ctx context.Context, log *console.Log, at int, env *input.Env) (*console.Report, int) {
	line := log.Line(at)
	m := log.Memo(memoryKey{}, func() any { return newMemory(log) }).(*memory)
	if at < m.passed || !interesting(line) {
		return nil, at + 1
	}
	names := log.Memo(vocabularyKey{}, func() any { return regtext.NewVocabulary(env.Archs) }).(*regtext.Vocabulary)
	c := collector{vocabulary: names}
	begins := c.begins(line)
	if !begins && (at < m.barren || !c.mayBegin(line)) {
		return nil, at + 1
	}
	next, ended := c.collect(log, at)
	switch {
	case c.found.record != nil:
		r := c.found.recordReport(ctx, log, env)
		r.Ended = ended
		return r, next
	case c.found.isReport(), c.found.overflow && c.found.thread != "" && log.RAM() != nil:
		if r := c.found.report(ctx, log, env, m); r != nil {
			r.Ended = ended
			return r, next
		}
	case c.found.form.again:
		return c.found.refused("no address of code is printed"), next
	}
	if !begins {
		m.barren = at + maxHead
	}
	if m.vain += c.bytes; m.vain > vainPerReport*log.MaxReports() {
		m.passed = at + c.lines
	}
	return nil, at + 1
}

// vainPerReport bounds the bytes that are looked at without a report in the end, for each report that a log may have: words of a report
// without a processor may go on for maxLines lines, and begin one at each.
const vainPerReport = 1 << 10

// memory is what is known of a log from the lines before.
type memory struct {
	// arch is the processor of the last report, nil for none: a task that has a list alone runs on the same.
	arch *cpu.Arch
	// barren is the line up to which no register that stands alone begins a report: one was tried before.
	barren int
	// vain is how many bytes were looked at without a report in the end; passed is the line up to which none begins, once these are many.
	vain, passed int
	// hints are the processors that sets of registers told: the reports of a device have the same ones.
	hints map[string]*cpu.Arch
}

// maxHints bounds the sets that are kept.
const maxHints = 256

// hint is firmware.Hint, by the names and the widths of registers.
func (m *memory) hint(archs cpu.Set, vals []regtext.Value) *cpu.Arch {
	var key []byte
	for i := range vals {
		key = append(key, vals[i].Name...)
		if vals[i].Digits == 16 || vals[i].Value>>32 != 0 {
			key = append(key, '*')
		}
		key = append(key, ' ')
	}
	if arch, ok := m.hints[string(key)]; ok {
		return arch
	}
	arch := firmware.Hint(archs, vals)
	if m.hints == nil {
		m.hints = map[string]*cpu.Arch{}
	}
	if len(m.hints) < maxHints {
		m.hints[string(key)] = arch
	}
	return arch
}

type memoryKey struct{}

// newMemory is that of a log, or of a part of one.
func newMemory(log *console.Log) *memory {
	m := new(memory)
	if before, ok := log.Before(memoryKey{}).(*memory); ok {
		m.arch, m.hints, m.vain = before.arch, before.hints, before.vain
	}
	return m
}

// refused is a report without a thread: why says what is missing.
func (w *words) refused(why string) *console.Report {
	return &console.Report{Title: w.title(), Issues: []target.Issue{{Kind: target.IssueCapture, Text: w.title() + ": " + why}}}
}

// words is what a report prints.
type words struct {
	form form
	printed
	listed []target.Listed
	// others are the call chains of other threads, with their names.
	others []named
	thread string // that crashed
	stack  target.Range
	said   said
	own    own
	places places
	record *record
	// overflow: the device says that the stack overflowed.
	overflow bool
	wide     bool   // addresses of 16 digits are listed
	foreign  string // the processor, where only one that is not supported prints so
	dump     *coredump
	issues   []string
}

// printed are registers and rows of memory, and rows of registers without names.
type printed struct {
	vals values
	rows []regtext.Row
	qnx  registerRows
}

// named is a call chain of a thread.
type named struct {
	number string // "task 3", where the thread has a name besides
	name   string
	listed []target.Listed
	task   *target.Task // nil: only its number is known
	stack  target.Range
}

// isReport tells whether there is a place in code to begin with. A line with one register's
// name is anything.
func (w *words) isReport() bool {
	trap := func() bool { _, ok := w.vals.of("mcause"); return ok }
	return w.dump != nil || len(w.listed) > 0 || w.own.version != "" && len(w.vals) > 0 || w.vals.hasPC() && (len(w.vals) >= 4 || w.form.begins || trap() || w.vals.hasStatus()) ||
		w.form.begins && w.vals.noFrame()
}

// isPC tells whether a name is the program counter's on any processor.
func isPC(name string) bool {
	switch name {
	case "pc", "r15", "mepc", "sepc", "epc", "uepc", "xepc", "elr", "elr_el1", "rip", "eip":
		return true
	}
	return false
}

// report makes a report of the words; nil where the processor is not known.
func (w *words) report(ctx context.Context, log *console.Log, env *input.Env, m *memory) *console.Report {
	if w.foreign != "" {
		return &console.Report{Title: w.title(), Issues: []target.Issue{{Kind: target.IssueCapture, Text: console.Refusal(w.title(), w.foreign)}}}
	}
	hint := w.hint(env, m)
	if hint == nil && w.form.task {
		hint = m.arch
	}
	p := firmware.Open(env, hint)
	if len(w.own.modules) > 0 {
		lists := [][]target.Listed{w.listed}
		for _, o := range w.others {
			lists = append(lists, o.listed)
		}
		p = w.own.place(env, p.Arch, lists...)
	}
	if issue, other := w.own.refuses(&p); other {
		return &console.Report{Title: w.title(), Issues: []target.Issue{issue}}
	}
	if pc, ok := w.vals.pc(); ok {
		w.places.move(&p, pc)
	}
	if p.Arch == nil {
		if len(w.listed) > 0 || w.form.begins {
			return w.refused("nothing tells the processor: name the firmware (-e), or --arch")
		}
		return nil
	}
	m.arch = p.Arch
	r := &console.Report{Title: w.title(), Arch: p.Arch, OS: w.system(), Modules: p.Modules, Issues: p.Issues}
	var b target.Builder
	b.Until(ctx)
	r.Issues = append(r.Issues, firmware.AddRAM(&b, log.RAM())...)
	w.addMemory(&b, p.Arch)
	mem := b.Memory(p.Arch)
	regs, texts := w.context(p.Arch, mem)
	if w.own.version != "" && regs.Known == 0 && len(w.listed) > 0 {
		regs = firmware.Start(p.Arch, w.listed[0].PC)
	}
	if w.form.bare && len(w.listed) == 0 && len(mem.Segments()) == 0 {
		w.listed = calledFrom(&p, &regs)
	}
	if n := w.own.leftOut; n > 0 {
		texts = append(texts, fmt.Sprintf("of a recursion %d frames more are on the stack than are shown", n))
	}
	for _, text := range append(w.issues, texts...) {
		r.Issues = append(r.Issues, target.Issue{Kind: target.IssueCapture, Text: r.Title + ": " + text})
	}
	r.Thread = target.Thread{Regs: regs, Crashed: !w.form.task, Memory: mem, Listed: w.listed}
	if w.stack.Lo < w.stack.Hi {
		r.Thread.Stack = w.stack
	}
	if !w.form.task {
		r.Fault = w.fault(p.Arch)
	}
	if status := w.vals.faultStatus(w.said); status.NotPushed() {
		r.Thread.Stale = true
		r.Issues = append(r.Issues, target.Issue{Kind: target.IssueCapture, Text: r.Title + ": the processor could not push the exception frame, so that the place of the fault is not known"})
	}
	if log.RAM() == nil { // with memory, all tasks are asked
		r.Issues = append(r.Issues, otherProgram(&target.Snapshot{Arch: p.Arch, Modules: p.Modules, Threads: []target.Thread{r.Thread}})...)
	}
	if w.dump != nil {
		snap := &target.Snapshot{Arch: p.Arch, Modules: p.Modules, Memory: mem, Threads: []target.Thread{r.Thread}}
		snap.SortModules()
		rtos.AddTasks(ctx, snap)
		for _, th := range snap.Threads[1:] {
			th.Memory = mem
			r.Tasks = append(r.Tasks, th)
		}
	}
	for _, o := range w.others {
		if len(o.listed) == 0 && log.RAM() != nil {
			continue // memory has the task, and its chain
		}
		r.Tasks = append(r.Tasks, target.Thread{Name: o.name, Memory: mem, Listed: o.listed, Task: o.task, Stack: o.stack})
	}
	return r
}

// system is the operating system.
func (w *words) system() string {
	if w.own.signal.Signal != 0 {
		return "Linux"
	}
	return w.form.os
}

// hint is the processor that the words are of.
func (w *words) hint(env *input.Env, m *memory) *cpu.Arch {
	if w.form.cpus == nameXtensa {
		return w.formArch(env.Archs)
	}
	if w.dump != nil {
		if a := w.dump.arch(env.Archs); a != nil {
			return a
		}
	}
	if a := env.Files.Raw(); a != nil {
		return a
	}
	if w.form.classic {
		a, _ := env.Archs.ByName("arm", "", false)
		return a
	}
	if a := m.hint(env.Archs, w.vals); a != nil {
		return a
	}
	if w.vals.noFrame() {
		w.form.cpus = "arm"
	}
	return w.formArch(env.Archs)
}

// formArch is the processor that the form of the report exists for: of ARM's the
// microcontroller profile, of the widths the one that the addresses need, unless the form names it.
func (w *words) formArch(archs cpu.Set) *cpu.Arch {
	wide := slices.ContainsFunc(w.listed, func(l target.Listed) bool { return l.PC>>32 != 0 }) || w.wide
	for _, a := range archs {
		if w.form.cpus != "" && strings.HasPrefix(a.Name, w.form.cpus) && (a.AddrSize == 8 == wide || a.Name == w.form.cpus) && a.ModeOnly == (a.Name == "arm") {
			return a
		}
	}
	return nil
}

// addMemory adds the rows and what else the report shows of memory.
func (w *words) addMemory(b *target.Builder, arch *cpu.Arch) {
	if w.dump != nil {
		w.dump.addMemory(b)
	}
	b.Grow(len(w.rows))
	for i := range w.rows {
		b.Add(w.rows[i].Addr&arch.AddrMask(), w.rows[i].Bytes(arch.BigEndian), 0, target.PermUnknown)
	}
}
