package backsight

import (
	"bytes"
	"context"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Question is a place in a binary whose unwind rule is wanted. Addresses are
// image addresses.
type Question struct {
	Image *image.Image
	PC    uint64
	// Mode 0 is that of the function that begins nearest before PC, where the processor has two.
	Mode cpu.Mode
	// Call: PC is a return address; the frame waits for the call before it.
	Call bool
	// Lines is how many instructions to list around PC; 0: none.
	Lines int
	// Names may be nil.
	Names Symbolizer
}

// query is the question that the walker would ask.
func (q *Question) query() stackwalk.Query {
	out := stackwalk.Query{Image: q.Image, Arch: q.Image.Arch, PC: q.PC, Resume: q.PC, Mode: q.Mode, Exact: !q.Call}
	if q.Call {
		out.PC--
	}
	return out
}

// Explain asks every source of rules about a place, in the order of trust, and
// lists the instructions around it, each with its rule by the source that has the
// best answer. Once ctx has ended, names are left out. Where the image's file cannot be
// read any more, an issue says so, and what was not found by then is missing.
func (u *Unwinder) Explain(ctx context.Context, q Question) *report.Place {
	p := &report.Place{Image: q.Image, PC: q.PC, Call: q.Call}
	err := study.Guarded(q.Image, func() {
		q.Mode = max(q.Mode, nearest(q.Image, q.PC))
		u.explain(ctx, &q, p)
	})
	p.Mode = q.Mode
	p.Issues = append(p.Issues, unread(err)...)
	return p
}

// nearest is the mode of the function that begins nearest before an image address: addresses in backtraces have no mode bit.
func nearest(img *image.Image, pc uint64) (mode cpu.Mode) {
	if s, ok := img.Symbols.At(pc); ok {
		return s.Mode
	}
	study.Analysis().Modes(img, func(at uint64, m cpu.Mode) bool {
		if at <= pc {
			mode = m
		}
		return at < pc
	})
	return mode
}

func (u *Unwinder) explain(ctx context.Context, q *Question, p *report.Place) {
	query := q.query()
	var best, fallback stackwalk.RuleSource
	var second string
	for _, s := range u.sources {
		rules, ok := s.Source.(stackwalk.RuleSource)
		if !ok {
			continue
		}
		a := answer(s.Name, rules, query)
		switch {
		case len(a.Rules) == 0:
		case a.Rules[0].Flags&stackwalk.Fallback != 0:
			if fallback == nil { // a table of what holds at calls, say
				fallback, second = rules, s.Name
			}
		case best == nil:
			best, p.Source = rules, s.Name
		}
		p.Answers = append(p.Answers, a)
	}
	if best == nil && fallback != nil {
		best, p.Source = fallback, second
	}
	p.Lo, p.Hi, p.Bounds = bounds(&query)
	p.Lines = q.listing(p, best)
	if q.Names != nil {
		p.Issues = namePlace(ctx, q.Names, p, query.PC)
	}
}

// maxAnswers bounds the rules taken from one source.
const maxAnswers = 16

// answer asks one source until it has no more to say.
func answer(name string, src stackwalk.RuleSource, q stackwalk.Query) report.Answer {
	a := report.Answer{Source: name}
	for q.Try = 0; q.Try < maxAnswers; q.Try++ {
		var r stackwalk.Rule
		r.Reset()
		if v := src.Rule(&q, &r); v != unwind.Found {
			a.Verdict = v
			break
		}
		a.Rules = append(a.Rules, r)
	}
	if e, ok := src.(stackwalk.Explainer); ok {
		q.Try = 0
		a.Notes = e.Notes(&q)
	}
	return a
}

// bounds are those of the function around a place, image addresses, and how they are
// known: "" where they are not.
func bounds(q *stackwalk.Query) (lo, hi uint64, because string) {
	if s, ok := q.Image.Symbols.At(q.PC); ok && s.Size > 0 {
		return s.Addr, s.Addr + s.Size, "symbol"
	}
	study.FunctionRanges(q.Image, func(l, h uint64) bool {
		if l <= q.PC && q.PC < h {
			lo, hi, because = l, h, "frame description entry"
		}
		return because == ""
	})
	if because != "" {
		return lo, hi, because
	}
	if q.Arch.Decoder == nil {
		return 0, 0, ""
	}
	e := study.Analysis().Explain(q)
	if f := e.Believed(q.Image.Arch); f != nil && f.Entry <= q.PC && q.PC < f.End {
		return f.Entry, f.End, f.Origin + " entry, code analysis"
	}
	return 0, 0, ""
}

// namePlace names a place, by the address that it is looked up by, and what the calls and
// jumps of its listing go to.
func namePlace(ctx context.Context, names Symbolizer, p *report.Place, at uint64) []target.Issue {
	m := target.NewModule(p.Image.Path, p.Image, 0)
	issues := prepare(ctx, names, func(yield func(*target.Module, uint64) bool) {
		more := yield(m, at)
		for i := 0; more && i < len(p.Lines); i++ {
			if to, ok := goesTo(&p.Lines[i]); ok {
				more = yield(m, to)
			}
		}
	})
	if ctx.Err() != nil {
		return issues
	}
	p.Location = names.Lookup(m, at)
	for i := range p.Lines {
		l := &p.Lines[i]
		if to, ok := goesTo(l); ok {
			callee := names.Lookup(m, to)
			l.Target, l.TargetOffset = callee.Function, to-callee.Entry
		}
	}
	return issues
}

// goesTo is the image address that a call or jump states.
func goesTo(l *report.Line) (to uint64, ok bool) {
	return l.Insn.Target, (l.Insn.Op == cpu.OpCall || l.Insn.Op == cpu.OpJump) && l.Insn.Target != 0
}

// maxListed bounds the bytes that are decoded for a listing.
const maxListed = 1 << 20

// listing is q.Lines instructions around the place, each with its rule by src, nil for
// no rules.
func (q *Question) listing(p *report.Place, src stackwalk.RuleSource) []report.Line {
	if q.Lines <= 0 || q.Image.Arch.Decoder == nil {
		return nil
	}
	from, to := p.Lo, p.Hi
	if p.Bounds == "" || p.PC < from || p.PC-from > maxListed {
		from, to = q.PC, q.PC+maxListed
	}
	lines := q.decoded(from, to)
	for i := range lines {
		q.rule(&lines[i], src)
	}
	return lines
}

// decoded decodes from an address up to another, image addresses both, and keeps the
// lines around the place.
func (q *Question) decoded(from, to uint64) []report.Line {
	var lines []report.Line
	here := 0
	for pc := from; pc < to; {
		code := q.Image.Segments.Code(pc)
		var buf [2]cpu.Insn // an instruction and its delay slot
		if q.Image.Arch.Decoder.Decode(code, pc, q.Mode, buf[:]) == 0 || int(buf[0].Len) > len(code) {
			break
		}
		n := uint64(buf[0].Len)
		if pc <= q.PC {
			here = len(lines)
		} else if len(lines) >= here+q.Lines {
			break
		}
		lines = append(lines, report.Line{Addr: pc, Code: bytes.Clone(code[:n]), Insn: buf[0]})
		pc += n
	}
	lines = lines[max(0, here-q.Lines/2):]
	return lines[:min(len(lines), q.Lines)]
}

// rule asks for the rule before an instruction.
func (q *Question) rule(l *report.Line, src stackwalk.RuleSource) {
	if src == nil {
		return
	}
	at := Question{Image: q.Image, PC: l.Addr, Mode: q.Mode}
	query := at.query()
	l.Rule.Reset()
	l.HasRule = src.Rule(&query, &l.Rule) == unwind.Found
}
