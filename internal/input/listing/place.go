package listing

import (
	"path"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/unknown"
)

// place finds where a binary was loaded, from what tells most: addresses beside offsets, the mappings, the registers of a thread
// whose first frames lie in the binary, its symbols.
func (b *binaries) place(k *binary) {
	if k.img != nil && !k.img.Relocatable && k.addrs.Hi != 0 {
		k.bias, k.placed = 0, true // linked where it runs
	}
	bias, mapped := b.mapped(k)
	switch {
	case k.placed:
	case mapped:
		k.bias, k.placed = bias, true
	case k.img != nil:
		k.bias, k.placed = k.bySymbols()
	}
}

// mapped is the bias of a binary by the record's mappings.
func (b *binaries) mapped(k *binary) (bias uint64, ok bool) {
	lowest, code := ^uint64(0), false
	for _, m := range b.maps[path.Base(k.name)] {
		if m.name != k.name && strings.HasPrefix(k.name, "/") && strings.HasPrefix(m.name, "/") || m.off < k.file {
			continue
		}
		off := m.off - k.file
		if k.mapped = max(k.mapped, m.hi); k.img == nil || m.image {
			if m.lo < lowest {
				lowest, bias, ok = m.lo, m.lo-off, true
			}
			continue
		}
		for s := range k.img.Segments {
			seg := &k.img.Segments[s]
			if m.code {
				if seg.Exec && !ok {
					bias, ok = m.lo-seg.Addr&^(pageSize-1), true
				}
				continue
			}
			if (seg.Exec == m.exec || m.exec && !code) && off < seg.FileOff+uint64(len(seg.Data)) && seg.FileOff < off+(m.hi-m.lo) && (!ok || m.exec && !code) {
				bias, ok, code = m.lo-off-(seg.Addr-seg.FileOff), true, m.exec && seg.Exec
			}
		}
	}
	return bias, ok
}

// byRegisters finds biases of binaries by the PC of a thread and its first frame, and by the link register and the second.
func (b *binaries) byRegisters(r *record) {
	for _, t := range r.threads {
		for i, reg := range [...]cpu.Reg{b.arch.PC, b.arch.LR} {
			if i >= len(t.frames) {
				break
			}
			f := &t.frames[i]
			k := b.of(f)
			v, ok := t.value(b.arch, reg)
			if k == nil || k.placed || !ok || !f.HasOffset || strings.HasPrefix(k.name, "<") {
				continue
			}
			if away := (v - f.Offset) % pageSize; away == 0 || i == 1 && away <= longestCall {
				k.bias, k.placed = v-f.Offset-away, true
			}
		}
	}
}

// longestCall is how many bytes a listed address lies in front of the one to which a call returns, at most: MIPS's, with the
// delay slot.
const longestCall = 8

// value is what a thread's list of registers has for one of the processor's.
func (t *thread) value(arch *cpu.Arch, reg cpu.Reg) (uint64, bool) {
	for i := range t.regs {
		if r, ok := arch.RegByName(t.regs[i].Name); ok && r == reg {
			v, _ := arch.SplitCode(t.regs[i].Value)
			return v, true
		}
	}
	return 0, false
}

// bySymbols is the one bias at which all functions that lines name hold the frames' addresses.
func (k *binary) bySymbols() (bias uint64, ok bool) {
	lo, hi := uint64(0), ^uint64(0) // of the bias
	named := 0
	for _, f := range k.samples {
		if f.Addr == 0 || f.Function == "" {
			continue
		}
		sym, found := k.img.Symbols.Named(f.Function)
		if !found {
			continue
		}
		if named++; f.HasFuncOffset {
			lo, hi = f.Addr-sym.Addr-f.FuncOffset, f.Addr-sym.Addr-f.FuncOffset
			continue
		}
		from, to, _, sized := k.img.Symbols.FunctionAt(sym.Addr)
		if sized && f.Addr >= to {
			lo, hi = max(lo, f.Addr-to), min(hi, f.Addr-from)
		}
	}
	if page := pageAbove(lo); named > 0 && page <= hi && hi-page < pageSize {
		return page, true
	}
	return 0, named > 0 && lo == 0 && !k.img.Relocatable
}

// processor is the one that a record is of, from what the user says, what the record says, the program and the registers; nil
// where nothing tells.
func (b *binaries) processor(r *record) *cpu.Arch {
	if raw := b.env.Files.Raw(); raw != nil {
		return raw
	}
	a, name := b.named(), abiName(r.abi)
	if a != nil && (name == "" || a.Name == name) {
		return a
	}
	if i := slices.IndexFunc(b.env.Archs, func(a *cpu.Arch) bool { return a.Name == name && !a.BigEndian }); i >= 0 {
		return b.env.Archs[i]
	}
	for _, t := range r.threads[:min(len(r.threads), maxSamples)] {
		if a := b.printed(t); a != nil {
			return a
		}
	}
	return nil
}

// named is the processor of the binaries that the user named.
func (b *binaries) named() *cpu.Arch {
	paths := []string{b.env.Files.Exe()}
	for _, n := range b.env.Files.Images() {
		paths = append(paths, n.Path)
	}
	for _, p := range paths {
		if p == "" {
			continue
		}
		var img *image.Image
		if img, _ = b.env.Files.Open(p); img != nil {
			return img.Arch
		}
	}
	return nil
}

// abiName is the name of a processor as Android calls the ABI.
func abiName(abi string) string {
	switch abi {
	case "arm64", "arm64-v8a", "aarch64":
		return "aarch64"
	case "arm", "armeabi", "armeabi-v7a":
		return "arm"
	case "x86":
		return "i386"
	case "x86_64", "riscv64", "mips", "mips64":
		return abi
	}
	return ""
}

// printed is the processor whose registers a thread has, nil where several have those or none has.
func (b *binaries) printed(t *thread) (found *cpu.Arch) {
	if len(t.regs) <= leastRegisters {
		return nil
	}
	long := false // 16 digits
	for i := range t.regs {
		long = long || t.regs[i].Digits > 8
	}
	most := len(t.regs) * 3 / 4
	for _, a := range b.env.Archs {
		if a.BigEndian || a.Micro() || long != (a.RegSize == 8) {
			continue
		}
		known := 0
		for i := range t.regs {
			if _, ok := a.RegByName(t.regs[i].Name); ok {
				known++
			}
		}
		switch {
		case known > most:
			found, most = a, known
		case known == most && found != nil && found.Name != a.Name:
			found = nil
		}
	}
	return found
}

// unknownOf is the processor of a record that tells of none.
func unknownOf(r *record) *cpu.Arch {
	size := 4
	for _, t := range r.threads {
		for i := range t.frames {
			if t.frames[i].Addr>>32 != 0 || t.frames[i].how&wide != 0 {
				size = 8
			}
		}
	}
	for i := range r.maps {
		if r.maps[i].hi>>32 != 0 {
			size = 8
		}
	}
	return unknown.Arch(size)
}
