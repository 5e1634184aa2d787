package macho

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/backsight/backsight/image"
)

// debugMap is what a linker leaves of debug information that stays in the object files: symbols
// of debuggers (mach-o/stab.h) say which object file each function came from, and how large the
// function is.
//
//	OSO /build/libx.a(x.o)   FUN _f at 0x100000460   FUN "" size 0x18   FUN _g …
//
// Their DWARF is used where there is no dSYM.
type debugMap struct {
	once      sync.Once
	functions []mappedFunction // sorted by address

	mu   sync.Mutex
	open map[uint32]*object // by object of their functions
}

// mappedFunction is a function of the linked image, and which object file it is of.
type mappedFunction struct {
	addr, size   uint64
	name, object uint32 // its name, and the object file's path, in the strings
}

// object is an object file, nil where it is not found.
type object struct {
	file *file
	img  *image.Image
	in   *image.File
}

// Types of a debugger's symbols.
const (
	stabFunction = 0x24
	stabObject   = 0x66
)

// maxObjects bounds the object files that are kept open.
const maxObjects = 1 << 12

// read lists the functions of a file.
func (m *debugMap) read(f *file) {
	m.once.Do(func() {
		t, object := f.symbols(), uint32(0)
		t.withType(stabObject, stabFunction, func(s *nlist) {
			switch {
			case s.typ == stabObject:
				object = s.name
			case object == 0:
			case uint64(s.name) < uint64(len(t.str)) && t.str[s.name] != 0:
				m.functions = append(m.functions, mappedFunction{addr: s.value, name: s.name, object: object})
			case len(m.functions) > 0:
				m.functions[len(m.functions)-1].size = s.value
			}
		})
		slices.SortFunc(m.functions, func(a, b mappedFunction) int { return cmp.Compare(a.addr, b.addr) })
	})
}

// at is the function that has an address.
func (m *debugMap) at(addr uint64) *mappedFunction {
	i, found := slices.BinarySearchFunc(m.functions, addr, func(f mappedFunction, a uint64) int { return cmp.Compare(f.addr, a) })
	if !found {
		i--
	}
	if i < 0 || addr-m.functions[i].addr >= m.functions[i].size {
		return nil
	}
	return &m.functions[i]
}

// Object implements what image.DebugInfo.Object asks.
func (c *container) Object(addr uint64) (img *image.Image, at uint64, err error) {
	if c.opt.NoDebugFiles || c.dsymFile() != nil {
		return nil, 0, nil
	}
	m := &c.debugMap
	m.read(c.main)
	f := m.at(addr)
	if f == nil {
		return nil, 0, nil
	}
	own := c.main.symbols()
	o, err := m.object(f.object, string(own.string(&nlist{name: f.object})), &c.opt)
	if o == nil || err != nil {
		return nil, 0, err
	}
	theirs := o.file.symbols()
	name := own.name(&nlist{name: f.name})
	s, ok := theirs.named(name)
	if !ok || !sameCode(c.img.Segments.Code(f.addr), f.size, o, &s) {
		return nil, 0, o.in.Errorf(0, "not the object file that %s was linked from: the code of %s differs", c.main.path, name)
	}
	return o.img, s.value + (addr - f.addr), nil
}

// object opens the object file at a path once, which the strings have at i.
func (m *debugMap) object(i uint32, path string, opt *image.Options) (*object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, known := m.open[i]
	if known || len(m.open) >= maxObjects {
		return o, nil
	}
	if m.open == nil {
		m.open = make(map[uint32]*object)
	}
	o, err := findObject(path, opt)
	m.open[i] = o
	return o, err
}

// files are those of the object files that are open.
func (m *debugMap) files() (files []*image.File) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.open {
		if o != nil {
			files = append(files, o.in)
		}
	}
	return files
}

func (m *debugMap) close() (err error) {
	for _, f := range m.files() {
		err = errors.Join(err, f.Close())
	}
	return err
}

// findObject opens the object file that a debug map names, "file.o" or "library.a(member.o)": at
// its path, or below the debug directories at the path or at the end of it. It is nil where there
// is none; the error tells of one that cannot be read.
func findObject(path string, opt *image.Options) (*object, error) {
	member := ""
	if i := strings.LastIndexByte(path, '('); i > 0 && strings.HasSuffix(path, ")") {
		path, member = path[:i], path[i+1:len(path)-1]
	}
	for _, p := range objectPaths(path, opt) {
		o, err := openObject(p, member, opt)
		if o != nil || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return o, err
		}
	}
	return nil, nil
}

// maxElements bounds the directories of a path that is looked for below a debug directory.
const maxElements = 32

// objectPaths are the files of this machine that may be the one at a path of the machine that
// linked the program.
func objectPaths(path string, opt *image.Options) (paths []string) {
	if len(opt.Roots) == 0 && filepath.IsAbs(path) {
		paths = append(paths, path)
	}
	for _, root := range opt.Roots {
		if p, ok := root.Resolve(path); ok {
			paths = append(paths, p)
		}
	}
	elements := strings.Split(strings.Trim(path, "/"), "/")
	elements = elements[max(0, len(elements)-maxElements):]
	if slices.Contains(elements, "..") {
		elements = elements[len(elements)-1:]
	}
	for _, dir := range opt.DebugDirs {
		for i := range elements {
			if p, ok := opt.Locate(filepath.Join(dir, filepath.Join(elements[i:]...))); ok {
				paths = append(paths, p)
			}
		}
	}
	return paths
}

// openObject opens an object file, or a member of an archive.
func openObject(path, member string, opt *image.Options) (*object, error) {
	in, err := opt.OpenFile(path, func(head []byte) bool { return sniff(head) || member != "" && isArchive(head) })
	if err != nil {
		return nil, err
	}
	o, err := newObject(in, member, opt)
	if err != nil {
		in.Close()
		return nil, err
	}
	return o, nil
}

func newObject(in *image.File, member string, opt *image.Options) (*object, error) {
	data := in.Data
	if member != "" {
		if data = memberNamed(data, member); data == nil {
			return nil, in.Errorf(0, "an archive without %s", member)
		}
	}
	f, err := newFile(in.Name, data, 0)
	if err != nil {
		return nil, err
	}
	if f.typ != mhObject {
		return nil, f.errorf(12, "no object file")
	}
	img, err := newImage(f, &image.File{Name: in.Name}, image.Options{Archs: opt.Archs, NoDebugFiles: true})
	if err != nil {
		return nil, err
	}
	return &object{f, img, in}, nil
}
