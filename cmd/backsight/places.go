//go:build !small

package main

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/listing"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// namer names places in binaries that texts speak of.
type namer struct {
	files *input.Files
	names *symbol.Symbolizer
	// modules are the binaries that the user named, the first of them the program.
	modules []*target.Module
	byName  map[binaryName]*target.Module // those that texts name; nil: not found
}

// binaryName is how a text names a binary: by a name, a build ID, and where the binary is in the file of the name.
type binaryName struct {
	name, id string
	offset   uint64
}

// newNamer opens the binaries that the user named.
func newNamer(files *input.Files, names *symbol.Symbolizer) *namer {
	n := &namer{files: files, names: names, byName: map[binaryName]*target.Module{}}
	for _, b := range append([]input.NamedImage{{Path: files.Exe()}}, files.Images()...) {
		if b.Path == "" {
			continue
		}
		if img, err := files.Open(b.Path); err == nil {
			n.modules = append(n.modules, target.NewModule(b.Path, img, b.Bias))
		}
	}
	return n
}

// maxNamed bounds the binaries that are kept by the names of a text.
const maxNamed = 1 << 12

// module is the binary that a text calls by a name, and a build ID where that is known; nil where none is at hand. One that the
// user named is meant by its name without folders.
func (n *namer) module(name string, id []byte, offset uint64) *target.Module {
	key := binaryName{name, string(id), offset}
	m, ok := n.byName[key]
	if ok || name == "" {
		return m
	}
	_, member, packed := strings.Cut(name, "!")
	ref := input.BinaryRef{Name: name, BuildID: id, Offset: offset}
	if packed {
		ref.Name, ref.Offset = member, 0
	}
	if id == nil { // a text comes from anywhere: not this machine's
		ref.Name, ref.Absolute = strings.TrimLeft(ref.Name, "/."), true
	}
	if img, _ := n.files.Find(ref); img != nil {
		m = target.NewModule(name, img, 0)
	}
	if len(n.byName) < maxNamed {
		n.byName[key] = m
	}
	return m
}

// at is the place of an image address; within tells that it lies in a call, and not behind one.
func (n *namer) at(m *target.Module, addr uint64) symbol.Location {
	addr, _ = m.Image.Arch.SplitCode(addr)
	return n.names.Lookup(m, addr)
}

// address is the place of a target address in the binaries that the user named.
func (n *namer) address(addr uint64) (symbol.Location, uint64, bool) {
	for _, m := range n.modules {
		at, _ := m.Image.Arch.SplitCode(m.ToImage(addr))
		if m.Image.Segments.Executable(at) {
			l := n.names.Lookup(m, at)
			return l, at, l.Function != "" || l.File != ""
		}
	}
	return symbol.Location{}, 0, false
}

// function is the place of an offset in a function.
func (n *namer) function(name string, offset uint64) (l symbol.Location, at uint64, ok bool) {
	for _, m := range n.modules {
		s, found := m.Image.Symbols.Named(name)
		if found {
			return n.names.Lookup(m, s.Addr+offset), s.Addr + offset, true
		}
	}
	return l, 0, false
}

// frame is the place of a frame that a line has.
func (n *namer) frame(f *listing.Frame) (l symbol.Location, at uint64, ok bool) {
	behind := uint64(1) // to the call, from where it returns to
	if f.Within() || f.Number == 0 {
		behind = 0
	}
	m := n.module(f.Module, f.BuildID, f.FileOffset)
	switch {
	case m == nil && f.Module != "" && len(n.modules) == 1 && f.HasOffset && called(n.modules[0].Name, f.Module):
		m = n.modules[0]
	case m == nil && f.Addr != 0:
		l, at, ok = n.address(f.Addr - behind)
		return l, at + behind, ok
	}
	switch {
	case m == nil:
		return l, 0, false
	case f.Addr != 0 && !m.Image.Relocatable:
		at = f.Addr
	case f.HasOffset:
		at = f.Offset
	case f.HasFuncOffset:
		s, found := m.Image.Symbols.Named(f.Function)
		if !found {
			return l, 0, false
		}
		at = s.Addr + f.FuncOffset
	default:
		return l, 0, false
	}
	l = n.at(m, at-behind)
	return l, at, l.Function != "" || l.File != ""
}

// called tells whether a file is called like the program of a text: app.debug is app's.
func called(file, program string) bool {
	return strings.HasPrefix(path.Base(file), path.Base(program)+".")
}

// asked is the place that an argument of addr means: an address, MODULE+OFFSET or FUNCTION+OFFSET.
func (n *namer) asked(text string) (l symbol.Location, at uint64, err error) {
	name, plus, has := cutPlus(text)
	if !has {
		v, err := hexNumber(text)
		if err == nil {
			l, at, _ = n.address(v)
			return l, at, nil
		}
		if l, at, ok := n.function(text, 0); ok {
			return l, at, nil
		}
		return l, 0, fmt.Errorf("%q is neither an address nor a function", text)
	}
	offset, err := hexNumber(plus)
	if err != nil {
		return l, 0, fmt.Errorf("%q: the offset is not a number", text)
	}
	for _, m := range n.modules {
		if path.Base(m.Name) == path.Base(name) {
			return n.at(m, offset), offset, nil
		}
	}
	if m := n.module(name, nil, 0); m != nil {
		return n.at(m, offset), offset, nil
	}
	if l, at, ok := n.function(name, offset); ok {
		return l, at, nil
	}
	return l, 0, fmt.Errorf("%q: no binary and no function of this name", text)
}

// cutPlus cuts a name and an offset behind the last plus: C++'s operator+ has one, too.
func cutPlus(text string) (name, offset string, ok bool) {
	i := strings.LastIndexByte(text, '+')
	if i <= 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// hexNumber reads a hexadecimal number, with or without 0x.
func hexNumber(s string) (uint64, error) {
	return strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X"), 16, 64)
}
