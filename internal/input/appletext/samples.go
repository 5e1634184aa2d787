package appletext

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/darwin"
	"github.com/backsight/backsight/target"
)

// The lines of spindump's and sample's reports. Counted call trees stand for the stacks of a
// thread, outermost frame first:
//
//	Thread 0x3461855    Thread name "x"    1000 samples (1-1000)    priority 4 (base 4)
//	1000  start + 462 (dyld + 21790) [0x113f6c51e]
//	  1000  CFRunLoopRun + 40 (CoreFoundation + 1072619) [0x7ff811fc1deb]
//	   *1000  ipc_mqueue_receive_continue + 0 (kernel + 335600) [0xffffff8000261ef0]
var (
	sampledLine = pattern{expr: `^\s+(?:\d+ )?Thread[ _](0x)?([0-9a-f]+)\s*(?:Thread name "([^"]*)")?`}
	treeLine    = pattern{expr: `^([ +!:|*]*)(\d+) +(.*?) +\[0x([0-9a-f]+)`}
)

// sampled tells a report that counts stacks from one of a crash.
func sampled(text string) bool {
	return strings.Contains(text, " samples (") || strings.Contains(text, "\nCall graph:\n")
}

// readSamples reads one report for each process.
func readSamples(ctx context.Context, name, text string, env *input.Env) ([]*darwin.Report, error) {
	var out []*darwin.Report
	room := darwin.NewRoom(len(text)) // of all processes
	for _, part := range processes(text) {
		r := &samples{textReport: *newTextReport(0)}
		r.room = room
		for line := range linesOf(ctx, part) {
			r.line(line)
		}
		r.endThread()
		room = r.room
		code := r.header["Architecture"] + r.header["Code Type"]
		arch, ok := darwin.Arch(env.Archs, code)
		if !ok || len(r.out.Threads) == 0 {
			continue
		}
		r.arch = arch
		r.finish()
		report := r.out // without the headers, of which each process may have many
		report.Fault = nil
		out = append(out, &report)
	}
	if len(out) == 0 {
		return nil, unknown(name, "")
	}
	out[len(out)-1].Issues = room.Issues(name)
	return out, nil
}

// processes cuts a text where the report of a process begins.
func processes(text string) (parts []string) {
	for {
		i := strings.Index(text[min(1, len(text)):], "\nProcess:")
		if i < 0 {
			return append(parts, text)
		}
		parts, text = append(parts, text[:i+1]), text[i+2:]
	}
}

// samples reads the report of a process.
type samples struct {
	textReport
	depth  int // of the last frame
	branch bool
}

func (r *samples) line(line string) {
	trimmed := strings.TrimSpace(line)
	switch {
	case r.images:
		r.image(strings.TrimPrefix(strings.ReplaceAll(strings.TrimSpace(line), "*0x", "0x"), "*"))
	case trimmed == "Binary Images:":
		r.endThread()
		r.images = true
	case sampledLine.compiled().MatchString(line):
		m := sampledLine.compiled().FindStringSubmatch(line)
		base := 10
		if m[1] != "" {
			base = 16
		}
		id, _ := strconv.ParseInt(m[2], base, 64)
		r.endThread()
		r.begin(target.Thread{ID: int(id), Name: m[3]})
	case r.at >= 0 && trimmed != "":
		r.frame(line)
	case r.at < 0:
		r.headerLine(line)
	}
}

// frame takes the next frame of the first path through the tree, which is the heaviest: where
// the tree goes back to a lesser depth, the path has ended.
func (r *samples) frame(line string) {
	m := treeLine.compiled().FindStringSubmatch(line)
	if m == nil || r.branch {
		return
	}
	if depth := len(m[1]); depth <= r.depth {
		r.branch = true
		return
	} else {
		r.depth = depth
	}
	pc, _ := hexNumber(m[4])
	l := named(m[3])
	l.PC, l.Outermost = pc, darwin.Outermost(l.Symbol)
	if t := &r.out.Threads[r.at]; r.room.Frames.Draw(1) {
		t.Listed = append(t.Listed, l)
	}
}

// named reads spindump's "f(int) + 12 (binary + 345)", and sample's "f(int)  (in binary) + 12".
func named(text string) (l target.Listed) {
	if i := strings.Index(text, "  (in "); i >= 0 {
		binary, off, _ := strings.Cut(text[i+len("  (in "):], ")")
		l.Module, text = binary, text[:i]+off
	} else if i := strings.LastIndex(text, " ("); i >= 0 {
		l.Module, _, _ = strings.Cut(strings.TrimSuffix(text[i+2:], ")"), " + ")
		text = text[:i]
	}
	if i := strings.LastIndex(text, " + "); i >= 0 {
		l.Offset, _ = strconv.ParseUint(text[i+3:], 10, 64)
		text = text[:i]
	}
	if text != "???" {
		l.Symbol = text
	}
	return l
}

// endThread turns the frames of the last thread around: listed are innermost frames first.
func (r *samples) endThread() {
	if r.at >= 0 {
		l := r.out.Threads[r.at].Listed
		slices.Reverse(l)
		if len(l) > 0 {
			l[0].Exact = true
		}
	}
	r.at, r.depth, r.branch = -1, -1, false
}
