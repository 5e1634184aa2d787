package pdb

import (
	"cmp"
	"slices"
	"sync"

	"github.com/backsight/backsight/internal/bin"
)

// publics are the names that the linker saw, made when first asked for.
type publics struct {
	once    sync.Once
	records []byte
	list    []public // of code, sorted by address
}

// public is a public symbol: where it is, and where its record is.
type public struct{ rva, at uint32 }

const (
	// publicsHeader is the size of the header in front of the hash table.
	publicsHeader = 28
	// publicSymbol is S_PUB32, publicName where its name begins.
	publicSymbol, publicName = 0x110e, 14
)

// publicSymbols lists the public symbols of code, by the address map behind the hash table (LLVM, "The PDB Public Symbol Stream").
func (f *file) publicSymbols() []public {
	p := &f.publics
	p.once.Do(func() {
		p.records = f.stream(f.symbolsStream)
		r := bin.New(f.stream(f.publicsStream), false)
		hash, size := r.U32(), r.U32()
		r.Skip(publicsHeader - 8 + uint64(hash))
		for m := bin.New(r.Bytes(uint64(size)), false); m.Len() >= 4; {
			at := m.U32()
			s := bin.NewAt(p.records, uint64(at)+2, false)
			kind := s.U16()
			s.Skip(4) // flags: assemblers do not set that of functions
			offset, number := s.U32(), s.U16()
			if rva, ok := f.rva(number, offset); ok && s.Err() == nil && kind == publicSymbol && f.sections[number-1].code {
				p.list = append(p.list, public{rva, at})
			}
		}
		slices.SortStableFunc(p.list, func(a, b public) int { return cmp.Compare(a.rva, b.rva) })
	})
	return p.list
}

// publicAt is the last public symbol at an address or before. One without an end reaches to the next, and to the end of what its
// module contributed.
func (f *file) publicAt(rva uint32) *public {
	list := f.publicSymbols()
	i := last(list, rva, func(p public) uint32 { return p.rva })
	if i < 0 {
		return nil
	}
	if c := f.contribution(rva); c == nil && f.contributions != nil || c != nil && list[i].rva < c.rva {
		return nil
	}
	return &list[i]
}

// publicName is the name of a public symbol. C compilers of i386 put an underscore in front.
func (f *file) publicName(p *public) string {
	name := text(f.publics.records, uint64(p.at)+publicName)
	if f.arch.AddrSize == 4 && len(name) > 1 && name[0] == '_' {
		name = name[1:]
	}
	return name
}
