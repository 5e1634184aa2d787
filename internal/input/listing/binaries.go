package listing

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// binaries are those that the lists of a record name, as modules.
type binaries struct {
	env     *input.Env
	arch    *cpu.Arch
	known   []*binary
	byName  map[string]*binary
	maps    map[string][]*mapping // by the file's name without folders
	space   target.Snapshot       // has modules
	modules []*target.Module
	issues  []target.Issue
	// madeUp: the addresses of some modules are. given: the modules are the snapshot's.
	madeUp, given bool
}

// binary is one that lines name.
type binary struct {
	name    string
	file    uint64 // offset in the file
	buildID []byte
	img     *image.Image
	bias    uint64
	placed  bool           // bias is known
	offsets bool           // lines have offsets in it
	top     uint64         // the highest of them
	addrs   target.Range   // of frames that lie in it
	mapped  uint64         // the end of its mappings, where the file is not at hand
	samples []*Frame       // some of its frames
	module  *target.Module // nil: nothing says where its frames lie
}

// Bounds of a record's binaries, and of the frames by which one is placed.
const maxBinaries, maxSamples = 1 << 12, 64

// newBinaries finds the binaries of a record.
func newBinaries(ctx context.Context, r *record, env *input.Env) *binaries {
	b := &binaries{env: env, byName: map[string]*binary{}}
	for _, t := range r.threads {
		for i := range t.frames {
			b.list(&t.frames[i])
		}
	}
	b.mappings(r)
	b.arch = b.processor(r)
	for _, k := range b.known {
		if ctx.Err() != nil {
			break
		}
		b.find(k)
	}
	b.exe(r)
	if b.arch == nil {
		b.arch = unknownOf(r)
	}
	b.byRegisters(r)
	for _, k := range b.known {
		b.place(k)
		b.add(k)
	}
	b.makeUp()
	more, issues := env.Files.NamedModules(b.modules, b.arch)
	b.modules, b.issues = append(b.modules, more...), append(b.issues, issues...)
	b.space = target.Snapshot{Arch: b.arch, Modules: slices.Clone(b.modules)}
	b.space.SortModules()
	return b
}

// mappings makes binaries of the files that are mapped as code.
func (b *binaries) mappings(r *record) {
	b.maps = map[string][]*mapping{}
	for i := range r.maps {
		m := &r.maps[i]
		base := path.Base(m.name)
		b.maps[base] = append(b.maps[base], m)
		f := Frame{Module: m.name, BuildID: m.buildID}
		if m.exec && (m.image || r.maker == "Linux" || strings.HasPrefix(m.name, "/") && !strings.HasSuffix(m.name, ".apk")) {
			b.list(&f)
		}
	}
}

// list keeps what a line says of a binary.
func (b *binaries) list(f *Frame) {
	k := b.of(f)
	if k == nil {
		if len(b.known) == maxBinaries {
			return
		}
		k = &binary{name: f.Module, file: f.FileOffset}
		b.known, b.byName[key(f)] = append(b.known, k), k
	}
	if k.buildID == nil {
		k.buildID = f.BuildID
	}
	if f.Maker != "" && len(k.samples) < maxSamples {
		k.samples = append(k.samples, f)
	}
	if f.HasOffset {
		k.offsets, k.top = true, max(k.top, f.Offset)
	}
	if f.Addr == 0 {
		return
	}
	if f.HasOffset && !k.placed {
		k.bias, k.placed = f.Addr-f.Offset, true
	}
	if k.addrs.Hi == 0 {
		k.addrs = target.Range{Lo: f.Addr, Hi: f.Addr + 1}
	}
	k.addrs = target.Range{Lo: min(k.addrs.Lo, f.Addr), Hi: max(k.addrs.Hi, f.Addr+1)}
}

func key(f *Frame) string { return fmt.Sprintf("%s\x00%x", f.Module, f.FileOffset) }

// of is the binary of a frame, nil where there is none yet.
func (b *binaries) of(f *Frame) *binary { return b.byName[key(f)] }

// nameless tells whether a binary's name is that of no file: [anon:…], <unknown>, or none.
func (k *binary) nameless() bool {
	return k.name == "" || strings.HasPrefix(k.name, "[") || strings.HasPrefix(k.name, "<")
}

// find opens a binary. Without a build ID it is looked for where the user said, and not among this machine's files: a text
// comes from anywhere.
func (b *binaries) find(k *binary) {
	if k.nameless() {
		return
	}
	archive, member, packed := strings.Cut(k.name, "!")
	ref := input.BinaryRef{Name: k.name, Offset: k.file, BuildID: k.buildID, Arch: b.arch}
	if packed { // a library in an archive, which may lie outside as well
		ref.Name, ref.Offset = member, 0
	}
	b.look(k, ref)
	if packed && k.img == nil {
		ref.Name, ref.Offset = archive, k.file
		b.look(k, ref)
	}
	if k.img != nil && b.arch == nil {
		b.arch = k.img.Arch
	}
}

