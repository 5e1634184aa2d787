package perfdata

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/input/linux"
	"github.com/backsight/backsight/target"
)

// kernelPID is the process that kernel code is mapped for. Its name ends with the symbol at whose address it is in fact
// loaded, and which the offset tells: "[kernel.kallsyms]_text".
const kernelPID, kernelName = ^uint32(0), "[kernel.kallsyms]"

// kernel is the kernel as a recording tells of it.
type kernel struct {
	symbol string
	target.Range
	at     uint64         // of symbol
	module *target.Module // nil: not yet made
	// loaded are its modules and the code that it made of BPF programs, sorted, none overlaps another. Their functions have no names.
	loaded []*target.Module
}

// mapped reads where the kernel lies, or a module of it.
func (k *kernel) mapped(m *mapping) {
	if symbol, ok := strings.CutPrefix(m.name, kernelName); ok {
		k.Range, k.symbol, k.at, k.module = m.Range, symbol, m.off, nil
	} else {
		k.load(&target.Module{Name: m.name, Range: m.Range, Bias: m.Lo})
	}
}

// made reads that the kernel has made or removed code (PERF_RECORD_KSYMBOL): address, length, kind, flags, name.
func (k *kernel) made(body []byte, big bool) {
	const unregister = 1
	in := bin.New(body, big)
	m := &target.Module{Bias: in.U64()}
	m.Range = target.Range{Lo: m.Bias, Hi: m.Bias + uint64(in.U32())}
	in.Skip(2)
	gone := in.U16()&unregister != 0
	m.Name = in.CString()
	if in.Err() == nil && m.Lo < m.Hi && !gone { // where samples were taken before, it had its name
		k.load(m)
	}
}

// maxLoaded bounds the modules of the kernel: machines have some hundred, and some hundred BPF programs.
const maxLoaded = 1 << 12

// load adds code of the kernel; what lay there before is gone.
func (k *kernel) load(m *target.Module) {
	first := k.above(m.Lo)
	last := first
	for last < len(k.loaded) && k.loaded[last].Lo < m.Hi {
		last++
	}
	if len(k.loaded)-(last-first) < maxLoaded && !(m.Lo < k.Hi && k.Lo < m.Hi) {
		k.loaded = slices.Replace(k.loaded, first, last, m)
	}
}

// above is the first of the modules that ends behind an address.
func (k *kernel) above(addr uint64) int {
	return sort.Search(len(k.loaded), func(i int) bool { return k.loaded[i].Hi > addr })
}

// of are the modules that a snapshot's samples have calls in.
func (k *kernel) of(snap *target.Snapshot) (list []*target.Module) {
	listed := map[*target.Module]bool{}
	for i := range snap.Threads {
		for _, l := range snap.Threads[i].Inner {
			at := l.PC
			if !l.Exact {
				at--
			}
			if n := k.above(at); n < len(k.loaded) && k.loaded[n].Contains(at) && !listed[k.loaded[n]] {
				list, listed[k.loaded[n]] = append(list, k.loaded[n]), true
			}
		}
	}
	return list
}

// addKernel adds the kernel to a snapshot, with its image where the user has that, and what it has loaded.
func (s *stream) addKernel(snap *target.Snapshot) {
	k := &s.kernel
	if k.Hi == 0 {
		return
	}
	if k.module == nil {
		k.module = s.loadKernel()
	}
	snap.Modules = append(slices.Clip(snap.Modules), k.module)
	if len(k.loaded) > 0 {
		snap.Modules = append(snap.Modules, k.of(snap)...)
	}
	snap.SortModules()
	if k.module.Image == nil {
		snap.Issues = append(snap.Issues, target.Issue{Kind: target.IssueNotFound, Subject: kernelName,
			Text: strings.TrimSpace("the kernel "+s.rec.release) + " was not found: frames in it have no names; name vmlinux, or a directory that has it with --sysroot"})
	}
}

func (s *stream) loadKernel() *target.Module {
	k := &s.kernel
	m := &target.Module{Name: kernelName, Range: k.Range, Bias: k.Lo, BuildID: s.rec.ids[kernelName]}
	img, _ := linux.Find(s.env.Files, linux.Kernel{Release: s.rec.release, BuildID: m.BuildID, Arch: s.rec.arch}) // the program's files are no kernels
	if img == nil {
		return s.kernelNames(m)
	}
	if bias, ok := k.bias(img); ok {
		m = linux.Placed(img, bias)
		m.Name = kernelName
	}
	return m
}

// kernelNames is the kernel with the names of its functions: those beside the recording, those that perf keeps of its kernel
// (perf-buildid-cache(1)), or those of the kernel that runs, if it is the same. It is m where none are known.
func (s *stream) kernelNames(m *target.Module) *target.Module {
	var paths []string
	if s.rec.directory { // perf record --kcore
		paths = append(paths, filepath.Join(filepath.Dir(s.rec.name), "kcore_dir", "kallsyms"))
	}
	if kept := s.kept(m.BuildID, "kallsyms"); kept != "" {
		paths = append(paths, kept)
	}
	const idAt = 16 // behind the header of the note, and its owner's name: GNU
	if notes, _ := os.ReadFile("/sys/kernel/notes"); s.ofThisRelease() && (len(m.BuildID) == 0 || bytes.HasPrefix(notes[min(idAt, len(notes)):], m.BuildID)) {
		paths = append(paths, "/proc/kallsyms")
	}
	for _, path := range paths {
		if named, err := linux.Names(s.env.Files, path, s.rec.arch, s.kernel.Range, s.kernel.symbol, s.kernel.at); err == nil {
			named.Name, named.BuildID = m.Name, m.BuildID
			return named
		}
	}
	return m
}

// bias is by how much the kernel lies above where it is linked.
func (k *kernel) bias(img *image.Image) (uint64, bool) {
	sym, ok := img.Symbols.Named(k.symbol)
	return k.at - sym.Addr, ok
}

// eventNames reads of each event its attribute, IDs and name.
func (r *recording) eventNames(in *bin.Reader) {
	n, size := in.U32(), in.U32()
	r.names = r.names[:0]
	for range min(n, maxAttributes) {
		in.Skip(uint64(size))
		ids := in.U32()
		name := strings.TrimRight(string(in.Bytes(uint64(in.U32()))), "\x00")
		in.Skip(8 * uint64(ids))
		if in.Err() != nil {
			return
		}
		r.names = append(r.names, name)
	}
}
