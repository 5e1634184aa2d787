package kernellog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/linux"
	"github.com/backsight/backsight/target"
)

// binaries are the kernel and its modules, placed where they ran as far as the log tells.
type binaries struct {
	arch    *cpu.Arch
	machine *machine
	kernel  *target.Module            // nil: not found
	modules map[string]*target.Module // by name; Image is nil where no file was found
	facts   *facts
	symbols symbols
	issues  []target.Issue
	lower   bool // the kernel lies in the lower half of the address space
}

// find finds the binaries of a machine's kernel. before are those of the part of the log before, nil where there are none.
func (k *scanner) find(m *machine, before *binaries, env *input.Env) *binaries {
	printed := places(k.records)
	b := &binaries{modules: map[string]*target.Module{}, machine: m, facts: &k.facts, symbols: symbols{known: map[symbolKey]symbolAt{}}, lower: isLower(printed)}
	kernel := linux.Kernel{Release: k.release(), Banner: k.facts.version}
	for _, big := range []bool{false, true} { // MIPS's reports do not say the byte order
		arch, ok := env.Archs.ByName(m.name, m.abi, big)
		if !ok {
			continue
		}
		kernel.Arch = arch
		img, issues := linux.Find(env.Files, kernel)
		if b.arch == nil {
			b.arch, b.issues = arch, issues
		}
		if img != nil {
			distance, said := k.bias(img, &b.symbols, printed, before)
			b.arch, b.issues = img.Arch, append(issues, said...)
			b.kernel = before.kernelAt(linux.Placed(img, distance))
			break
		}
	}
	if b.arch != nil && b.kernel == nil && len(b.issues) == 0 {
		b.issues = append(b.issues, kernelMissing(kernel.Release))
	}
	kernel.Arch = b.arch
	k.link(b, &kernel, printed, env)
	return b
}

// kernelAt is a kernel, as the part of the log before had it where that is the same.
func (b *binaries) kernelAt(kernel *target.Module) *target.Module {
	if b != nil && b.kernel != nil && b.kernel.Image == kernel.Image && b.kernel.Bias == kernel.Bias {
		return b.kernel
	}
	return kernel
}

// kernelMissing says that no file is a kernel, and how to name one. release is "" where the log does not tell.
func kernelMissing(release string) target.Issue {
	text := "the kernel was not found; name its vmlinuz or vmlinux with --exe, or a directory that has one with --sysroot"
	if release != "" {
		text = "the kernel " + release + " was not found; name vmlinuz-" + release + " or vmlinux with --exe, or a directory that has one with --sysroot"
	}
	return target.Issue{Kind: target.IssueNotFound, Subject: "vmlinux", Text: text}
}

// release is the kernel's release, from its first message or from a report.
func (k *scanner) release() string {
	for _, r := range k.records {
		if k.facts.release == "" {
			k.facts.release = r.release
		}
	}
	return k.facts.release
}

// link finds the files of the modules that reports name, and adds them where they lay in memory.
// Modules without a file are added as bare address ranges.
func (k *scanner) link(b *binaries, kernel *linux.Kernel, printed []place, env *input.Env) {
	resolve := func(name string) (uint64, bool) {
		if b.kernel == nil {
			return 0, false
		}
		s, ok := b.kernel.Image.Symbols.Named(name)
		return b.kernel.ToTarget(s.Addr), ok
	}
	named, of := k.named(printed), byModule(printed)
	for _, name := range slices.Sorted(maps.Keys(named)) { // the same log gives the same issues in the same order
		ref := named[name]
		if ref.Base == 0 {
			ref.Base = base(kernel, ref, of[name], env, &b.symbols)
		}
		if ref.Base == 0 {
			continue
		}
		m, issues := kernel.Module(env.Files, ref, resolve)
		b.modules[name] = m
		b.issues = append(b.issues, issues...)
	}
	for name, m := range k.facts.modules {
		if b.modules[name] == nil && m.Lo < m.Hi {
			b.modules[name] = &target.Module{Name: name, Range: m.Range}
		}
	}
}

// maxLinked bounds the modules whose files are opened.
const maxLinked = 256

// named are the modules that reports name.
func (k *scanner) named(printed []place) map[string]linux.Module {
	refs := map[string]linux.Module{}
	for i := range printed {
		p := &printed[i]
		if _, known := refs[p.module]; known || p.module == "" || len(refs) >= maxLinked {
			continue
		}
		ref := linux.Module{Name: p.module}
		if m := k.facts.modules[p.module]; m != nil {
			ref.Base, ref.Size, ref.Sections = m.Lo, m.Hi-m.Lo, m.sections
			ref.Base = cmp.Or(ref.Base, m.sections[".text"])
		}
		refs[p.module] = ref
	}
	return refs
}

