package code

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/unwind"
)

// TestMillicode: helpers that save registers run into one another; how large the frame is at
// the end, t1 says. Each frame is an answer, and none has an entry that is known to be the
// point's.
func TestMillicode(t *testing.T) {
	img := codetest.Program{CPU: "riscv64", Listing: `
		1b0e <f>:
		1b38 <g>:
			1b0e: 23a002ef  jal  t0,1d48
			1b12: 6105      addi sp,sp,32
			1b14: 8082      ret
			1b38: 206002ef  jal  t0,1d3e
			1b3c: 6145      addi sp,sp,48
			1b3e: 8082      ret
			1d3e: 7159      addi sp,sp,-112
			1d40: 4311      li   t1,4
			1d42: e0d2      sd   s4,64(sp)
			1d44: e4ce      sd   s3,72(sp)
			1d46: a019      j    1d4c
			1d48: 7159      addi sp,sp,-112
			1d4a: 4315      li   t1,5
			1d4c: e8ca      sd   s2,80(sp)
			1d4e: eca6      sd   s1,88(sp)
			1d50: f0a2      sd   s0,96(sp)
			1d52: f486      sd   ra,104(sp)
			1d54: 0312      slli t1,t1,4
			1d56: 911a      add  sp,sp,t1
			1d58: 8282      jr   t0`}.Image(t)
	s := New(nil)
	frames := map[int64]bool{}
	q := exact(img, 0x1d58, 0)
	for ; q.Try < 8; q.Try++ {
		var r stackwalk.Rule
		if s.Rule(&q, &r) != unwind.Found {
			break
		}
		frames[r.CFA.Off] = true
		if r.Flags&(stackwalk.FromEntry|stackwalk.Straight) != 0 {
			t.Errorf("%s by an entry that is known", r.Format(img.Arch))
		}
	}
	if !frames[32] || !frames[48] {
		t.Errorf("frames of %v bytes, want 32 and 48", frames)
	}
}
