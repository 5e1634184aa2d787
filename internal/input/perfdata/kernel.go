package perfdata

import (
	"bytes"
	"os"
	"slices"
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
}

// mapped reads where the kernel lies; modules of the kernel are not looked at.
func (k *kernel) mapped(m *mapping) {
	if symbol, ok := strings.CutPrefix(m.name, kernelName); ok {
		k.Range, k.symbol, k.at, k.module = m.Range, symbol, m.off, nil
	}
}

// addKernel adds the kernel to a snapshot, with its image where the user has that.
func (s *stream) addKernel(snap *target.Snapshot) {
	k := &s.kernel
	if k.Hi == 0 {
		return
	}
	if k.module == nil {
		k.module = s.loadKernel()
	}
	snap.Modules = append(slices.Clip(snap.Modules), k.module)
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

// kernelNames is the kernel with the names of its functions: those that perf keeps of the recording's kernel (perf-buildid-cache(1)), or
// those of the kernel that runs, if it is the same. It is m where none are known.
func (s *stream) kernelNames(m *target.Module) *target.Module {
	var paths []string
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
