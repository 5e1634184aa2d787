package rows

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/stepping"
	"github.com/backsight/backsight/unwind"
)

// asker keeps what asking for rules costs.
type asker struct {
	budget budget.Budget
	code   []image.Range
	key    []byte // scratch
}

// asked bounds the work for the places that no compiled table has, in instructions that code
// analysis executes: a function with alloca takes a few thousand for each of its own.
func asked(img *image.Image) budget.Budget {
	const floor, perByte = 1 << 28, 2000
	return budget.New("instructions analysed", floor, perByte*img.Segments.LoadedBytes())
}

// padding is the most that compilers fill up between functions.
const padding = 15

// gap asks for the rules from lo up to hi, where they lie in code. What fills up the spaces
// between functions is left alone: no frame is ever there. A function of a few instructions is
// as short.
func (l *lister) gap(lo, hi uint64) {
	for _, c := range l.ask.code {
		from, to := max(lo, c.Addr), min(hi, c.Addr+c.Size)
		if from < to && !l.filler(from, to) {
			l.code(from, to)
		}
	}
}

// filler tells whether nothing but what fills up the space between functions lies from an
// address up to another.
func (l *lister) filler(at, end uint64) bool {
	if end-at > padding {
		return false
	}
	var buf [1]cpu.Insn
	for at < end {
		if l.img.Arch.Decoder.Decode(l.img.Segments.Code(at), at, l.mode, buf[:]) == 0 || buf[0].Flags&cpu.FlagPadding == 0 {
			return false
		}
		at += uint64(buf[0].Len)
	}
	return true
}

// code asks for the rules at the instructions from one address up to another.
func (l *lister) code(at, end uint64) {
	l.reached, l.denial = l.fallsTo(at), denial{}
	for begin := at; begin <= at && at < end && l.ctx.Err() == nil && l.ask.budget.Left() > 0; { // an address behind the last of 2⁶⁴ is 0
		l.enter(at)
		var buf [2]cpu.Insn // an instruction and its delay slot
		code := l.img.Segments.Code(at)
		n := l.img.Arch.Decoder.Decode(code, at, l.mode, buf[:])
		if n == 0 || int(buf[0].Len) > len(code) {
			at += l.img.Arch.InsnAlignIn(l.mode)
			continue
		}
		step := stepping.StepOf(buf[:n], at)
		next := l.clamp(at, step.Next)
		l.instruction(at, min(next, end), buf[0].Op == cpu.OpCall)
		l.denial.over(l.img.Arch, &buf[0])
		if l.reached {
			l.jump(&buf[0])
		}
		l.reached = l.reached && !buf[0].Ends(l.img.Arch.PC)
		at = next
	}
}

// instruction asks for the rule before an instruction and, if that is a call, for the rule
// while the call is running, which holds at all bytes but the first.
func (l *lister) instruction(at, next uint64, call bool) {
	before, found := l.rule(stackwalk.Query{PC: at, Resume: at, Exact: true})
	hi := next
	if call {
		hi = min(at+1, next)
	}
	if found {
		l.add(span{at, hi, before, l.mode})
	}
	if !call || hi >= next {
		return
	}
	if during, found := l.rule(stackwalk.Query{PC: next - 1, Resume: next}); found {
		l.add(span{hi, next, during, l.mode})
	}
}

// hints are flags of rules that are no more than that.
const hints = stackwalk.Fallback | stackwalk.Inferred

// rule is the number of the first rule that a source has which is more than a hint.
func (l *lister) rule(q stackwalk.Query) (number int, found bool) {
	q.Image, q.Arch, q.Mode = l.img, l.img.Arch, l.mode
	l.denial.entry = 0
	for i := range l.sources {
		s := &l.sources[i]
		l.scratch.Reset()
		q.Cost = 0
		v := s.Rule(&q, &l.scratch)
		l.ask.budget.Draw(int(min(q.Cost, uint64(l.ask.budget.Left()))))
		switch {
		case v == unwind.EndOfStack:
			l.scratch.Reset()
			l.scratch.RA.Kind = stackwalk.Undefined
			return l.number(&l.scratch, s.RuleSource.Method().String()), true
		case v == unwind.Found && l.believed(l.scratch.Flags) && !l.denial.of(l.img.Arch, &l.scratch):
			return l.number(&l.scratch, s.RuleSource.Method().String()), true
		}
	}
	return 0, false
}

// appendKey appends all that a rule says.
func appendKey(b []byte, r *stackwalk.Rule, flags stackwalk.RuleFlags, source string) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(flags))
	b = append(append(b, source...), 0)
	b = appendRegister(b, &r.CFA)
	b = appendRegister(b, &r.RA)
	for i := range r.N {
		b = appendRegister(b, &r.Regs[i])
	}
	return b
}

func appendRegister(b []byte, r *stackwalk.RegRule) []byte {
	b = append(b, byte(r.Kind), byte(r.Reg), byte(r.Base))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Off))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Add))
	if r.Kind == stackwalk.Expression || r.Kind == stackwalk.ValExpression {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(r.Expr)))
		b = append(b, r.Expr...)
	}
	return b
}
