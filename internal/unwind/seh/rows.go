package seh

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/pdata"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Rows calls yield for each instruction of the functions that the tables list, in their order, until yield returns false. A call has one
// rule while it runs and before: none is part of what makes or takes a frame.
func (s Source) Rows(img *image.Image, yield func(lo, hi uint64, rule *stackwalk.Rule) bool) {
	done := uint64(0) // entries may overlap in a damaged file
	pdata.Each(img, func(f pdata.Function) bool {
		at := max(f.Lo, done)
		done = max(done, f.Hi)
		return s.rowsOf(img, at, f.Hi, yield)
	})
}

// rowsOf calls yield for the instructions from one address up to another.
func (s Source) rowsOf(img *image.Image, at, end uint64, yield func(lo, hi uint64, rule *stackwalk.Rule) bool) bool {
	var buf [16]cpu.Insn
	for at < end {
		code := img.Segments.Code(at)
		n := img.Arch.Decoder.Decode(code[:min(uint64(len(code)), end-at)], at, 0, buf[:])
		if n == 0 {
			n, buf[0].Len = 1, uint8(img.Arch.InsnAlignIn(0))
		}
		for i := range n {
			var rule stackwalk.Rule
			rule.Reset()
			q := stackwalk.Query{Image: img, Arch: img.Arch, PC: at, Resume: at, Exact: true}
			next := min(at+uint64(buf[i].Len), end)
			if v := s.Rule(&q, &rule); v == unwind.Found && !yield(at, next, &rule) {
				return false
			}
			at = next
		}
	}
	return true
}
