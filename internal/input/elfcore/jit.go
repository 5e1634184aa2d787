package elfcore

import (
	"context"
	"fmt"
	"slices"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/input/jitnames"
	"github.com/backsight/backsight/target"
)

// jitSymbol is a variable of programs and libraries that tell GDB of code made at run time.
const jitSymbol = "__jit_debug_descriptor"

const (
	maxJITEntries = 1 << 12
	minJITBytes   = 4 << 20
)

// jitted adds the code that run-times registered by GDB's JIT interface (GDB's manual, "JIT Interface"): ELF files in memory, whose
// sections have the addresses of the code. The list of a process is as long as its run-times made it, so that files are read no more
// than the core has bytes.
//
//	jit_descriptor: version, action_flag (4 bytes each), relevant_entry, first_entry
//	jit_code_entry: next_entry, prev_entry, symfile_addr, symfile_size (8 bytes)
func (f *finder) jitted() {
	read := budget.New("bytes of code registered with GDB", minJITBytes, f.space.file.pages.Size())
	mem, w, seen := f.space.captured, uint64(f.space.arch.AddrSize), make(map[uint64]bool)
	for _, m := range f.modules.list { // those of files; what is added follows behind
		if m.Image == nil {
			continue
		}
		sym, ok := m.Image.Symbols.Loaded(jitSymbol)
		at, known := mem.Word(m.ToTarget(sym.Addr) + 8 + w)
		for ok && known && at != 0 && len(seen) < maxJITEntries && !seen[at] {
			seen[at] = true
			f.addJITted(mem, at, &read)
			at, known = mem.Word(at)
		}
	}
}

// addJITted adds the file of one entry.
func (f *finder) addJITted(mem *target.Memory, at uint64, read *budget.Budget) {
	w := uint64(f.space.arch.AddrSize)
	size := (3*w + 7) &^ 7
	if f.space.arch.Name == "i386" {
		size = 3 * w // whose 8 bytes are aligned to 4
	}
	addr, ok := mem.Word(at + 2*w)
	n, sized := mem.Uint(at+size, 8)
	data := mem.Bytes(addr)
	if !ok || !sized || n == 0 || n > uint64(len(data)) || !read.Draw(int(n)) {
		return
	}
	name := fmt.Sprintf("[jit %#x]", addr)
	img, err := f.binaries.files.Parse(name, data[:n])
	if err != nil {
		f.found.capture(f.name, "%s: code registered with GDB: %v", f.name, err)
		return
	}
	lo, hi := img.Segments.Bounds()
	taken := slices.ContainsFunc(f.modules.list, func(m *target.Module) bool { return m.Lo < hi && lo < m.Hi })
	if lo < hi && !taken {
		f.modules.add(name, img, 0)
	}
}

// made names the code that run-times tell perf of. The kernel lists their logs among the files that were mapped.
func made(ctx context.Context, files *input.Files, pid int, mappings []fileMapping) func(addr uint64) (name string, entry uint64, ok bool) {
	source := new(jitnames.Source)
	for i := range mappings {
		source.Mapped(mappings[i].path)
	}
	return source.Names(ctx, files, pid, false)
}
