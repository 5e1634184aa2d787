package listing

import (
	"cmp"
	"strings"

	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/input/regtext"
	"github.com/backsight/backsight/internal/phrases"
)

// record is what a log says of one program that crashed, or whose stacks somebody asked for.
type record struct {
	maker   string
	headed  bool // a heading begins the record, and not a frame
	pid     int  // −1 unknown
	command string
	abi     string
	// reason is the heading that says why the record was made.
	reason  string
	current string // how the title of the thread that crashed begins, "" where nothing says that
	fault   fault
	threads []*thread
	crashed *thread // the one that the record is about
	maps    []mapping
	last    int               // the last line that belongs to the record
	biases  map[string]uint64 // of binaries, by what lines say
}

// thread is one list of a record, with what stands beside the list.
type thread struct {
	of       *record
	from, to int // its first line, and the last
	title    string
	frames   []Frame
	regs     []regtext.Value
	rows     []regtext.Row
	dumps    []dump
	id       int
	crashed  bool // a line of the list says so
	again    bool // another thread has what this one says
}

// dump is memory from an address on.
type dump struct {
	addr uint64
	data []byte
}

// mapping is a line of a list of mappings: from Lo to before Hi, of the file Name from offset Off on.
type mapping struct {
	lo, hi, off uint64
	exec        bool
	// image: off is no offset in the file but the address in the binary, as markup has that.
	image bool
	// code: off is not known, but that the mapping has the code.
	code    bool
	name    string
	buildID []byte
}

// Bounds of what is kept of a log; a line has at least so many bytes, but several stand in one line of a journal.
const (
	maxThreads = 1 << 14
	maxFrames  = 1 << 18
	maxRows    = 1 << 18
	maxMaps    = 1 << 17
	maxRecords = 1 << 10 // each becomes a snapshot; what follows is taken to be of the last
	perFrame   = 256     // and one for so many bytes of the log
)

// room is how much more is kept of a log.
type room struct{ threads, frames, rows, maps budget.Budget }

func newRoom(lines int) room {
	per := uint64(lines) / 4
	return room{budget.New("lists", maxThreads, 0), budget.New("frames", maxFrames, per), budget.New("rows", maxRows, per), budget.New("mappings", maxMaps, per)}
}

// apart is how many lines without anything of a record may stand within it: programs go on printing.
const apart = 64

// scanner reads a log line by line.
type scanner struct {
	vocabulary *regtext.Vocabulary
	records    []*record
	room       room
	rec        *record // that may go on, nil for none
	th         *thread // of rec
	section    section
	title      string // of the list that may begin next
	titled     int    // the title's line
	function   string // of Go: the frame's function, whose place is on the next line
	modules    map[string]mapping
}

// section is what follows a heading within a record.
type section uint8

const (
	inText section = iota
	inMemory
	inMaps
	inOther // nothing that a record has
)

// line reads line i.
func (s *scanner) line(i int, text string) {
	text = strings.TrimRight(text, " \t\r")
	if text == "" {
		return
	}
	if s.rec != nil && i > s.rec.last+apart {
		s.rec, s.th, s.section, s.function = nil, nil, inText, ""
	}
	if s.rec != nil && s.section == inMemory && beginsFrame(text) && s.row(text) { // of a stack that Android prints by frames
		s.reaches(i)
		return
	}
	if f, ok := Parse(text); ok && s.takes(&f, i) {
		s.frame(i, f)
		return
	}
	if s.heading(i, strings.TrimSpace(text)) || s.rec == nil {
		return
	}
	if s.belongs(i, text) && s.rec != nil {
		s.reaches(i)
	}
}

// reaches makes line i the last one of the record, and of the list.
func (s *scanner) reaches(i int) {
	s.rec.last = i
	if s.th != nil {
		s.th.to = i
	}
}

// open begins a record at a line.
func (s *scanner) open(i int, maker string) {
	if len(s.records) < maxRecords {
		s.rec = &record{maker: maker, headed: true, pid: -1, last: i, biases: map[string]uint64{}}
		s.records = append(s.records, s.rec)
	} else {
		s.rec = s.records[maxRecords-1]
	}
	s.th, s.section, s.function = nil, inText, ""
	s.begin(i, "")
}

