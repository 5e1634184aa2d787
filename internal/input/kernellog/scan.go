package kernellog

import (
	"sort"
	"strings"

	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/phrases"
)

// scanner cuts a log into reports. Lines of several CPUs may be mixed; where the kernel
// says who printed a line, each has a report of its own.
type scanner struct {
	open    map[string]*record // by caller
	ended   map[string]int     // the line behind a caller's report: x86 repeats registers there
	records []*record          // in the order of their first lines
	rests   []*record          // those that have nothing to walk, likewise
	from    int                // the first line of the message that is read
	full    int                // the line from which on none are read, 0: all were
	loss    int                // the last line that says that messages before it were lost
	doubled doubled
	facts   facts
	under   *record // the report within which a tracer's chain stands
	before  string  // the message before
	begins  bool    // the log begins here, maybe within a report
}

// maxOpen bounds the callers whose reports are open at a time; a machine has as many CPUs.
const maxOpen = 4096

// scan reads the whole log.
func scan(log *console.Log) *scanner {
	s := &scanner{open: make(map[string]*record), ended: make(map[string]int), begins: log.Begins()}
	if before := partBefore(log); before != nil {
		s.facts = before.facts
	}
	said := 0 // behind the last line that says something
	var last console.Line
	telling := 0 // the next line that tells something
	for m := (messages{log: log}); m.at < log.Len(); {
		if len(s.records) == log.MaxReports() {
			s.full = m.at
			break
		}
		if m.at > telling && s.idle() {
			at := m.at
			if repeated(log, at, &last) { // is read, whatever it tells
				telling = at
				continue
			}
			telling = log.Telling(at)
			if m.goTo(behindSilence(log, at, telling, last.Caller)); m.at > at {
				last = console.Line{Caller: last.Caller}
			}
			continue
		}
		if s.doubled.repeats(log, m.at, m.peek().Text) {
			m.skip()
			continue
		}
		s.from = m.at
		l, i := m.read()
		switch {
		case l.Text == "" && l.Bare:
			s.blank()
			m.at = log.BehindBlank(m.at)
		case l.Text == last.Text && (l.Time == "") != (last.Time == ""): // a boot console prints all that the console does
			last = console.Line{}
		default:
			if l.Bare { // the further lines of a message have no prefix
				l.Caller = last.Caller
			}
			s.line(i, l)
			last, s.before, said = l, l.Text, i+1
			if l.Fragment() && len(s.open) == 0 {
				m.at = max(m.at, log.BehindFragments(m.at)-1)
			}
		}
	}
	for _, r := range s.open {
		r.within.ends = r.to >= said && !r.tracer && !r.whole() && !r.trace.mayEnd()
	}
	s.keep()
	return s
}

// idle tells whether lines that tell nothing change nothing.
func (s *scanner) idle() bool { return len(s.open) == 0 && s.under == nil && !s.doubled.on }

// repeated tells whether a line, or the next behind blank ones, says what the last message said: of two consoles, one may have printed that.
func repeated(log *console.Log, at int, last *console.Line) bool {
	const blank = 16 // lines, behind which the next are read one by one
	if last.Text == "" {
		return false
	}
	for range blank {
		if text := log.Message(at).Text; text != "" || at >= log.Len() {
			return text == last.Text
		}
		at = max(at+1, log.BehindBlank(at))
	}
	return true
}

// behindSilence is the line to go on with behind lines that tell nothing, from line at on up to a line that does: of a line before, that
// one may be a repetition, and a line without a prefix is of the same caller as the last with one.
func behindSilence(log *console.Log, at, telling int, caller string) int {
	if telling >= log.Len() {
		return telling
	}
	i := telling - 1
	if p := log.Prefixed(at, telling); p >= 0 && (caller != "" || log.Message(p).Caller != "") {
		i = p
	}
	for i > at {
		text, before := log.Message(i).Text, log.Message(i-1).Text
		if text != "" && before != "" && text != before {
			break
		}
		i--
	}
	return max(i, at)
}

