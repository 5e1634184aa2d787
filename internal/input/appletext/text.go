package appletext

import (
	"cmp"
	"context"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/darwin"
	"github.com/backsight/backsight/internal/memo"
	"github.com/backsight/backsight/target"
)

// The lines of a report as text.
var (
	threadLine = pattern{expr: `^Thread (\d+)( Crashed)?:{1,2}\s*(.*)$`}
	nameLine   = pattern{expr: `^Thread (\d+) name:\s*(.*)$`}
	stateLine  = pattern{expr: `^(?:Thread (\d+)|Unknown thread) crashed with (.*?) Thread State`}
	// frameLine: a number, the binary, the address, what the reporter knew of it.
	frameLine     = pattern{expr: `^\d+\s+(.*?)\s+0x([0-9a-fA-F]+)\s*(.*)$`}
	registerPair  = pattern{expr: `([a-z][a-z0-9]*): 0x([0-9a-fA-F]+)`}
	imageLine     = pattern{expr: `^\s*0x([0-9a-fA-F]+) - +(?:0x([0-9a-fA-F]+)|\?\?\?) +\+?(.*)$`}
	backtraceLine = pattern{expr: `^Application Specific Backtrace \d+:`}
)

// textReport is a report while it is read.
type textReport struct {
	header map[string]string
	out    darwin.Report
	arch   *cpu.Arch
	// at is the thread that lines of frames belong to, −1 for none; state the thread whose
	// registers are listed.
	at, state int
	frames    darwin.Frames // of thread at
	names     map[int]string
	images    bool
	says      bool     // lines are of Application Specific Information
	said      []string // these lines
	room      darwin.Room
	// indexes has the index in out of each thread, by the thread's number; crash is the index of
	// the first thread that crashed, −1 for none. A map, for a report may name each thread often.
	indexes map[int]int
	crash   int
}

func newTextReport(size int) *textReport {
	return &textReport{header: map[string]string{}, at: -1, state: -1, names: map[int]string{}, indexes: map[int]int{}, crash: -1, room: darwin.NewRoom(size)}
}

// maxHeader bounds the headers of a report, which has some twenty.
const maxHeader = 256

// pattern is an expression that is compiled when a report of this kind is read, not when the program begins.
type pattern struct {
	expr string
	once memo.Once[*regexp.Regexp]
}

func (p *pattern) compiled() *regexp.Regexp {
	return p.once.Get(func() *regexp.Regexp { return regexp.MustCompile(p.expr) })
}

// headerLine takes a line "Key: value" of the report's first part. Of several lines with one key
// the first counts.
func (r *textReport) headerLine(line string) {
	key, value, ok := strings.Cut(line, ":")
	if ok && key != "" && len(key) < 40 && !strings.Contains(key, "  ") && r.header[key] == "" && len(r.header) < maxHeader {
		r.header[key] = strings.TrimSpace(value)
	}
}

// readText reads a report as text.
func readText(ctx context.Context, name, text string, env *input.Env) (*darwin.Report, error) {
	r := newTextReport(len(text))
	if r.arch = cmp.Or(archOf(text, env.Archs), env.Files.Raw()); r.arch == nil {
		return nil, unknown(name, headerOf(text, "Code Type:"))
	}
	for line := range linesOf(ctx, text) {
		r.line(line)
	}
	r.finish()
	r.out.Issues = r.room.Issues(name)
	return &r.out, nil
}

// linesOf are the lines of a text without their ends, until ctx ends.
func linesOf(ctx context.Context, text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if ctx.Err() != nil || !yield(strings.TrimRight(line, "\r\n")) {
				return
			}
		}
	}
}

// headerOf is the value of a header, "" where there is none.
func headerOf(text, key string) string {
	at := 0
	if !strings.HasPrefix(text, key) {
		if at = strings.Index(text, "\n"+key); at < 0 {
			return ""
		}
		at++
	}
	value, _, _ := strings.Cut(text[at+len(key):], "\n")
	return strings.TrimSpace(value)
}

// archOf is the processor of a report: by "Code Type", else by the names of the registers, else by
// the images.
func archOf(text string, archs cpu.Set) *cpu.Arch {
	if a, ok := darwin.Arch(archs, headerOf(text, "Code Type:")); ok {
		return a
	}
	_, state, _ := strings.Cut(text, " crashed with ")
	state, _, _ = strings.Cut(state, " Thread State")
	if a, ok := darwin.Arch(archs, state); ok && state != "" && !strings.HasPrefix(state, "ARM") {
		return a
	}
	for _, name := range []string{"arm64e", "arm64", "x86_64", "i386", "armv7"} {
		if strings.Contains(text, " "+name+" ") {
			a, _ := darwin.Arch(archs, name)
			return a
		}
	}
	if strings.Contains(text, "Code Type:") || !strings.Contains(text, "Incident Identifier:") {
		return nil
	}
	a, _ := darwin.Arch(archs, "arm64")
	return a // a fragment of a report of a device
}

