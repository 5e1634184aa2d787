package perfdata

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/protobuf"
	"github.com/backsight/backsight/target"
)

// Features of simpleperf's (Android's): of each file those functions in which samples lie, early as structures, later as messages
// (simpleperf/record_file_format.h, record_file.proto).
const featureFile, featureFile2 = 128, 132

// Kinds of files (DsoType in simpleperf/dso.h). Those of the others, the kernel and lists of symbols, are by target addresses.
const fileKernelModule, fileELF, fileDEX = 1, 2, 3

// functions are those of a file, by their addresses in it.
type functions struct {
	kind uint32
	// first is the lowest address of code, which lies at an offset in the file, or in the memory of a kernel's module.
	first, offset uint64
	list          []function
}

type function struct {
	addr, size uint64
	name       string
}

// maxFunctions bounds the functions of a file, which are those that samples or their calls lie in.
const maxFunctions = 1 << 16

func (f *functions) add(one function) {
	if one.name != "" && len(f.list) < maxFunctions {
		f.list = append(f.list, one)
	}
}

// readFiles reads the functions of files. What is left of the section behind a file that makes no sense is not read.
func readFiles(section []byte, big bool, read func(b []byte, big bool) (name string, f functions)) (files map[string]*functions) {
	files = map[string]*functions{}
	for in := bin.New(section, big); in.Len() > 0 && len(files) < maxFiles; {
		one := in.Bytes(uint64(in.U32()))
		if in.Err() != nil {
			break
		}
		name, f := read(one, big)
		slices.SortStableFunc(f.list, func(a, b function) int { return cmp.Compare(a.addr, b.addr) })
		files[name] = &f
	}
	return files
}

// readFile reads a file as a structure.
func readFile(b []byte, big bool) (name string, f functions) {
	in := bin.New(b, big)
	name = in.CString()
	f.kind, f.first = in.U32(), in.U64()
	for n := in.U32(); n > 0 && in.Err() == nil; n-- {
		one := function{addr: in.U64(), size: uint64(in.U32()), name: in.CString()}
		if in.Err() == nil {
			f.add(one)
		}
	}
	f.offset = math.MaxUint64
	if f.kind != fileDEX && in.Len() >= 8 {
		f.offset = in.U64()
	}
	return name, f
}

// readFileMessage reads a file as a message: path, kind, first, functions, and within another message the offset, which is left out where
// it is 0.
func readFileMessage(b []byte, _ bool) (name string, f functions) {
	f.offset = math.MaxUint64
	protobuf.Each(b, func(field protobuf.Field) {
		add := func() {
			var one function
			protobuf.Each(field.Bytes, func(p protobuf.Field) { p.Into(&one.addr, &one.size, &one.name) })
			f.add(one)
		}
		offset := func() {
			f.offset = 0
			protobuf.Each(field.Bytes, func(p protobuf.Field) { p.Into(&f.offset) })
		}
		field.Into(&name, &f.kind, &f.first, add, nil, offset, offset)
	})
	return name, f
}

// at is the function at a target address, in a mapping of the file, and how far behind its beginning that is; nil for none.
func (f *functions) at(addr, lo, off uint64) (fn *function, behind uint64) {
	switch {
	case f.kind == fileELF && f.offset != math.MaxUint64:
		addr += off - lo + f.first - f.offset
	case f.kind == fileELF:
		addr += f.first - lo
	case f.kind == fileDEX:
		addr += off - lo
	case f.kind == fileKernelModule:
		addr += f.first - f.offset - lo
	}
	i := sort.Search(len(f.list), func(i int) bool { return f.list[i].addr > addr })
	if i == 0 || addr-f.list[i-1].addr >= f.list[i-1].size {
		return nil, 0
	}
	return &f.list[i-1], addr - f.list[i-1].addr
}

// name gives the calls that a process's samples list the names that the recording has.
func (s *stream) name(p *process, snap *target.Snapshot) {
	if len(s.rec.files) == 0 {
		return
	}
	for i := range snap.Threads {
		t := &snap.Threads[i]
		for k := range t.Inner {
			s.nameInKernel(&t.Inner[k])
		}
		for k := range t.Listed {
			l := &t.Listed[k]
			if n := p.above(l.PC); n < len(p.maps) && p.maps[n].Contains(l.PC) {
				m := &p.maps[n]
				s.rec.files[m.name].name(l, m.Lo, m.off)
			}
		}
	}
}

// nameInKernel names a call in the kernel.
func (s *stream) nameInKernel(l *target.Listed) {
	if n := s.kernel.above(l.PC); n < len(s.kernel.loaded) && s.kernel.loaded[n].Contains(l.PC) {
		m := s.kernel.loaded[n]
		s.rec.files[m.Name].name(l, m.Lo, 0)
	}
	if l.Symbol == "" {
		s.rec.files[kernelName].name(l, 0, 0)
	}
}

// name names a call in a mapping of the file.
func (f *functions) name(l *target.Listed, lo, off uint64) {
	if f == nil {
		return
	}
	at := l.PC
	if !l.Exact && !l.Within {
		at--
	}
	fn, behind := f.at(at, lo, off)
	if fn == nil {
		fn, behind = f.at(at, 0, 0) // a file of what ART compiled while it ran has target addresses
	}
	if fn != nil {
		l.Symbol, l.Size, l.Offset = fn.name, fn.size, behind+l.PC-at
	}
}
