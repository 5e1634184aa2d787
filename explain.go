package backsight

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/unwind"
)

// Question is a place in a binary whose unwind rule is wanted. Addresses are
// image addresses.
type Question struct {
	Image *image.Image
	PC    uint64
	Mode  cpu.Mode
	// Call: PC is a return address; the frame waits for the call before it.
	Call bool
	// Lines is how many instructions to list around PC; 0: none.
	Lines int
	// Names may be nil.
	Names *symbol.Symbolizer
}

// Explain asks every source of rules about a place, in the order of trust, and
// lists the instructions around it, each with its rule by the source that has the
// best answer.
func Explain(q Question) *render.Place {
	all, _ := sources()
	query := q.query(q.PC)
	p := &render.Place{Image: q.Image, PC: q.PC, Mode: q.Mode, Call: q.Call}
	if q.Names != nil {
		p.Location = q.Names.Lookup(q.Image, query.PC)
	}
	var best unwind.RuleSource
	for _, s := range all {
		rules, ok := s.Source.(unwind.RuleSource)
		if !ok {
			continue
		}
		a := answer(s.name, rules, query)
		if len(a.Rules) > 0 && best == nil {
			best, p.Source = rules, s.name
		}
		p.Answers = append(p.Answers, a)
	}
	p.Lo, p.Hi, p.Bounds = bounds(q, all)
	p.Lines = q.listing(p, best)
	return p
}

// query is the question that the walker would ask.
func (q *Question) query(pc uint64) unwind.Query {
	out := unwind.Query{Image: q.Image, Arch: q.Image.Arch, PC: pc, Resume: pc, Mode: q.Mode, Exact: !q.Call}
	if q.Call {
		out.PC--
	}
	return out
}

// maxAnswers bounds the rules taken from one source.
const maxAnswers = 16

// answer asks one source until it has no more to say.
func answer(name string, src unwind.RuleSource, q unwind.Query) render.Answer {
	a := render.Answer{Source: name}
	for q.Try = 0; q.Try < maxAnswers; q.Try++ {
		var r unwind.Rule
		r.Reset()
		if v := src.Rule(&q, &r); v != unwind.Found {
			a.Verdict = v
			break
		}
		a.Rules = append(a.Rules, r)
	}
	if c, ok := src.(*code.Source); ok {
		q.Try = 0
		a.Notes = notes(c.Explain(&q), q.Arch)
	}
	return a
}

// notes puts the derivations of code analysis into words. Entries from which
// control does not come to the place can be many; they are only counted.
func notes(e code.Explanation, arch *cpu.Arch) (lines []string) {
	elsewhere := 0
	for i := range e.Forward {
		if f := &e.Forward[i]; f.Reached {
			lines = append(lines, forward(f, arch))
		} else {
			elsewhere++
		}
	}
	if elsewhere > 0 {
		lines = append(lines, fmt.Sprintf("%d other entries tried do not lead here", elsewhere))
	}
	for i := range e.Exits {
		x := &e.Exits[i]
		s := "backward from a return"
		if x.Tail {
			s = "backward from a tail call"
		}
		if x.Calls > 0 {
			s += fmt.Sprintf(" behind %d calls", x.Calls)
		}
		if x.Confirmed {
			s += ", confirmed"
		}
		lines = append(lines, s+": "+x.Rule.Format(arch))
	}
	if e.HasABI {
		lines = append(lines, "by the ABI document's method: "+e.ABI.Format(arch))
	}
	if e.Outermost {
		lines = append(lines, "the program starts here")
	}
	return lines
}

func forward(f *code.Forward, arch *cpu.Arch) string {
	s := fmt.Sprintf("forward from %#x (%s), code to %#x, %d blocks", f.Entry, f.Origin, f.End, f.Blocks)
	for _, w := range []struct {
		is   bool
		word string
	}{{f.Complete, "complete"}, {f.Balanced, "balanced"}, {f.Unbalanced, "unbalanced"}} {
		if w.is {
			s += ", " + w.word
		}
	}
	if f.HasRule {
		s += ": " + f.Rule.Format(arch)
	}
	return s
}

// bounds are those of the function around a place, and how they are known.
func bounds(q Question, all []source) (lo, hi uint64, because string) {
	pc := q.query(q.PC).PC
	if s, ok := q.Image.SymbolAt(pc); ok && s.Size > 0 {
		return s.Addr, s.Addr + s.Size, "symbol"
	}
	for _, s := range all {
		switch src := s.Source.(type) {
		case *cfi.Source:
			src.FunctionRanges(q.Image, func(l, h uint64) bool {
				if l <= pc && pc < h {
					lo, hi, because = l, h, "frame description entry"
				}
				return because == ""
			})
		case *code.Source:
			if because != "" {
				return lo, hi, because
			}
			query := q.query(q.PC)
			e := src.Explain(&query)
			if f := e.Believed(q.Image.Arch); f != nil && f.Entry <= pc && pc < f.End {
				return f.Entry, f.End, f.Origin + " entry, code analysis"
			}
		}
	}
	return lo, hi, because
}

// listing decodes the function, or what follows the place where its bounds are not
// known, and keeps the lines around the place.
func (q *Question) listing(p *render.Place, best unwind.RuleSource) []render.Line {
	if q.Lines <= 0 || q.Image.Arch.Decoder == nil {
		return nil
	}
	from, to := p.Lo, p.Hi
	if p.Bounds == "" || p.PC < from || p.PC-from > maxListed {
		from, to = q.PC, q.PC+maxListed
	}
	var lines []render.Line
	here := 0
	for pc := from; pc < to; {
		code := q.Image.Code(pc)
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
		lines = append(lines, render.Line{Addr: pc, Code: code[:n], Insn: buf[0]})
		pc += n
	}
	lines = lines[max(0, here-q.Lines/2):]
	lines = lines[:min(len(lines), q.Lines)]
	for i := range lines {
		q.rule(&lines[i], best)
	}
	return lines
}

// maxListed bounds the bytes that are decoded for a listing.
const maxListed = 1 << 20

// rule asks for the rule before an instruction, and names what it goes to.
func (q *Question) rule(l *render.Line, src unwind.RuleSource) {
	if src != nil {
		at := Question{Image: q.Image, Mode: q.Mode}.exactly(l.Addr)
		l.Rule.Reset()
		l.HasRule = src.Rule(&at, &l.Rule) == unwind.Found
	}
	if q.Names != nil && (l.Insn.Op == cpu.OpCall || l.Insn.Op == cpu.OpJump) && l.Insn.Target != 0 {
		to := q.Names.Lookup(q.Image, l.Insn.Target)
		l.Target, l.TargetOffset = to.Function, l.Insn.Target-to.Entry
	}
}

func (q Question) exactly(pc uint64) unwind.Query { q.Call = false; return q.query(pc) }
