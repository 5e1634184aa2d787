package code

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/unwind"
)

// TestNextAnswersCostNothing: a search finds all answers for a place, and is paid for once. In large
// functions of Rust programs for ARM one search costs a quarter of what a walk may.
func TestNextAnswersCostNothing(t *testing.T) {
	img := codetest.Program{CPU: "x86_64", Listing: `
	1000 <f>:
		1000: 74 02  je  1004
		1002: 5b     pop %rbx
		1003: c3     ret
		1004: 58     pop %rax
		1005: c3     ret`}.Image(t)
	q := stackwalk.Query{Image: img, Arch: img.Arch, PC: 0x1000, Resume: 0x1000, Exact: true}
	var first uint64
	for src := New(nil); ; q.Try++ {
		var r stackwalk.Rule
		r.Reset()
		if src.Rule(&q, &r) != unwind.Found {
			break
		}
		if q.Try == 0 {
			first = q.Cost
		}
	}
	if first == 0 || q.Try < 2 || q.Cost != first {
		t.Errorf("%d answers cost %d, the first one %d", q.Try, q.Cost, first)
	}
}
