package perfdata

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/input/jitnames"
	"github.com/backsight/backsight/target"
)

// process is a process as the events so far tell of it.
type process struct {
	pid      uint32
	names    map[uint32]string // of its threads
	maps     []mapping         // sorted, none overlaps another
	shared   bool              // maps are another process's, too
	modules  []*target.Module  // of maps; nil: not yet made
	pending  *target.Snapshot  // with samples that were taken while maps were as they are
	captured int               // bytes that pending holds
	last     int               // samples that the snapshot before had
	listed   bool              // in stream.pending
	exited   bool              // its first thread has
	made     jitnames.Source
}

// mapping is code of a file in the address space.
type mapping struct {
	target.Range
	off     uint64
	name    string
	buildID []byte
	exec    bool // and a file's
	module  *target.Module
}

// Bounds: a system has some ten thousand processes, a process some thousand threads and some hundred mappings of code, or some thousand
// where perf inject --jit has one for each function that a run-time made.
const maxProcesses, maxNames, maxMaps = 1 << 16, 1 << 12, 1 << 14

// Bits of an event's misc: the second half of COMM's and MMAP2's.
const commExec, mmapData, mmapBuildID = 1 << 13, 1 << 13, 1 << 14

// protExec is mmap's PROT_EXEC.
const protExec = 4

// mapped reads MMAP or MMAP2: process, thread, address, length, offset; of MMAP2 device, inode and generation, or the build ID,
// then protection and flags; the name.
func mapped(ev *event, big bool) (pid uint32, m mapping, ok bool) {
	in := bin.New(ev.body, big)
	pid = in.U32()
	in.Skip(4)
	m.exec = ev.misc&mmapData == 0
	m.Lo = in.U64()
	m.Hi = m.Lo + in.U64()
	m.off = in.U64()
	if ev.kind == eventMmap2 {
		if n := in.U8(); ev.misc&mmapBuildID != 0 && n <= sha1 {
			in.Skip(3)
			m.buildID = bytes.Clone(in.Bytes(sha1))[:n]
		} else {
			in.Skip(7 + 8 + 8)
		}
		m.exec = in.U32()&protExec != 0
		in.Skip(4)
	}
	m.name = in.CString()
	m.exec = m.exec && !isData(m.name)
	return pid, m, in.Err() == nil && m.Lo < m.Hi
}

// anonymous is the name of memory of no file: where it may be executed, code that the program made.
const anonymous = jitnames.Anonymous

