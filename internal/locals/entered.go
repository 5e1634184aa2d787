package locals

import (
	"debug/dwarf"
	"sync"

	"github.com/backsight/backsight/internal/die"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/symbol"
)

// Entered is what registers, by their DWARF numbers, held when a function was entered. What is not
// known is not in it.
type Entered map[uint64]uint64

// of looks registers up for a function that was entered by the call which its caller waits for. It
// finds none where a jump may have entered the function again since.
func (n Entered) of(sc symbol.Scope) func(reg uint64) (uint64, bool) {
	enteredOnce := sync.OnceValue(func() bool {
		all := &entries{Info: sc.Info, left: maxEntries}
		return !all.jumpsAway(sc.Function)
	})
	return func(reg uint64) (uint64, bool) {
		v, ok := n[reg]
		return v, ok && enteredOnce()
	}
}

// Call sites (DWARF 5 §3.4), and GNU's before DWARF 5.
const (
	tagCallSite             dwarf.Tag = 0x48
	tagCallSiteParameter    dwarf.Tag = 0x49
	tagGNUCallSite          dwarf.Tag = 0x4109
	tagGNUCallSiteParameter dwarf.Tag = 0x410a

	attrCallAllCalls        dwarf.Attr = 0x7a
	attrCallAllTailCalls    dwarf.Attr = 0x7c
	attrCallReturnPC        dwarf.Attr = 0x7d
	attrCallValue           dwarf.Attr = 0x7e
	attrCallTailCall        dwarf.Attr = 0x82
	attrGNUCallSiteValue    dwarf.Attr = 0x2111
	attrGNUTailCall         dwarf.Attr = 0x2115
	attrGNUAllTailCallSites dwarf.Attr = 0x2116
	attrGNUAllCallSites     dwarf.Attr = 0x2117
)

// Passed is what the call that a frame waits for passed in registers, by the call site's entry:
// values that the caller can still tell, as of registers that calls preserve. returnPC is the
// image address where the frame goes on. The call must go straight to the function of the next
// frame further in, or the values are those that another function was entered with.
func Passed(names *symbol.Symbolizer, caller *Place, returnPC uint64) (n Entered) {
	if caller.Frame.Module == nil {
		return nil
	}
	names.Scope(caller.Frame.Module, caller.PC, func(sc symbol.Scope) { n = newReader(sc, caller).passed(returnPC) })
	return n
}

// passed reads the parameters of the call that returns to an address.
func (r *reader) passed(returnPC uint64) Entered {
	d := r.entries.Data.Reader()
	d.Seek(r.function)
	f := r.entries.next(d)
	if f == nil || !f.Children {
		return nil
	}
	r.storage.setBase(f)
	for e := range r.entries.below(d) {
		if (e.Tag == tagCallSite || e.Tag == tagGNUCallSite) && returnsTo(e) == returnPC {
			return r.parameters(die.Entry{Entry: e})
		}
	}
	return nil
}

// returnsTo is where the call of a call site returns to.
func returnsTo(site *dwarf.Entry) uint64 {
	for _, a := range []dwarf.Attr{attrCallReturnPC, dwarf.AttrLowpc} {
		if v, ok := site.Val(a).(uint64); ok {
			return v
		}
	}
	return 0
}

// parameters evaluates the values that a call site states.
func (r *reader) parameters(site die.Entry) Entered {
	n := make(Entered)
	for e := range r.entries.children(site) {
		if e.Tag != tagCallSiteParameter && e.Tag != tagGNUCallSiteParameter {
			continue
		}
		where, _ := e.Val(dwarf.AttrLocation).([]byte)
		reg, ok := evaluate.Register(where, r.words.big)
		expr, _ := e.Val(attrCallValue).([]byte)
		if expr == nil {
			expr, _ = e.Val(attrGNUCallSiteValue).([]byte)
		}
		if !ok || len(expr) == 0 {
			continue
		}
		if v, ok := evaluate.Value(expr, &r.storage.frame); ok {
			n[reg] = v
		}
	}
	return n
}

// jumpsAway tells whether a function may end in a jump to another one, or does not list its calls.
// What a function jumps to may jump back, with other arguments than those of the call that the
// caller waits for.
func (s *entries) jumpsAway(function dwarf.Offset) bool {
	d := s.Data.Reader()
	d.Seek(function)
	f := s.next(d)
	if f == nil || !f.Children || !listsCalls(f) {
		return true
	}
	for e := range s.below(d) {
		for _, a := range []dwarf.Attr{attrCallTailCall, attrGNUTailCall} {
			if jump, _ := e.Val(a).(bool); jump {
				return true
			}
		}
	}
	return s.left <= 0
}

func listsCalls(function *dwarf.Entry) bool {
	for _, a := range []dwarf.Attr{attrCallAllCalls, attrCallAllTailCalls, attrGNUAllCallSites, attrGNUAllTailCallSites} {
		if all, _ := function.Val(a).(bool); all {
			return true
		}
	}
	return false
}
