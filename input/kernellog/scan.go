package kernellog

import (
	"strings"

	"github.com/backsight/backsight/input/console"
)

// scanner cuts a log into reports. Lines of several CPUs may be mixed; where the kernel
// says who printed a line, each has a report of its own.
type scanner struct {
	open    map[string]*record // by caller
	ended   map[string]bool    // callers whose report has ended: x86 repeats registers behind
	records []*record          // in the order of their first lines
	full    int                // the line from which on none are read, 0: all were
	loss    int                // the last line that says that messages before it were lost
	facts   facts
}

// maxOpen bounds the callers whose reports are open at a time; a machine has as many CPUs.
const maxOpen = 4096

// scan reads the whole log.
func scan(log *console.Log) *scanner {
	s := &scanner{open: make(map[string]*record), ended: make(map[string]bool)}
	for i := range log.Len() {
		if len(s.records) == log.MaxReports() {
			s.full = i
			break
		}
		if text := log.Line(i); text != "" {
			s.line(i, console.Cut(text))
		}
	}
	for _, r := range s.open {
		r.cut = r.to >= log.Len() && !r.whole()
	}
	s.keep()
	return s
}

// keep leaves out what has neither a PC nor a chain.
func (s *scanner) keep() {
	kept := s.records[:0]
	for _, r := range s.records {
		if len(r.trace.listed) > 0 || r.reg("pc", "epc", "rip", "eip") != nil {
			kept = append(kept, r)
		}
	}
	s.records = kept
}

// line reads line i.
func (s *scanner) line(i int, l console.Line) {
	s.facts.take(l.Text)
	if isLoss(l.Text) {
		s.loss = i
		return
	}
	r := s.open[l.Caller]
	if strings.HasPrefix(l.Text, "---[ end ") {
		if r != nil {
			r.to = i + 1
			delete(s.open, l.Caller)
			s.ended[l.Caller] = true // there are no more of them than reports
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
		mixed := r.isMixed() && r.silent == 0
		r = s.begin(i, l.Caller)
		r.mixed = mixed
	}
	if r.take(l.Text) {
		r.reached(i)
	} else if r.silent++; r.silent > maxSilence {
		delete(s.open, l.Caller)
	}
}

// heading reads a message that begins a report or says more of the open one.
func (s *scanner) heading(i int, caller string, h *heading, fresh bool) {
	r := s.open[caller]
	if h.process && s.resumes(i, caller, r, h) {
		return
	}
	if r == nil || !r.empty() || r.process && !h.process || fresh && r.what != "" && !r.introduces(h) {
		r = s.begin(i, caller)
	}
	r.head(h)
	r.reached(i)
}

// headingOf is heads, and processHeading: that line follows what tells the kind, or begins
// a stack that nobody asked for by a crash (dump_stack).
func headingOf(text string) (h heading, fresh, ok bool) {
	if h, ok := processHeading(text); ok {
		return h, false, true
	}
	return heads(text)
}

// begin opens a report.
func (s *scanner) begin(i int, caller string) *record {
	r := &record{from: i, to: i + 1}
	r.cpu, r.pid = -1, -1
	delete(s.ended, caller)
	if len(s.open) < maxOpen {
		s.open[caller] = r
	}
	s.records = append(s.records, r)
	return r
}

// headless begins a report whose heading the log does not have: where a chain begins, or
// with registers.
func (s *scanner) headless(i int, l console.Line) *record {
	header := isTraceHeader(l.Text)
	if strings.Contains(l.Text, ":0x") { // kernels write a space; microcontrollers print r0:0x00000000
		return nil
	}
	if !header && (s.ended[l.Caller] || len(parseRegisters(l.Text)) < minRegisters) {
		return nil
	}
	r := s.begin(i, l.Caller)
	r.take(l.Text)
	return r
}

// minRegisters is how many registers a line must have to begin a report by itself.
const minRegisters = 2

// reached counts line i as the report's.
func (r *record) reached(i int) { r.to, r.silent = i+1, 0 }
