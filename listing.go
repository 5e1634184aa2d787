package backsight

import (
	"bytes"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/unwind"
)

// maxListed bounds the bytes that are decoded for a listing.
const maxListed = 1 << 20

// listing is q.Lines instructions around the place, each with its rule by src, nil for
// no rules.
func (q *Question) listing(p *report.Place, src unwind.RuleSource) []report.Line {
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
func (q *Question) rule(l *report.Line, src unwind.RuleSource) {
	if src == nil {
		return
	}
	at := Question{Image: q.Image, PC: l.Addr, Mode: q.Mode}
	query := at.query()
	l.Rule.Reset()
	l.HasRule = src.Rule(&query, &l.Rule) == unwind.Found
}
