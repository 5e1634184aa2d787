package readers

import (
	"bytes"
	"context"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/target"
)

// modules are the symbol files of a process: of its program and of the kernel's page with the signal
// trampolines, of which minidumps have a module (linux-gate.so) with a symbol file of its own.
type modules struct {
	program *StackCFI
	pages   map[uint64]*StackCFI
}

// pageSize is the alignment of what is mapped.
const pageSize = 4096

// at are the expressions that hold at the site of a return address or of an interrupted PC. A return
// address at the very start of a page is no call's: the trampoline is looked up by its own address.
func (m *modules) at(snap *target.Snapshot, pc, site uint64) (map[string][]string, error) {
	if rules := m.program.at(site); rules != nil {
		return rules, nil
	}
	start := pc &^ (pageSize - 1)
	if m.pages[start] == nil {
		cfi, err := pageCFI(snap, start)
		if err != nil {
			return nil, err
		}
		m.pages[start] = cfi
	}
	return m.pages[start].at(max(site, start)), nil
}

// pageCFI writes the symbol file of a page out of the memory of a snapshot, and reads it.
func pageCFI(snap *target.Snapshot, start uint64) (*StackCFI, error) {
	data := snap.Memory.Bytes(start)
	data = data[:min(len(data), pageSize)]
	img := image.New(image.Header{Path: "linux-gate.so", Arch: snap.Arch,
		Segments: []image.Segment{{Addr: start, Size: uint64(len(data)), Data: data, Exec: true, Read: true}}}, nil)
	p, err := backsight.ListRules(context.Background(), img)
	if err != nil || len(p.Rules) == 0 {
		return &StackCFI{}, err
	}
	return stackCFI(p)
}

// stackCFI are the rules of a program as a Breakpad symbol file says them.
func stackCFI(p *tables.Program) (*StackCFI, error) {
	var sym bytes.Buffer
	if err := Write(&sym, "breakpad", p); err != nil {
		return nil, err
	}
	return ReadStackCFI(&sym, p.Image.Arch, loaded(p.Image))
}
