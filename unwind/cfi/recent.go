package cfi

import (
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// recent keeps the rules of places that were asked for, one for each slot: walkers of
// many stacks come through the same places of an image. Most rules have a packed
// form; others are not kept. Shards have a lock each, for walkers that run together.
type recent [64]shard

// shard: with 64 of them there are 4,096 slots; profiles of clang come through 3,800
// places in all of its images.
type shard struct {
	mu    sync.Mutex
	slots [64]answer
}

type answer struct {
	pc, start uint64
	rule      unwind.Packed
	used      bool
}

// lock locks the shard where the answer for pc is, if there is one, and returns the
// slot: by the golden ratio's bits times the address.
func (c *recent) lock(pc uint64) (*shard, *answer) {
	h := pc * 0x9e37_79b9_7f4a_7c15 >> 52
	s := &c[h>>6]
	s.mu.Lock()
	return s, &s.slots[h&63]
}

// find writes the rule of pc.
func (c *recent) find(arch *cpu.Arch, pc uint64, out *unwind.Rule) bool {
	s, slot := c.lock(pc)
	a := *slot
	s.mu.Unlock()
	if !a.used || a.pc != pc {
		return false
	}
	a.rule.Unpack(arch, out)
	out.Start, out.Flags = a.start, out.Flags|unwind.StartStated
	return true
}

// keep keeps what run found. The end of the stack is more than its packed form says.
func (c *recent) keep(arch *cpu.Arch, pc uint64, r *unwind.Rule) {
	p, ok := unwind.Pack(arch, r)
	if !ok || r.RA.Kind == unwind.Undefined {
		return
	}
	s, slot := c.lock(pc)
	*slot = answer{pc, r.Start, p, true}
	s.mu.Unlock()
}