// line reads one line.
func (r *textReport) line(line string) {
	switch {
	case r.images:
		r.image(line)
	case strings.HasPrefix(line, "Binary Images:"):
		r.end()
		r.images = true
	case strings.HasPrefix(line, "Thread ") || strings.HasPrefix(line, "Unknown thread"):
		r.threadLine(line)
	case strings.HasPrefix(line, "Last Exception Backtrace:"), backtraceLine.compiled().MatchString(line):
		r.begin(target.Thread{ID: -1, Name: lastException})
	case r.state >= 0 && registerPair.compiled().MatchString(line):
		r.registers(line)
	case r.at >= 0 && strings.HasPrefix(line, "(0x"):
		r.addresses(line)
	case r.at >= 0 && r.frame(line):
	case strings.HasPrefix(line, "Application Specific Information:"):
		r.says = true
	case r.says && strings.TrimSpace(line) == "":
		r.says = false
	case r.says && len(r.said) < maxSays:
		r.said = append(r.said, line)
	default:
		if len(r.out.Threads) == 0 {
			r.headerLine(line)
		}
	}
}

// begin makes a thread the one that frames belong to.
func (r *textReport) begin(t target.Thread) {
	r.end()
	r.state = -1
	if !r.room.Threads.Draw(1) {
		return
	}
	r.at = len(r.out.Threads)
	r.out.Threads = append(r.out.Threads, t)
	if _, again := r.indexes[t.ID]; !again {
		r.indexes[t.ID] = r.at
	}
	if t.Crashed && r.crash < 0 {
		r.crash = r.at
	}
}

// end gives the thread its frames.
func (r *textReport) end() {
	if r.at < 0 {
		return
	}
	r.frames.End()
	t := &r.out.Threads[r.at]
	t.Listed = append(t.Listed, r.frames.List...)
	r.at, r.frames = -1, darwin.Frames{}
}

func (r *textReport) threadLine(line string) {
	if m := nameLine.compiled().FindStringSubmatch(line); m != nil {
		if r.room.Threads.Left() > int64(len(r.names)) {
			r.names[atoi(m[1])] = m[2]
		}
	} else if m := stateLine.compiled().FindStringSubmatch(line); m != nil {
		r.state = r.crashed(m[1])
	} else if m := threadLine.compiled().FindStringSubmatch(line); m != nil {
		t := target.Thread{ID: atoi(m[1]), Crashed: m[2] != "", Name: m[3]}
		if t.Name == "" {
			t.Name = r.names[t.ID]
		}
		r.begin(t)
	}
}

// crashed is the index of the thread whose registers follow: the thread of that number, else the
// first thread that crashed; −1 for none.
func (r *textReport) crashed(number string) int {
	if number == "" {
		return r.crash
	}
	if i, ok := r.indexes[atoi(number)]; ok {
		return i
	}
	return -1
}

func (r *textReport) registers(line string) {
	for _, m := range registerPair.compiled().FindAllStringSubmatch(line, -1) {
		if v, ok := hexNumber(m[2]); ok {
			darwin.Register(r.arch, &r.out.Threads[r.state].Regs, m[1], v)
		}
	}
}

// process is "name [pid]".
var process = pattern{expr: `^(.*?) \[(\d+)\]`}

// finish takes the headers over.
func (r *textReport) finish() {
	r.end()
	r.out.Arch, r.out.OS = r.arch, darwin.System(r.header["OS Version"])
	r.out.Command, r.out.Time = r.header["Path"], r.header["Date/Time"]
	if m := process.compiled().FindStringSubmatch(r.header["Process"]); m != nil {
		r.out.PID = atoi(m[2])
		if r.out.Command == "" {
			r.out.Command = m[1]
		}
	}
	kind, _, _ := strings.Cut(r.header["Exception Type"], " (")
	f := &target.Fault{Name: r.header["Exception Type"]}
	said := []string{words(kind, r.header["Exception Codes"], r.header["Exception Subtype"])}
	if reason := r.header["Termination Reason"]; reason != "" {
		said = append(said, terminated+reason)
	}
	f.Says = says(append(said, r.said...))
	if _, signal, ok := strings.Cut(f.Name, "("); ok {
		f.Name = strings.TrimSuffix(signal, ")")
	}
	for _, key := range []string{"Exception Codes", "Exception Subtype"} {
		if a, ok := addressIn(r.header[key]); ok {
			f.Address, f.HasAddress = a, true
		}
	}
	// The backtrace of an exception's origin, with a negative ID, comes after the threads, as in
	// JSON.
	slices.SortStableFunc(r.out.Threads, func(a, b target.Thread) int { return cmp.Compare(min(0, b.ID), min(0, a.ID)) })
	for i := range r.out.Threads {
		if t := &r.out.Threads[i]; t.Crashed {
			f.Thread = t.ID
		} else if t.ID < 0 {
			t.ID = i
		}
	}
	r.out.Fault = f
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func itoa(n int) string { return strconv.Itoa(n) }

func hexNumber(digits string) (uint64, bool) {
	v, err := strconv.ParseUint(digits, 16, 64)
	return v, err == nil
}