func (b *binaries) look(k *binary, ref input.BinaryRef) {
	if ref.BuildID == nil {
		ref.Name, ref.Absolute = strings.TrimLeft(ref.Name, "/."), true
	}
	img, issues := b.env.Files.Find(ref)
	if k.img = img; img != nil || b.arch != nil {
		b.issues = append(b.issues, issues...)
	}
}

// exe gives the program that the user named a binary of the lists: one that is called like the record's command, else the only
// one that is no library, else those frames whose binary no line names.
func (b *binaries) exe(r *record) {
	file := b.env.Files.Exe()
	if file == "" {
		return
	}
	img, err := b.env.Files.Open(file)
	if err != nil {
		return
	}
	command := path.Base(strings.TrimSpace(strings.SplitN(r.command+" ", " ", 2)[0]))
	var called, other *binary
	others := 0
	for _, k := range b.known {
		switch {
		case k.img == img:
			return
		case k.img != nil || k.nameless() && k.name != "":
		case path.Base(k.name) == command:
			called = k
		case !strings.Contains(path.Base(k.name), ".so"):
			other, others = k, others+1
		}
	}
	if called == nil && others == 1 {
		called = other
	}
	if called == nil {
		return
	}
	ref := input.BinaryRef{Name: called.name, BuildID: called.buildID, Arch: b.arch}
	if called.name == "" {
		ref.Name = file
	}
	img, issues := b.env.Files.Use(file, ref)
	if b.issues = append(b.issues, issues...); img == nil {
		return
	}
	called.img = img
	if b.arch == nil {
		b.arch = img.Arch
	}
	if called.name == "" {
		called.name = file
	}
}

// add makes a binary a module, where something says where its frames lie.
func (b *binaries) add(k *binary) {
	switch {
	case k.placed && k.img != nil:
		k.module = target.NewModule(k.name, k.img, k.bias&b.arch.AddrMask())
	case k.placed && k.name != "":
		lo, hi := k.bias, max(k.bias+k.top+1, k.addrs.Hi, k.mapped)
		if k.addrs.Lo != 0 {
			lo = min(lo, k.addrs.Lo)
		}
		k.module = &target.Module{Name: k.name, Range: target.Range{Lo: lo, Hi: pageAbove(hi)}, Bias: k.bias, BuildID: k.buildID}
	case k.addrs.Hi != 0 && k.name != "" && !k.offsets:
		pages := target.Range{Lo: k.addrs.Lo &^ (pageSize - 1), Hi: pageAbove(k.addrs.Hi)}
		k.module = &target.Module{Name: k.name, Range: pages, BuildID: k.buildID, Stated: target.StatedAddresses}
	}
	if k.module != nil {
		b.modules = append(b.modules, k.module)
	}
}

const pageSize = 0x1000

func pageAbove(addr uint64) uint64 { return max(addr, (addr+pageSize-1)&^(pageSize-1)) }

// Where modules are put that lists give offsets in, and no address: where no program is.
const (
	madeUpFrom, madeUpEach = 0x4000_0000_0000_0000, 1 << 32
	madeUpFrom32           = 0x0010_0000
)

// makeUp gives binaries addresses of which only offsets are known, one behind the other.
func (b *binaries) makeUp() {
	at := uint64(madeUpFrom)
	if b.arch.AddrSize == 4 {
		at = madeUpFrom32
	}
	for _, k := range b.known {
		if k.module != nil || !k.offsets {
			continue
		}
		size := pageAbove(k.top + 1)
		if k.img != nil {
			_, hi := k.img.Segments.Bounds()
			size = max(size, pageAbove(hi))
		}
		if b.arch.AddrSize == 4 {
			at = b.free(at, size)
		}
		if at+size < at || at+size > b.arch.AddrMask() {
			continue
		}
		k.bias, k.placed = at, true
		k.module = &target.Module{Name: k.name, Range: target.RangeOf(at, size), Bias: at, BuildID: k.buildID}
		if k.img != nil {
			k.module = target.NewModule(k.name, k.img, at)
		}
		k.module.Stated, b.madeUp = target.StatedOffsets, true
		b.modules = append(b.modules, k.module)
		if b.arch.AddrSize == 4 {
			at += size
		} else {
			at += max(madeUpEach, size)
		}
	}
}

// free is the first address from at on behind which no module lies for size bytes.
func (b *binaries) free(at, size uint64) uint64 {
	for again := true; again; {
		again = false
		for _, m := range b.modules {
			if at < m.Hi && m.Lo < at+size {
				at, again = pageAbove(m.Hi), true
			}
		}
	}
	return at
}