// begin begins a list of the record.
func (s *scanner) begin(i int, title string) {
	if s.th != nil && len(s.th.frames)+len(s.th.regs) == 0 {
		s.th.title = joined(s.th.title, title)
		return
	}
	s.th = &thread{of: s.rec, from: i, to: i, title: title, crashed: phrases.Begins(title, "Thread ", "Crashed ") && strings.Contains(title, "rashed")}
	if s.room.threads.Draw(1) {
		s.rec.threads = append(s.rec.threads, s.th)
	}
	s.section, s.function = inText, ""
}

func joined(a, b string) string {
	if a == "" || b == "" || a == b {
		return cmp.Or(a, b)
	}
	return a + ": " + b
}

// takes tells whether a line that looks like a frame is one here.
func (s *scanner) takes(f *Frame, i int) bool {
	if f.how&weak == 0 {
		return true
	}
	if s.rec == nil || s.th == nil {
		return false
	}
	n := len(s.th.frames)
	switch {
	case f.Maker == "Rust":
		return n == 0 && f.Number == 0 && s.rec.maker == "Rust" || n > 0 && s.th.frames[n-1].Maker == "Rust" && f.Number == s.th.frames[n-1].Number+1
	case f.Maker == "Java":
		return s.rec.maker == "Android"
	case f.Maker == javaVM:
		return s.rec.maker == javaVM && s.section == inText
	}
	if n == 0 {
		return s.rec.headed && f.Maker == cmp.Or(s.rec.maker, f.Maker)
	}
	f.Maker = cmp.Or(f.Maker, s.th.frames[n-1].Maker)
	return s.th.frames[n-1].Maker == f.Maker && i <= s.rec.last+maxTitleAway
}

// frame adds a frame at line i to the list that it goes on, or begins one.
func (s *scanner) frame(i int, f Frame) {
	if s.rec != nil && s.rec.maker == "Go" && f.Maker == "BSD" { // whose panics begin as Go's
		s.rec.maker = f.Maker
	}
	if s.rec == nil || !s.rec.headed && len(s.rec.threads) == 0 {
		s.open(i, f.Maker)
		s.rec.headed = false
	}
	if s.th == nil || s.restarts(i, &f) {
		title := ""
		if s.titled > 0 && i < s.titled+maxTitleAway {
			title = s.title
		}
		if s.moved(&f) { // another program's
			s.open(i, f.Maker)
			s.rec.headed = false
		}
		s.begin(i, title)
	}
	if len(s.th.frames) == 0 && s.th.title == "" && s.titled > 0 && i < s.titled+maxTitleAway {
		s.th.title = s.title
	}
	s.section = inText
	if n := len(s.th.frames); n > 0 { // a line alone may fit several makers' forms
		f.Maker, f.how = s.th.frames[0].Maker, s.th.frames[0].how&listwide|f.how&^listwide
	}
	if s.rec.maker == "LLVM" { // whose lines without names look like those of sanitizers
		f.Maker, f.how = s.rec.maker, returns|f.how&wide
	}
	if s.room.frames.Draw(1) {
		s.th.frames = append(s.th.frames, f)
	}
	if f.HasOffset && f.Addr != 0 && len(s.rec.biases) < maxBinaries {
		s.rec.biases[f.Module] = f.Addr - f.Offset
	}
	s.th.to, s.rec.last = i, i
}

// moved tells whether a frame's binary lies elsewhere than lines of the record say.
func (s *scanner) moved(f *Frame) bool {
	bias, ok := s.rec.biases[f.Module]
	return ok && f.HasOffset && f.Addr != 0 && bias != f.Addr-f.Offset
}

// listwide are the properties that all frames of a list have.
const listwide = within | each | returns

// maxTitleAway is how many lines in front of a list its title stands.
const maxTitleAway = 2

// restarts tells whether a frame is of another list than the one before.
func (s *scanner) restarts(i int, f *Frame) bool {
	n := len(s.th.frames)
	if n == 0 {
		return false
	}
	last := &s.th.frames[n-1]
	switch {
	case f.Maker == "valgrind" && last.Maker == f.Maker:
		return f.how&first != 0
	case f.Maker == "backward" && f.Number == last.Number-1: // the innermost comes last
		return false
	case f.Number >= 0 && last.Number >= 0:
		return f.Number <= last.Number
	case f.Number < 0 && last.Number < 0:
		return f.Maker != last.Maker || i > s.rec.last+maxTitleAway+1 || s.titled > s.rec.last+1
	}
	return f.Maker != last.Maker && f.Maker != "Java" && last.Maker != "Java"
}