// isMade tells whether a name is that of memory of no file: private, shared, of large pages, or of a file in memory, which .NET's code has.
func isMade(name string) bool {
	return slices.ContainsFunc([]string{anonymous, "/dev/zero", "/anon_hugepage", "/memfd:"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// isData tells whether a name is that of memory without code: [stack], [heap].
func isData(name string) bool {
	return name != vdsoName && !strings.HasPrefix(name, "/")
}

// changes tells whether a mapping changes what is known of code.
func (p *process) changes(m *mapping) bool {
	first, last := p.over(m)
	return m.exec || first < last
}

// above is the first of the mappings that ends behind an address.
func (p *process) above(addr uint64) int {
	return sort.Search(len(p.maps), func(i int) bool { return p.maps[i].Hi > addr })
}

// over are the mappings, from first to before last, that lie where another is made.
func (p *process) over(m *mapping) (first, last int) {
	first = p.above(m.Lo)
	for last = first; last < len(p.maps) && p.maps[last].Lo < m.Hi; {
		last++
	}
	return first, last
}

// unknown tells whether no event but samples has told of the process, so that there is nothing to keep.
func (p *process) unknown() bool { return p.maps == nil && p.names == nil && !p.shared && !p.exited }

// add maps something; what was mapped there before is gone.
func (s *stream) add(p *process, m mapping) {
	if p.shared {
		if p.shared = false; s.room.mappings.Draw(perCopy * len(p.maps)) {
			p.maps = slices.Clone(p.maps)
		} else {
			p.maps = nil
		}
	}
	first, last := p.over(&m)
	var now []mapping
	if first < last && p.maps[first].Lo < m.Lo {
		left := p.maps[first]
		left.Hi, left.module = m.Lo, nil
		now = append(now, left)
	}
	if m.exec {
		now = append(now, m)
	}
	if first < last && p.maps[last-1].Hi > m.Hi {
		right := p.maps[last-1]
		right.off, right.Lo, right.module = right.off+m.Hi-right.Lo, m.Hi, nil
		now = append(now, right)
	}
	p.modules = nil
	if len(p.maps)-(last-first)+len(now) > maxMaps || !s.room.mappings.Draw((len(p.maps)-last)/perMove) {
		s.tooMany()
		now = nil
	}
	p.maps = slices.Replace(p.maps, first, last, now...)
}

// name is a thread's name, else the process's. The kernel's idle threads, of process 0, are named without an event.
func (p *process) name(tid uint32) string {
	if n, ok := p.names[tid]; ok {
		return n
	}
	if p.pid == 0 {
		return "swapper"
	}
	return p.names[p.pid]
}

func (p *process) rename(tid uint32, name string) {
	if p.names == nil {
		p.names = map[uint32]string{}
	}
	if _, has := p.names[tid]; has || len(p.names) < maxNames {
		p.names[tid] = name
	}
}

func (s *stream) tooMany() {
	s.note([]target.Issue{{Kind: target.IssueCapture, Subject: s.rec.name, Text: s.rec.name + ": too many mappings, or they change too often: some samples are without files"}})
}

// load makes modules of the mappings.
func (s *stream) load(ctx context.Context, p *process) {
	if !s.room.mappings.Draw(len(p.maps)) {
		s.tooMany()
		p.modules = []*target.Module{}
		return
	}
	p.modules = make([]*target.Module, 0, len(p.maps))
	var list target.Snapshot
	for i := range p.maps {
		if ctx.Err() != nil {
			return
		}
		m := &p.maps[i]
		if m.module == nil {
			m.module = s.module(p, m)
		}
		if n := len(list.Modules); n > 0 && list.Modules[n-1].Name == m.name && list.Modules[n-1].Contains(m.Lo) {
			continue // a further segment of a file that was placed
		}
		list.Modules = append(list.Modules, m.module)
	}
	more, issues := s.env.Files.NamedModules(list.Modules, s.rec.arch)
	s.note(issues)
	list.Modules = append(list.Modules, more...)
	list.SortModules()
	p.modules = list.Modules
}

// module is the binary of a mapping; without an image where the file is not at hand.
func (s *stream) module(p *process, m *mapping) *target.Module {
	id := m.buildID
	if id == nil {
		id = s.rec.ids[m.name]
	}
	switch {
	case m.name == vdsoName:
		return s.vdso(m)
	case isMade(m.name) && id == nil:
		return &target.Module{Name: anonymous, Range: m.Range, Bias: m.Lo}
	}
	if img := s.file(p, m.name, id); img != nil {
		switch bias, ok := m.bias(img); {
		case ok && id == nil && !s.loaded.sameBuild(m.name, img):
			s.note([]target.Issue{{Kind: target.IssueNotUsed, Subject: m.name, Text: m.name + ": a file with more or less code than the program's had; not used"}})
		case ok:
			module := target.NewModule(m.name, img, bias&s.rec.arch.AddrMask())
			module.Named = id == nil && img.Path == m.name && m.name != s.env.Files.Exe() && s.ofAnotherRelease()
			return module
		}
	}
	return &target.Module{Name: m.name, Range: target.Range{Lo: p.begin(m), Hi: m.Hi}, Bias: m.Lo - m.off, BuildID: id}
}

// begin is where the file of a mapping begins in memory, as far as nothing else is mapped there: what tools ask for is how far
// behind that an address lies.
func (p *process) begin(m *mapping) uint64 {
	before := uint64(0)
	if i := p.above(m.Lo); i > 0 {
		before = p.maps[i-1].Hi
	}
	if m.off > m.Lo-before {
		return m.Lo
	}
	return m.Lo - m.off
}

// file is the image of a file that a process has mapped: the one that the user names, the one at its path, the one that perf keeps.
func (s *stream) file(p *process, name string, id []byte) *image.Image {
	ref := input.BinaryRef{Name: name, BuildID: id, Arch: s.rec.arch, AnyABI: true, Absolute: true}
	img, issues := s.find(p, ref)
	if img == nil {
		if kept := s.kept(id, "elf"); kept != "" {
			img, issues = s.env.Files.Use(kept, ref)
		}
	}
	s.note(issues)
	if img != nil && img.Entry != 0 && strings.HasPrefix(path.Base(name), jitted) {
		img.Entry = 0 // no program begins there
	}
	return img
}

// deleted ends the names of files that were unlinked (the kernel's d_path).
const deleted = " (deleted)"

// find finds a file that is not kept. Of a file that was deleted, what lies at its path is another: a build ID alone tells otherwise.
func (s *stream) find(p *process, ref input.BinaryRef) (*image.Image, []target.Issue) {
	if exe := s.env.Files.Exe(); exe != "" && p.runs(ref.Name) {
		return s.env.Files.Use(exe, ref)
	}
	file, gone := strings.CutSuffix(ref.Name, deleted)
	if gone && ref.BuildID == nil && slices.Contains(s.env.Files.At(file), file) {
		return nil, []target.Issue{{Kind: target.IssueNotFound, Subject: ref.Name, Text: file + ": deleted when it was recorded; what lies there now is another file, and not used"}}
	}
	return s.env.Files.Find(ref)
}

// jitted begins the names of the files that perf inject --jit writes, one for each function that a run-time made.
const jitted = "jitted-"

// kept is a file of the binaries with a build ID in perf's cache (perf-buildid-cache(1)): elf, kallsyms or vdso; "" where there is none.
func (s *stream) kept(id []byte, file string) string {
	home, err := os.UserHomeDir()
	if err != nil || len(id) < 2 || s.env.Files.Disk().FS != nil {
		return ""
	}
	name := filepath.Join(home, ".debug", ".build-id", hex.EncodeToString(id[:1]), hex.EncodeToString(id[1:]), file)
	if !s.env.Files.Disk().Regular(name) {
		return ""
	}
	return name
}

// runs tells whether a file is the program: its name, of which the kernel keeps 15 bytes (TASK_COMM_LEN), is the process's.
func (p *process) runs(file string) bool {
	const kept = 15
	name := strings.TrimSuffix(path.Base(file), deleted)
	return name[:min(len(name), kept)] == p.name(p.pid)
}

// bias is where the image lies of which a mapping has code.
func (m *mapping) bias(img *image.Image) (bias uint64, ok bool) {
	for i := range img.Segments {
		seg := &img.Segments[i]
		if seg.Exec && m.off < seg.FileOff+uint64(len(seg.Data)) && seg.FileOff < m.off+(m.Hi-m.Lo) {
			return m.Lo - m.off - (seg.Addr - seg.FileOff), true
		}
	}
	return 0, false
}