// blank reads an empty line: what follows is no entry of the chain before.
func (s *scanner) blank() {
	if r := s.open[""]; r != nil {
		r.entry = false
	}
}

// keep sets apart what has neither a PC nor a chain.
func (s *scanner) keep() {
	kept := s.records[:0]
	for _, r := range s.records {
		if walkable(r) || r.unsupported() != "" {
			kept = append(kept, r)
		} else if r.what != "" || r.process || !r.empty() { // else the heading of a list that somebody else printed
			s.rests = append(s.rests, r)
		}
	}
	s.records = kept
}

// line reads line i.
func (s *scanner) line(i int, l console.Line) {
	if l.Fragment() && s.open[l.Caller] == nil {
		return
	}
	s.facts.take(l.Text)
	if isLoss(l.Text) {
		s.loss = i
		return
	}
	s.forget(i, l.Caller)
	if s.traced(i, &l) {
		return
	}
	r := s.open[l.Caller]
	if isUnwinders(l.Text) {
		if r != nil && len(r.trace.listed) > 0 {
			r.trace.missing = true
		}
		return
	}
	if strings.HasPrefix(l.Text, "---[ end ") {
		if r != nil {
			if s.loss >= r.to {
				r.loses()
			}
			r.to = i + 1
			delete(s.open, l.Caller)
			if walkable(r) {
				s.ended[l.Caller] = r.to // there are no more of them than reports
			}
		}
		return
	}
	if h, ok := keptHeading(l.Text); ok {
		s.keeps(i, l.Caller, r, &h)
		return
	}
	if closes(l.Text) {
		delete(s.open, l.Caller)
		return
	}
	if h, fresh, ok := headingOf(l.Text); ok {
		s.heading(i, l.Caller, &h, fresh)
		return
	}
	if r == nil {
		s.headless(i, l)
		return
	}
	if s.loss >= r.to {
		r.loses()
	}
	if isTraceHeader(l.Text) && len(r.trace.listed) > 0 { // of another stack
		r.mixed = r.mixed || !r.trace.headed // the entries before are no chain of the record
		r = s.beginWithin(i, l.Caller, r)
	}
	if r.foreign == "" {
		r.foreign = console.Unsupported(l.Text)
	}
	if r.take(l.Text) {
		if r.entry {
			r.ordered(&l)
		}
		r.reached(i)
		return
	}
	r.torn(l.Text)
	r.entry = false
	if r.silent++; r.silent > maxSilence {
		delete(s.open, l.Caller)
	}
}

// maxAway is how many lines of whoever printed them may stand between two lines of a report, or between a crash and its panic. Of two
// reports of a caller that are farther apart the first has ended, whether that says so or not.
const maxAway = 256

// forget closes what of a caller is so far away from line i.
func (s *scanner) forget(i int, caller string) {
	if r := s.open[caller]; r != nil && i > r.to+maxAway {
		delete(s.open, caller)
		s.under = nil
	}
	if i > s.ended[caller]+maxAway {
		delete(s.ended, caller)
	}
}

// heading reads a message that begins a report or says more of the open one.
func (s *scanner) heading(i int, caller string, h *heading, fresh bool) {
	r := s.open[caller]
	if h.process && s.resumes(i, caller, r, h) {
		return
	}
	if h.what == "panic" && r != nil && r.of != nil && !r.of.process && r.of.empty() { // panic_on_warn: the process follows
		r = r.of
		s.open[caller] = r
	}
	if r == nil || !r.empty() || r.process && !h.process || fresh && r.what != "" && !r.introduces(h) || r.precedes(h) {
		if r == nil || h.what == "task" || strings.HasPrefix(h.says, taskDump) { // lists of tasks have nothing between one chain and the next
			cut := r != nil && r.entry && r.trace.goesOn()
			if cut {
				r.mixed = true
			}
			r = s.begin(i, caller)
			r.mixed = cut
		} else {
			r = s.beginWithin(i, caller, r)
		}
	}
	r.mixed = r.mixed || r.process && h.process && (r.pid != h.pid && h.pid >= 0 || r.cpu != h.cpu && h.cpu >= 0 && r.cpu >= 0)
	r.head(h)
	r.entry = false
	r.reached(i)
}

