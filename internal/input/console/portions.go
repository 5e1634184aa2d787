package console

import (
	"context"
	"io"
	"slices"
	"sort"

	"github.com/backsight/backsight/input"
)

// A log is read in portions, so that the memory for it does not grow with it: the reports of a portion are given before more is read.
// What a report says may depend on lines around it. A portion therefore has more of the log than the reports that it gives:
//
//	│ back │ reports that are given      │ ahead │ not yet read
//	│      skip                         to      │
//	       the next portion begins:  │ back │ …
//
// No report, and no list of threads of one program, is cut in two: where one reaches over the end, the portion grows.

const (
	// wholeLog is what of a log is looked at as a whole: logs that people send are smaller.
	wholeLog = 1 << 20
	// portion is what of a larger log is looked at at a time, in bytes; emptyPortion the most where those before had no report.
	portion, emptyPortion = 512 << 10, 4 << 20
	// maxPortion bounds a portion, and so the largest report.
	maxPortion = 16 << 20
	// ahead is how much is known of what follows the reports that are given: a panic completes the chain of the oops before.
	ahead = 32 << 10
	// back is how much in front of them is read again, to know which lines repeat others or belong to an open report, maxBack the most.
	back, maxBack = 32 << 10, 128 << 10
)

// portions are those of one log.
type portions struct {
	from    io.Reader
	env     *input.Env
	readers []Reader
	signs   *signs // of readers
	family  family
	size    int    // how much is looked at next
	text    []byte // what was read and is still needed
	part    part   // of text
	skip    int    // the line of text in front of which reports were given before
	last    *Log   // the portion before
	given   int    // reports, in all
	broken  error  // why reading broke off, nil: the log ended
	done    bool   // all was read and given
	ended   bool   // all was read
}

// newPortions are those of the log that from has.
func newPortions(from io.Reader, env *input.Env, readers []Reader) *portions {
	p := &portions{from: from, env: env, readers: readers, signs: signsOf(env, readers), size: wholeLog}
	if len(env.RAM) > 0 { // memory completes the reports of all
		p.size = maxPortion
	}
	return p
}

// fill reads until there are so many bytes of text, or all.
func (p *portions) fill(size int) {
	const atOnce = 64 << 10
	for len(p.text) < size && !p.ended {
		p.text = slices.Grow(p.text, min(size-len(p.text), max(atOnce, len(p.text))))
		n, err := p.from.Read(p.text[len(p.text):min(cap(p.text), size)])
		p.text = p.text[:len(p.text)+n]
		if p.ended = err != nil; err != nil && err != io.EOF {
			p.broken = err
		}
	}
}

// seen is how much was read.
func (p *portions) seen() int { return p.part.bytes + len(p.text) }

// found is a report, and its lines.
type found struct {
	*Report
	from, to int
}

// next reads the next portion and adds its reports to s.
func (p *portions) next(ctx context.Context, s *stream) error {
	for refused := len(s.refused); ; p.size = min(4*p.size, maxPortion) {
		s.refused = s.refused[:refused]
		p.fill(p.size)
		log := p.log(ctx, s.ram)
		list, of, err := p.read(ctx, log, s)
		if err != nil {
			return err
		}
		to, next := p.cut(log, list, p.size >= maxPortion)
		if to > p.skip || p.ended {
			p.give(s, log, list, to)
			p.advance(log, to, next)
			if p.family = of; len(list) > 0 {
				p.size = portion
			} else {
				p.size = max(portion, min(2*p.size, emptyPortion))
			}
			return nil
		}
	}
}

// log is the text that was read.
func (p *portions) log(ctx context.Context, ram *input.RAM) *Log {
	at := p.part
	at.most = maxReports(p.seen()) - p.given
	if p.last != nil {
		at.before = p.last.memo
		at.most += p.skip // each of those lines may begin a report again
	}
	log := newLog(ctx, p.text, p.signs, at)
	log.ram = ram
	return log
}

// read reads the reports of a portion, those in front of skip again.
func (p *portions) read(ctx context.Context, log *Log, s *stream) (list []found, of family, err error) {
	left := maxReports(p.seen()) - p.given
	of, err = eachReport(ctx, log, p.env, p.readers, p.family, func(r *Report, next int) (more bool) {
		if r.Line >= p.skip {
			if left--; left < 0 {
				s.refused = append(s.refused, log.TooMany(r.Line))
				return false
			}
		}
		list = append(list, found{r, r.Line, next})
		return true
	})
	return list, of, err
}

// gap are lines that are in no report.
type gap struct{ from, to int }

// gaps are those in front of line end.
func gaps(list []found, end int) (all []gap) {
	last := map[any]int{} // the last report of a program
	for i := range list {
		if space := list[i].Space; space != nil {
			last[space] = i
		}
	}
	behind, open := 0, -1 // the line behind the reports before, and the last report of their programs
	for i := 0; ; i++ {
		to := end
		if i < len(list) {
			to = min(to, list[i].from)
		}
		if to >= behind && i > open {
			all = append(all, gap{behind, to})
		}
		if to == end {
			return all
		}
		behind, open = max(behind, list[i].to), max(open, last[list[i].Space])
	}
}

// cut is the line up to which a portion's reports are given, and at which the next begins. now: the portion cannot grow.
func (p *portions) cut(log *Log, list []found, now bool) (to, next int) {
	if p.ended {
		return log.lines, log.lines
	}
	end := log.lineBefore(len(log.text) - ahead)
	all := gaps(list, end)
	to = all[len(all)-1].to
	if to <= p.skip && now {
		return max(end, p.skip+1), max(end, p.skip+1)
	}
	from := log.lineBefore(log.offset(to) - back)
	for _, g := range slices.Backward(all) {
		if g.from <= from || g.from == 0 {
			next = max(g.from, min(from, g.to))
			break
		}
	}
	if log.offset(to)-log.offset(next) > maxBack {
		next = to
	}
	return to, next
}

// give adds the reports of a portion that were not given before.
func (p *portions) give(s *stream, log *Log, list []found, to int) {
	perLine := len(log.text)/max(log.lines, 1) + 1 // bytes
	for _, r := range list {
		if r.from >= p.skip && r.from < to {
			p.given++
			s.bytes += (r.to - r.from) * perLine
			s.add(r.Report)
		}
	}
	if len(s.snaps) == 0 && s.foreign == "" {
		s.foreign = unsupportedIn(log)
	}
}

// advance drops what is not needed any more of a portion of which the reports in front of line to were given. The next begins at next.
func (p *portions) advance(log *Log, to, next int) {
	p.skip, p.done = to-next, p.ended
	n := log.offset(next)
	p.part.bytes, p.part.line = p.part.bytes+n, p.part.line+next
	p.text = append(p.text[:0], p.text[n:]...)
	p.last = log
}

// lineBefore is a line that begins at a place in the text, or not far before.
func (l *Log) lineBefore(at int) int {
	return max(0, sort.SearchInts(l.starts, at+1)-1) * apart
}
