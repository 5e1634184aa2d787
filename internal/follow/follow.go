// Package follow cuts a console's text, as it comes, into pieces that have whole reports of crashes.
package follow

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight/input"
)

// Quiet is behind which time without a line of it a report has ended, whatever else is printed. It may have ended before: its
// form has an end, or another report begins.
const Quiet = 2 * time.Second

// tail is how long what is printed behind a report goes with it: Linux on x86 shows the registers again, which would begin
// another. All other text that is in no report is kept for Quiet, as it may begin one.
const tail = Quiet / 2

// Bounds of what is kept of a console that does not pause, in bytes: text that is in no report, what came before it is looked
// at again, and all of a report with the text between its lines.
const (
	maxLoose  = 64 << 10
	lookEvery = 1 << 20
	maxKept   = 16 << 20
)

// Follower follows one console. Nothing is cut in the middle of a report that is not larger than maxKept.
type Follower struct {
	Reports func(text []byte) input.Reports
	Pause   time.Duration // between two looks, at the most
	text    []byte
	came    []arrival // of text, in order
	looked  time.Time
	len     int // of text, when that was looked at
}

// arrival says when the text up to an offset came.
type arrival struct {
	to int
	at time.Time
}

// arrivalsEvery is how exact arrivals are: it bounds their number.
const arrivalsEvery = 10 * time.Millisecond

// Portion is text that has whole reports, "" for none.
type Portion struct {
	Text []byte
	Read func(ctx context.Context) (input.Stream, error) // its reports; nil: they were not yet read
}

// Add takes text that came now, and returns the piece before it that is whole, if there is one.
func (f *Follower) Add(text []byte, now time.Time) (p Portion) {
	if len(text) == 0 {
		return p
	}
	if len(f.text) == 0 {
		f.looked, f.len = now, 0
	}
	f.text = append(f.text, text...)
	if n := len(f.came); n > 0 && now.Sub(f.came[n-1].at) < arrivalsEvery {
		f.came[n-1].to = len(f.text)
	} else {
		f.came = append(f.came, arrival{len(f.text), now})
	}
	if wait := f.Pause * time.Duration(1+f.len/lookEvery); now.Sub(f.looked) < wait && len(f.text)-f.len < max(lookEvery, f.len/2) {
		return p // a look takes its time, in proportion to the text
	}
	return f.look(now)
}

// look cuts off what is whole, and what is in no report and too old, or too much, to begin one.
func (f *Follower) look(now time.Time) (p Portion) {
	lines := bytes.LastIndexAny(f.text, "\r\n") + 1
	if len(f.text)-lines > maxLoose { // no line is so long
		lines = len(f.text)
	}
	reports := f.Reports(f.text[:lines])
	found := reports.Extents
	whole, behind, keep, n := 0, 0, Quiet, 0
	for i, r := range found {
		behind = max(behind, r.To)
		if !f.over(found, i, now) {
			break
		}
		if i+1 == len(found) || found[i+1].From >= behind {
			whole, n = behind, i+1
		}
		if !r.Ended {
			keep = tail
		}
	}
	p.Text = slices.Clone(f.text[:whole])
	p.Read = func(ctx context.Context) (input.Stream, error) { return reports.Open(ctx, n) }
	next := lines // report
	if i := slices.IndexFunc(found, func(r input.Extent) bool { return r.From >= whole }); i >= 0 {
		next = found[i].From
	}
	f.drop(max(whole, min(next, max(f.before(now.Add(-keep)), lines-maxLoose))))
	f.looked, f.len = now, len(f.text)
	return p
}

// over tells whether a report has ended, or has to.
func (f *Follower) over(found []input.Extent, i int, now time.Time) bool {
	r := &found[i]
	full := len(f.text) > maxKept
	far := len(f.text)-r.To > maxLoose // behind the lines that may stand within a report
	return r.Ended || far || now.Sub(f.arrived(r.To-1)) >= Quiet || full && (i+1 < len(found) || len(f.text)-r.From > maxKept)
}

// arrived is when the byte at an offset came.
func (f *Follower) arrived(at int) time.Time {
	i, _ := slices.BinarySearchFunc(f.came, at, func(a arrival, at int) int { return a.to - at - 1 })
	return f.came[i].at
}

// before is how much of the text came before a time.
func (f *Follower) before(t time.Time) int {
	i, _ := slices.BinarySearchFunc(f.came, t, func(a arrival, t time.Time) int { return a.at.Compare(t) })
	if i == 0 {
		return 0
	}
	return f.came[i-1].to
}

// Rest is all text, where the console pauses or ends: a report comes without pauses.
func (f *Follower) Rest() (p Portion) {
	p.Text = f.text
	f.text, f.came = nil, nil
	return p
}

// drop forgets the first n bytes.
func (f *Follower) drop(n int) {
	f.text = append(f.text[:0], f.text[n:]...)
	f.came = slices.DeleteFunc(f.came, func(a arrival) bool { return a.to <= n })
	for i := range f.came {
		f.came[i].to -= n
	}
}

// Len is how many bytes are kept.
func (f *Follower) Len() int { return len(f.text) }

// Printable is text without the bytes that only noise on a line makes. Bytes that are no UTF-8 are
// left as they are: some devices print GBK.
func Printable(text []byte) []byte {
	return slices.DeleteFunc(text, func(c byte) bool {
		return c < ' ' && !strings.ContainsRune("\r\n\t\x1b", rune(c)) || c == 0x7f
	})
}