// byModule are the places in modules that have an address, by the module's name.
func byModule(printed []place) map[string][]*place {
	of := map[string][]*place{}
	for i := range printed {
		if p := &printed[i]; p.module != "" && p.hasAddr {
			of[p.module] = append(of[p.module], p)
		}
	}
	return of
}

// base finds where a module's code begins that the log does not say: by the addresses that
// reports print with its symbols.
func base(kernel *linux.Kernel, ref linux.Module, printed []*place, env *input.Env, names *symbols) uint64 {
	if len(printed) == 0 {
		return 0
	}
	ref.Base, ref.Sections = 0, nil
	at, _ := kernel.Module(env.Files, ref, nil)
	if at.Image == nil {
		return 0
	}
	votes := map[uint64]int{}
	for _, p := range printed {
		if len(votes) >= maxVotes {
			break
		}
		if addr, ok := names.addressOf(at.Image, p); ok {
			votes[p.addr-addr]++
		}
	}
	return mostVoted(votes)
}

// addressOf is the target address of a place; ok is false where neither the log nor a file
// tells.
func (b *binaries) addressOf(p *place) (addr uint64, ok bool) {
	if p.hasAddr {
		return p.addr, true
	}
	m := b.moduleOf(p)
	if p.symbol == "" || m == nil || m.Image == nil {
		return 0, false
	}
	addr, ok = b.symbols.addressOf(m.Image, p)
	return m.ToTarget(addr), ok
}

// lacksName tells whether the file of a place has no symbol of that name: letters of the name were lost.
func (b *binaries) lacksName(p *place) bool {
	m := b.moduleOf(p)
	if m == nil || m.Image == nil {
		return false
	}
	named := false // a file without symbols says nothing
	m.Image.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
		_, named = m.Image.Symbols.At(addr)
		return false
	})
	_, ok := m.Image.Symbols.Named(p.symbol)
	return named && !ok
}

// moduleOf is the binary that a place is in, nil where no file of that name is placed.
func (b *binaries) moduleOf(p *place) *target.Module {
	if p.module != "" {
		return b.modules[p.module]
	}
	return b.kernel
}

// list are all binaries, the kernel first, then the modules by address.
func (b *binaries) list() (list []*target.Module) {
	list = slices.SortedFunc(maps.Values(b.modules), func(a, c *target.Module) int { return cmp.Or(cmp.Compare(a.Lo, c.Lo), cmp.Compare(a.Name, c.Name)) })
	if b.kernel != nil {
		list = slices.Insert(list, 0, b.kernel)
	}
	return list
}

// takeIssues are the issues, once: all reports have the same binaries.
func (b *binaries) takeIssues() (issues []target.Issue) {
	issues, b.issues = b.issues, nil
	return issues
}

// instructions is what the addresses of all instructions are multiples of.
func (b *binaries) instructions() uint64 { return b.arch.InsnAlign }

// behindCall tells whether a call stands in front of a place in code that is known.
func (b *binaries) behindCall(pc uint64) bool {
	pc, mode := b.arch.SplitCode(pc)
	for _, m := range b.list() {
		if m.Image != nil && m.Contains(pc) && m.Image.Arch.Decoder != nil {
			return isBehindCall(m, pc, mode)
		}
	}
	return false
}

// isBehindCall tells whether a call stands in front of pc in a module whose code is known.
func isBehindCall(m *target.Module, pc uint64, mode cpu.Mode) bool {
	at := m.ToImage(pc)
	_, call := m.Image.Arch.Decoder.CallBefore(m.Image.Segments.Before(at, 16), at, mode)
	return call && m.Image.Segments.Executable(at-1)
}

// lacksCode tells whether a place is in the code of a module whose file was not found.
func (b *binaries) lacksCode(pc uint64) bool {
	for name, m := range b.modules {
		if m.Image == nil && m.Contains(pc) && b.facts.holdsCode(name, pc) {
			return true
		}
	}
	return false
}

// compareCode says where the code that a report prints is not that of the binary at its PC:
// then another build ran. Single instructions differ: the kernel changes its own code
// (alternatives, jump labels, tracing).
func (b *binaries) compareCode(c *code, pc uint64) []target.Issue {
	for _, m := range b.list() {
		if m.Image == nil || !m.Contains(pc) {
			continue
		}
		data, at := c.bytes(b.arch.BigEndian)
		image := m.Image.Segments.Bytes(m.ToImage(pc-uint64(at)) & b.arch.AddrMask())
		same, all := 0, min(len(data), len(image))/c.size
		for i := range all {
			if string(data[i*c.size:(i+1)*c.size]) == string(image[i*c.size:(i+1)*c.size]) {
				same++
			}
		}
		if 2*same < all {
			return []target.Issue{{Kind: target.IssueNotUsed, Subject: m.Name, Addr: pc,
				Text: fmt.Sprintf("%s: the code at %#x is not that of the report: another build?", m.Image.Path, pc)}}
		}
	}
	return nil
}
