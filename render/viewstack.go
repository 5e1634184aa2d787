package render

import (
	"fmt"
	"strconv"

	"github.com/backsight/backsight/internal/stackmap"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
)

// wordView is a word of the stack, or several that say nothing.
type wordView struct {
	Label, Addr, Value, Kind, Note string
	Frame                          int
}

// minRun is how many words of one value, of no meaning, are one line.
const minRun = 3

// viewStack shows at most limit words of a thread's stack; equal ones that mean nothing
// share a line. about says which part of the stack it is.
func viewStack(r *report.Report, th *report.Thread, limit, digits int) (out []wordView, about string) {
	words := stackmap.Of(r.Snapshot, th, limit)
	if len(words) == 0 {
		return nil, ""
	}
	last := -2
	for i := 0; i < len(words); {
		w := &words[i]
		n := 1
		for i+n < len(words) && w.Kind == stackmap.Plain && words[i+n].Kind == w.Kind && words[i+n].Value == w.Value && words[i+n].Frame == w.Frame {
			n++
		}
		if n < minRun {
			n = 1
		}
		v := wordView{Addr: address(w.Addr, digits), Value: address(w.Value, digits), Kind: string(w.Kind), Note: typeset.Text(w.Note), Frame: w.Frame}
		if n > 1 {
			v.Note = fmt.Sprintf("%d times", n)
		}
		if w.Frame != last && w.Frame >= 0 {
			v.Label = "#" + strconv.Itoa(w.Frame)
		}
		last = w.Frame
		out = append(out, v)
		i += n
	}
	return out, fmt.Sprintf("%d words from SP on", len(words))
}