// keeps begins the report of a kept stack, which r's message led to.
func (s *scanner) keeps(i int, caller string, r *record, h *heading) {
	of := r
	if r != nil && r.of != nil {
		of = r.of
	}
	kept := s.begin(i, caller)
	kept.of = of
	kept.head(h)
}

// resumes goes on with the report that has shown kept stacks, at the line that names the process: its own
// stack follows that line, or was in front of the kept stacks (KFENCE, KMSAN). ok is false where that report
// has had such a line.
func (s *scanner) resumes(i int, caller string, r *record, h *heading) (ok bool) {
	if r == nil || r.of == nil || r.of.process {
		return false
	}
	r.of.head(h)
	if delete(s.open, caller); r.of.empty() {
		s.open[caller] = r.of
		r.of.reached(i)
	}
	return true
}

// begin opens a report.
func (s *scanner) begin(i int, caller string) *record {
	r := &record{from: s.from, to: i + 1}
	r.cpu, r.pid = -1, -1
	delete(s.ended, caller)
	if len(s.open) < maxOpen {
		s.open[caller] = r
	}
	s.records = append(s.records, r)
	return r
}

// beginWithin begins a report at a line that follows one of the report before. Where that report's chain goes on, or
// has not begun although its process was named, the lines of the two are mixed from here on.
func (s *scanner) beginWithin(i int, caller string, before *record) *record {
	lacks := before.process && before.empty() && before.what != "KCSAN" // which showed the stacks of both accesses before
	before.mixed = before.mixed || before.silent == 0 && (before.isMixed() || before.entry && before.trace.goesOn()) || lacks
	r := s.begin(i, caller)
	r.mixed = before.mixed
	return r
}

// headless begins a report whose heading the log does not have: where a chain begins, with registers, or within a
// chain, where the log does. Behind the line that ends a report x86 shows the registers of the crash again.
func (s *scanner) headless(i int, l console.Line) *record {
	atPlace := isSegmented(l.Text)
	within := s.begins && len(s.records) == 0 && isEntry(l.Text)
	switch {
	case isTraceHeader(l.Text):
	case isPushed(l.Text), isUserPC(l.Text), s.ended[l.Caller] > 0 && !within:
		return nil
	case within, atPlace && len(parseRegisters(l.Text)) > 0, namesPC(l.Text):
	case strings.Contains(l.Text, ":0x"), !hasRegisters(l.Text): // kernels write a space; microcontrollers print r0:0x00000000
		return nil
	}
	if !within && !atPlace && isOfFirmware(l.Text) {
		return nil
	}
	r := s.begin(i, l.Caller)
	r.within.begins = within
	if atPlace {
		r.what = "registers"
	}
	r.take(l.Text)
	return r
}

// minRegisters is how many registers a line must have to begin a report by itself.
const minRegisters = 2

// hasRegisters tells whether a line has as many. Behind the name of each is a colon, but behind a row of MIPS'.
func hasRegisters(text string) bool {
	if strings.Count(text, ":") < minRegisters && strings.IndexByte(text, '$') < 0 || !mayHaveValues(text) {
		return false
	}
	return len(parseRegisters(text)) >= minRegisters
}

// mayHaveValues tells whether a line has eight digits, or what places begin with: [<, 0x, (null), a file in parentheses.
func mayHaveValues(text string) bool {
	digits := 0
	for i := range len(text) {
		switch c := text[i]; {
		case phrases.IsHex(c):
			if digits++; digits == 8 {
				return true
			}
		case c == '<' || c == '(' || c == 'x' && digits > 0:
			return true
		default:
			digits = 0
		}
	}
	return false
}

// firstFrom is the index of the first record that begins at a line or behind.
func firstFrom(records []*record, at int) int {
	return sort.Search(len(records), func(i int) bool { return records[i].from >= at })
}
