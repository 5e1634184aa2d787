package kernellog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/target"
)

// facts are what a log says of the kernel besides its reports.
type facts struct {
	// version is the kernel's line "Linux version 6.1.0-50-arm64 (…) …", release the word
	// behind "version".
	version, release string
	// offset is by how much the kernel lies above where it was linked (KASLR), linked where
	// that is, 0 where the log does not say.
	offset, linked uint64
	hasOffset      bool
	modules        map[string]*loadedModule
	// loaded are pieces of memory in which parts of modules lie.
	loaded []target.Range
}

// loadedModule is a loaded module as the log knows it.
type loadedModule struct {
	target.Range
	// sections are the addresses of its sections, by name.
	sections map[string]uint64
}

// holdsCode tells whether code may lie at an address in a module: in the section that begins there or right before, and
// in the piece of memory in which the module begins, where the log tells them. Since Linux 6.4, code and data of a
// module lie in pieces of their own.
func (f *facts) holdsCode(name string, addr uint64) bool {
	m := f.modules[name]
	if m == nil {
		return true
	}
	in, at := "", uint64(0)
	for section, lo := range m.sections {
		if lo <= addr && (lo > at || lo == at && section > in) {
			in, at = section, lo
		}
	}
	if in != "" && !strings.Contains(in, "text") && !strings.HasSuffix(in, ".plt") {
		return false
	}
	for _, r := range f.loaded {
		if r.Contains(addr) {
			return r.Contains(m.Lo)
		}
	}
	return true
}

// allocated reads "Register r4 information: 1-page vmalloc region starting at 0xbf002000 allocated at load_module+0xa90/0x21c8".
func (f *facts) allocated(head, tail string) {
	word, rest := cutWord(tail)
	lo, ok := phrases.Hex(word)
	_, pages, _ := cutLast(head, ' ')
	n := phrases.Leading(pages, 0)
	r := target.Range{Lo: lo, Hi: lo + uint64(n)*minPage}
	if ok && n > 0 && n <= maxPages && strings.HasPrefix(rest, "allocated at load_module+") && len(f.loaded) < maxLoaded && !slices.Contains(f.loaded, r) {
		f.loaded = append(f.loaded, r)
	}
}

// The most pieces of modules, and pages of a piece, that are kept; the least page.
const (
	maxLoaded = 64
	maxPages  = 1 << 16
	minPage   = 4096
)

// The most modules of a log, and sections of a module, that are kept.
const (
	maxModules  = 4096
	maxSections = 256
)

// take reads a line.
func (f *facts) take(text string) {
	if head, tail, ok := strings.Cut(text, "-page vmalloc region starting at "); ok {
		f.allocated(head, tail)
		return
	}
	switch {
	case f.release == "" && (strings.HasPrefix(text, "Not tainted ") || strings.HasPrefix(text, "Tainted: ")): // of a hung task
		f.release = releaseIn(text)
	case strings.HasPrefix(text, "Linux version "):
		f.version = text
		f.release, _ = cutWord(text[len("Linux version "):])
	case strings.HasPrefix(text, "Kernel Offset: "): // 0x22000000 from 0xffffffff81000000, or disabled
		word, rest := cutWord(text[len("Kernel Offset: "):])
		if v, ok := phrases.Hex(word); ok || word == "disabled" {
			f.offset, f.hasOffset = v, true
		}
		if from, ok := strings.CutPrefix(rest, "from "); ok {
			word, _ = cutWord(from)
			f.linked, _ = phrases.Hex(word)
		}
	case strings.Contains(text, " Live 0x"):
		f.live(text)
	case strings.HasPrefix(text, "/sys/module/"):
		f.section(text[len("/sys/module/"):])
	}
}

// live reads a line of /proc/modules: "crashy 16384 0 [permanent], Live 0xffffffffc058f000 (OE)".
func (f *facts) live(text string) {
	head, tail, _ := strings.Cut(text, " Live 0x")
	words := strings.Fields(head)
	addr, _ := cutWord(tail)
	lo, ok := phrases.Hex(addr)
	if len(words) < 3 || !ok || lo == 0 {
		return
	}
	size, err := strconv.ParseUint(words[1], 10, 32)
	if m := f.module(words[0]); m != nil && err == nil {
		m.Range = target.Range{Lo: lo, Hi: lo + size}
	}
}

// section reads "crashy/sections/.text:0xffffa08ccc789000".
func (f *facts) section(text string) {
	name, rest, ok := strings.Cut(text, "/sections/")
	section, value, ok2 := strings.Cut(rest, ":")
	addr, ok3 := phrases.Hex(strings.TrimSpace(value))
	if !ok || !ok2 || !ok3 || addr == 0 {
		return
	}
	m := f.module(name)
	if m == nil || len(m.sections) >= maxSections {
		return
	}
	if m.sections == nil {
		m.sections = make(map[string]uint64)
	}
	m.sections[section] = addr
}

// module is the module of a name, nil where there are too many.
func (f *facts) module(name string) *loadedModule {
	if m := f.modules[name]; m != nil || len(f.modules) >= maxModules {
		return m
	}
	if f.modules == nil {
		f.modules = make(map[string]*loadedModule)
	}
	m := new(loadedModule)
	f.modules[name] = m
	return m
}
