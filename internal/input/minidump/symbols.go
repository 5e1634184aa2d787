package minidump

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// symbols is the symbol file of a module whose binary is not at hand, nil where there is none. Its addresses count from the
// module's. named: the file's name alone says that it is the module's.
func (f *finder) symbols(m *module) (img *image.Image, named bool) {
	names := []string{m.name}
	if m.id.pdb != "" {
		names = append(names, m.id.pdb)
	}
	for _, name := range names {
		ref := input.BinaryRef{Name: name, BuildID: m.id.buildID, Arch: f.arch}
		if img := f.files.SymbolFile(ref, m.id.symbolIDs()); img != nil {
			return img, m.id.key() == nil
		}
	}
	path := f.files.OtherSymbolFile(m.name)
	if path == "" || m.id.key() == nil {
		return nil, false
	}
	why := "; not used"
	if img = f.otherBuild(m); img != nil {
		why = ", which may be a hash of its code; used as a guess"
	}
	f.dump.issues = append(f.dump.issues, target.Issue{Kind: target.IssueNotUsed, Subject: m.name,
		Text: path + ": has another identifier than " + m.name + " in the dump" + why})
	return img, img != nil
}

// otherBuild is the one symbol file of a module's name where its identifier and the dump's need not be of one kind: Breakpad's
// writer takes a hash of the code of a file whose build ID was not mapped, dump_syms the build ID of the same file before it was
// stripped (common/linux/file_id.cc). nil where the code in the dump contradicts.
func (f *finder) otherBuild(m *module) *image.Image {
	if m.id.buildID != nil || f.maps == nil {
		return nil
	}
	img := f.files.SymbolFile(input.BinaryRef{Name: m.name, Arch: f.arch}, nil)
	if img == nil {
		return nil
	}
	for i := range f.runs {
		r := &f.runs[i]
		if at, ok := mappedAt(f.maps, r.addr); ok && at.exec && !callsFit(r, img, extent(f.maps, m.Range)) {
			return nil
		}
	}
	return img
}

// callsFit tells whether all calls in captured code that go into another function of a module go to where symbols say that
// functions begin, or where symbols name none.
func callsFit(r *run, symbols *image.Image, module target.Range) bool {
	arch := symbols.Arch
	at, _ := symbols.Symbols.At(r.addr - module.Lo)
	var calls []cpu.CallRef
	if module.Contains(r.addr) && arch.Decoder != nil {
		calls = arch.Decoder.Calls(r.data[:min(len(r.data), maxCode)], r.addr, at.Mode, nil)
	}
	for i := range calls {
		to := calls[i].Target - module.Lo
		from, _ := symbols.Symbols.At(calls[i].Site - module.Lo)
		if s, ok := symbols.Symbols.At(to); ok && module.Contains(calls[i].Target) && s.Size != 0 && s.Addr != to && s.Addr != from.Addr {
			return false
		}
	}
	return true
}

// maxCode bounds the code of one place that is compared with symbols; writers store 256 bytes around the PC of the crash.
const maxCode = 4096
