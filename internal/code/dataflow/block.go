package dataflow

import (
	"sort"
	"unsafe"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// edge says how control comes to a block, from the most to the least believable.
type edge uint8

const (
	edgeEntry        edge = iota
	edgeJump              // a jump or branch, or plain falling through
	edgeCall              // falling through a call, which may never return
	edgeTable             // an element of a jump table
	edgeUnsizedTable      // the same, where the table's size is guessed
	edgeGap               // code that nothing known jumps to, behind an unresolved jump
	edges
)

// block is a run of instructions entered at its start only.
type block struct {
	start, end uint64
	mode       cpu.Mode
	via        edge
	afterCall  uint64 // site of the call that falls through into the block, 0 if none
	place      uint32 // in the queue, from 1 on; 0: not there
	in         absint.Encoded
	sp         absint.Value // SP in that state
}

func (b *block) addr() disasm.Addr { return disasm.Addr{PC: b.start, Mode: b.mode} }

// bytes is the memory that the block takes.
func (b *block) bytes() int {
	return int(unsafe.Sizeof(*b)) + len(b.in)
}

// blocks are sorted by start.
type blocks []*block

// at returns the block that holds pc, and the block's index; nil, and the index at which to insert
// a block that begins at pc, where there is none.
func (bs blocks) at(pc uint64) (*block, int) {
	i := sort.Search(len(bs), func(i int) bool { return bs[i].start > pc })
	if i > 0 && (pc < bs[i-1].end || pc == bs[i-1].start) {
		return bs[i-1], i - 1
	}
	return nil, i
}

// nextStart is the start of the block behind b.
func (bs blocks) nextStart(b *block) uint64 {
	i := sort.Search(len(bs), func(i int) bool { return bs[i].start > b.start })
	if i < len(bs) {
		return bs[i].start
	}
	return ^uint64(0)
}

// insert adds a block at an index.
func (bs *blocks) insert(i int, b *block) {
	*bs = append(*bs, nil)
	copy((*bs)[i+1:], (*bs)[i:])
	(*bs)[i] = b
}

// kilobytes is the memory that the blocks take, at least 1.
func (bs blocks) kilobytes() int {
	n := 0
	for _, b := range bs {
		n += b.bytes()
	}
	return 1 + n>>10
}
