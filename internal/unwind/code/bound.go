package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// stub is what is known of a place that calls go to.
type stub struct {
	slot uint64 // image address of the word that it jumps through, 0 if it is no stub
	// exports is what each library has under the name that the word is bound to.
	exports map[*image.Image]jump
}

// Stub implements unwind.CallGraph.
func (s *Source) Stub(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (uint64, bool) {
	m, ok := snap.ModuleAt(entry)
	if !ok || m.Image == nil || m.Image.Arch.Decoder == nil {
		return 0, false
	}
	an := s.of(m.Image)
	an.mu.Lock()
	defer an.mu.Unlock()
	to, _ := an.stubTarget(snap, m, jump{m.ToImage(entry) & an.arch.AddrMask(), mode}, pc)
	return to.to, to.to != 0
}

// stubTarget resolves a function that is nothing but a jump through memory: a PLT
// stub, at an image address. Its GOT entry tells, if that was captured; what the file
// holds there, before it is bound, leads to the dynamic linker. Else the name of the
// import does: enough to accept the function of that name where pc is (the answer for
// others stays Unknown: an indirect function's symbol is not where calls go).
func (an *analysis) stubTarget(snap *target.Snapshot, m *target.Module, at jump, pc uint64) (jump, unwind.Answer) {
	b := an.stub(at)
	if b.slot == 0 {
		return jump{}, unwind.Unknown
	}
	if v, ok := snap.Memory.Word(m.ToTarget(b.slot)); ok {
		a, mode := an.arch.SplitCode(v)
		return jump{a, mode}, unwind.No
	}
	lib, ok := snap.ModuleAt(pc)
	if !ok || lib.Image == nil {
		return jump{}, unwind.Unknown
	}
	export := b.bound(an.img, lib.Image)
	if export.to == 0 {
		return jump{}, unwind.Unknown
	}
	return jump{lib.ToTarget(export.to), export.mode}, unwind.Unknown
}

// stub looks a place up, reading its instructions the first time.
func (an *analysis) stub(at jump) *stub {
	b := an.stubs[at]
	if b == nil {
		b = new(stub)
		var st state
		st.reset(an.arch)
		m := machine{img: an.img, arch: an.arch}
		if slot, ok := m.stubSlot(&st, at); ok {
			b.slot = slot
		}
		an.stubs[at] = b
	}
	return b
}

// maxExporters bounds the libraries whose symbols are kept for one stub: a program's
// are few, but an image is shared by the programs of a batch.
const maxExporters = 32

// bound is what lib exports under the name of the word's import.
func (b *stub) bound(img, lib *image.Image) jump {
	export, ok := b.exports[lib]
	if ok {
		return export
	}
	if name, ok := img.Import(b.slot); ok {
		s, _ := lib.SymbolNamed(name)
		export = jump{s.Addr, s.Mode}
	}
	if len(b.exports) >= maxExporters || b.exports == nil {
		b.exports = map[*image.Image]jump{}
	}
	b.exports[lib] = export
	return export
}
