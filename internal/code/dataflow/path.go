package dataflow

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// The bounds of the ways to a call: how many there are, and of how many blocks each.
const (
	maxCallPaths = 32
	maxPathLen   = 5
)

// CallTargets are where a call through a register goes, way by way; none where the target is no constant on some way
// to the call. Example: busybox's evaltree calls what one of several cases has put in x2.
//
//	case NCMD:   adrp x2,…; add x2,x2,#evalcommand; b call
//	case NAND:   ldr x20,[x20,#16]; adrp x2,…; add x2,x2,#evaltree; b call
//	call:        mov x0,x20; blr x2
func CallTargets(f *Function, site disasm.Addr) []disasm.Addr {
	b, _ := f.blocks.at(site.PC)
	if b == nil || !f.Complete || !carriedIn(f, site) {
		return nil
	}
	s := newCallPaths(f, site)
	for _, from := range f.blocks {
		s.pass(from, from.in, func(to uint64, _ *absint.State, how edge) {
			if !slices.Contains(s.ways[to], from) {
				s.ways[to] = append(s.ways[to], from)
			}
			s.guessed[to] = s.guessed[to] || how >= edgeTable
		})
	}
	ok := s.extend([]*block{b})
	if !ok || s.replay.steps > maxSteps {
		return nil
	}
	return s.found
}

// carriedIn tells whether the block of a call through a register finds the target in a register, and
// the ways to the block leave different ones there.
func carriedIn(f *Function, site disasm.Addr) bool {
	var whole, block absint.State
	var in cpu.Insn
	if !f.StateAt(site, &whole) || !f.an.One(site, &in) || !disasm.IndirectCall(&in) || in.Flags&cpu.FlagMemory != 0 {
		return false
	}
	if whole.RegisterTarget(&in, f.an.Arch).Kind != absint.Unknown || !StateInBlock(f, site, &block) {
		return false
	}
	v := block.RegisterTarget(&in, f.an.Arch)
	return v.Kind == absint.StartRelative && v.OfRegister()
}

// callPaths looks for the ways to a call, backward from the call's block.
type callPaths struct {
	fn      *Function
	site    disasm.Addr
	replay  explorer
	ways    map[uint64][]*block // by the beginning of a block, from where control comes
	guessed map[uint64]bool     // a jump table leads there
	found   []disasm.Addr
}

// newCallPaths makes an explorer of its own, which shares with the function what does not change.
func newCallPaths(f *Function, site disasm.Addr) *callPaths {
	fn, m := *f, f.interp
	fn.Tails, fn.exits, fn.BehindCalls, fn.AtLastCalls = nil, exits{}, "", ""
	fn.targets, fn.data = callTargets{}, map[uint64]uint64{}
	s := &callPaths{fn: f, site: site, ways: map[uint64][]*block{}, guessed: map[uint64]bool{}}
	s.replay = explorer{Function: &fn, m: &m, cursor: disasm.NewCursor(f.an.Code)}
	s.replay.graph = graph{Code: f.an.Code, conv: &f.an.conv, entry: f.Entry.PC, blocks: f.blocks, noReturn: map[uint64]bool{}}
	return s
}

// pass executes a block from a state, and yields where control goes on, and with which state.
func (s *callPaths) pass(b *block, in absint.Encoded, yield func(to uint64, st *absint.State, how edge)) {
	from := *b
	from.in = in
	s.replay.graph.leaving = func(to uint64, st *absint.State, how edge) { yield(to, st, how) }
	s.replay.visit(&from)
}

// extend looks for the ways that end with a path of blocks; false where the target of one remains
// unknown.
func (s *callPaths) extend(path []*block) bool {
	if s.replay.steps > maxSteps || len(s.found) > maxCallPaths {
		return false
	}
	in, possible := s.along(path)
	if !possible {
		return true
	}
	if target, ok := targetAt(entered(s.fn, s.site, in), s.site); ok {
		s.found = append(s.found, target)
		return true
	}
	first := path[0].start
	ways := s.ways[first]
	if len(path) == maxPathLen || len(ways) == 0 || s.guessed[first] || first == s.fn.Entry.PC {
		return false
	}
	for _, from := range ways {
		if slices.Contains(path, from) || !s.extend(slices.Insert(slices.Clone(path), 0, from)) {
			return false
		}
	}
	return true
}

// along is the state at the beginning of the last block of a path; false where no transfer leads from
// one to the next.
func (s *callPaths) along(path []*block) (in absint.Encoded, possible bool) {
	in = path[0].in
	for i, b := range path[:len(path)-1] {
		var next absint.State
		possible = false
		s.pass(b, in, func(to uint64, st *absint.State, _ edge) {
			switch {
			case to != path[i+1].start:
			case possible:
				next.Join(st)
			default:
				next.CopyFrom(st)
				possible = true
			}
		})
		if !possible {
			return in, false
		}
		in = s.replay.graph.states.keep(&next)
	}
	return in, true
}

// entered is a function with another state at the beginning of the block of a call.
func entered(f *Function, site disasm.Addr, in absint.Encoded) *Function {
	b, _ := f.blocks.at(site.PC)
	view, from := *f, *b
	from.in = in
	view.blocks = blocks{&from}
	return &view
}

// targetAt is where the call through a register at a site goes, if that is a constant, and no word
// that the program may write.
func targetAt(f *Function, site disasm.Addr) (to disasm.Addr, ok bool) {
	var st absint.State
	var in cpu.Insn
	if !f.StateAt(site, &st) || !f.an.One(site, &in) {
		return to, false
	}
	v := st.RegisterTarget(&in, f.an.Arch)
	if v.Base == absint.FromWritable {
		return to, false
	}
	return f.interp.CodeAt(v)
}

// callTargets are where the indirect calls of a function go, by site.
type callTargets map[uint64]callTarget

// callTarget is where an indirect call goes on some way to the call; unsure: on others it may go elsewhere.
type callTarget struct {
	to     disasm.Addr
	unsure bool
}

// note notes where a call goes, as a visit to its block found out.
func (c callTargets) note(site uint64, to disasm.Addr, known bool) {
	was, met := c[site]
	switch {
	case known && !met:
		c[site] = callTarget{to: to}
	case met && (!known || was.to != to):
		was.unsure = true
		c[site] = was
	}
}
