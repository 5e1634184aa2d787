package kernellog

import (
	"slices"

	"github.com/backsight/backsight/target"
)

// chain is the call chain of a record, from where the PC is, with what other reports and the
// stack add to it, and the addresses that files give symbols.
func chain(r *record, further []target.Listed, b *binaries) []target.Listed {
	listed := slices.Clone(withoutHandlers(r.trace.listed, r))
	believeCaller(listed, r)
	if len(listed) == 0 {
		listed, further = slices.Clone(further), nil
	}
	listed = append(withFirstCaller(completed(r, listed, b.arch), r, b), further...)
	listed = withWarned(listed, r)
	doubtThreadStart(listed)
	doubtCallers(listed, &r.work, b.arch)
	b.settlePlaces(listed)
	for i := range listed {
		l := &listed[i]
		if l.PC != 0 || l.Symbol == "" {
			continue
		}
		p := place{symbol: l.Symbol, module: l.Module, offset: l.Offset, size: l.Size}
		if l.Size == 0 && l.Offset == 0 {
			continue // ARM's trace begins with a name alone
		}
		if addr, ok := b.addressOf(&p); ok && !p.isImpossible(b.instructions()) {
			l.PC, l.ByName = addr, true
		} else if ok || b.lacksName(&p) {
			l.Gap = true
		}
	}
	r.doubt(listed, b)
	doubtUnmarked(listed, r, b)
	doubtInterrupted(listed, b)
	dropNext(listed)
	listed = withStackWords(listed, r, b)
	return append(listed, around(r, listed, b)...)
}
