package snapshot

import (
	"context"
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// builder turns records into snapshots. It keeps what consecutive snapshots
// share: the names of registers, and the modules.
type builder struct {
	env   *input.Env
	name  string // of the capture
	dir   string // of the capture
	names map[*cpu.Arch]map[string]cpu.Reg
	last  moduleSet
}

func (b *builder) snapshot(ctx context.Context, r *record) (*target.Snapshot, error) {
	want, err := b.wanted(r)
	if err != nil {
		return nil, err
	}
	set := b.modules(ctx, r, want)
	arch := set.arch(want)
	if arch == nil {
		return nil, fmt.Errorf("no arch is stated and no binary tells it")
	}
	snap := &target.Snapshot{
		Arch: arch, OS: r.os, Memory: memory(ctx, r, arch), Modules: set.modules,
		CodeMask: codeMask(r),
	}
	for _, text := range r.issues {
		b.issue(snap, text)
	}
	snap.Issues = append(snap.Issues, set.issues...)
	b.threads(snap, r)
	if r.fault.present {
		snap.Fault = &target.Fault{
			Signal: int(r.fault.signal), Name: r.fault.name, Code: int(r.fault.code),
			Address: r.fault.address & arch.AddrMask(), HasAddress: r.fault.hasAddress, Thread: crashed(snap.Threads),
		}
	}
	return snap, nil
}

// issue notes what is wrong with the snapshot itself.
func (b *builder) issue(snap *target.Snapshot, text string) {
	snap.Issues = append(snap.Issues, target.Issue{Kind: target.IssueCapture, Subject: b.name, Text: text})
}

// stated is the processor that a snapshot asks for.
type stated struct {
	arch *cpu.Arch // nil: not stated
	abi  string    // "": open
}

// alias knows other words for the CPUs of the format, as uname -m, Debian and
// GOARCH spell them, and what they say about the byte order and the ABI, "" where
// nothing. Microcontrollers are arm with an ABI of their own; captures name the
// core (cortex-m4, cortexm3) or the architecture as -march does (armv7e-m).
func alias(name string) (arch, endian, abi string) {
	switch name {
	case "mipsel", "mips64el":
		return strings.TrimSuffix(name, "el"), "little", ""
	case "mipsle", "mips64le":
		return strings.TrimSuffix(name, "le"), "little", ""
	case "arm64":
		return "aarch64", "", ""
	case "amd64", "x86-64":
		return "x86_64", "", ""
	case "x86", "i486", "i586", "i686", "386":
		return "i386", "", ""
	case "armv6m", "armv6-m", "armv6s-m", "armv7m", "armv7-m", "armv7em", "armv7e-m":
		return "arm", "", "cortexm"
	}
	for _, prefix := range []string{"cortex-m", "cortexm", "armv8m", "armv8-m", "armv8.1-m"} {
		if strings.HasPrefix(name, prefix) {
			return "arm", "", "cortexm"
		}
	}
	return name, "", ""
}

// ofABI is the CPU that has the stated ABI. The two widths of MIPS have a name
// each, but captures say mips of both, and uname -m says mips64 of a 64-bit
// kernel that runs an o32 program.
func ofABI(name, abi string) string {
	switch {
	case name == "mips" && (abi == "n32" || abi == "n64"):
		return "mips64"
	case name == "mips64" && abi == "o32":
		return "mips"
	}
	return name
}

// wanted finds the stated processor. Where the byte order is not stated, the
// CPU's first entry in the list counts, until a binary tells.
func (b *builder) wanted(r *record) (stated, error) {
	if r.arch == "" {
		return stated{}, nil
	}
	name, endian, abi := alias(strings.ToLower(r.arch))
	if r.endian != "" {
		endian = r.endian
	}
	if r.abi != "" {
		abi = r.abi
	}
	name = ofABI(name, abi)
	for _, big := range []bool{false, true} {
		if endian == "big" && !big || endian == "little" && big {
			continue
		}
		if a, ok := b.env.Archs.ByName(name, abi, big); ok {
			return stated{a, abi}, nil
		}
	}
	return stated{}, fmt.Errorf("unknown processor: arch %q, endian %q, abi %q", r.arch, r.endian, r.abi)
}

func memory(ctx context.Context, r *record, arch *cpu.Arch) *target.Memory {
	var b target.Builder
	b.Until(ctx)
	b.Grow(len(r.memory))
	for _, c := range r.memory {
		b.Add(c.base&arch.AddrMask(), c.bytes, 0, target.PermUnknown)
	}
	return b.Memory(arch)
}

// codeMask: PAC masks, as Linux states them, have the bits that are not address.
func codeMask(r *record) uint64 {
	if r.codeMask == 0 && r.pacMask != 0 {
		return ^r.pacMask
	}
	return r.codeMask
}

func (b *builder) threads(snap *target.Snapshot, r *record) {
	names, lost := b.registers(snap.Arch), 0
	snap.Threads = make([]target.Thread, len(r.threads))
	for i, t := range r.threads {
		out := &snap.Threads[i]
		out.ID, out.Name, out.Crashed = int(t.id), t.name, t.crashed
		for _, v := range r.regs[t.from:t.to] {
			reg, ok := names[v.name]
			if !ok {
				reg, ok = names[strings.ToLower(v.name)]
			}
			if ok {
				out.Regs.Set(reg, v.value&widthMask(snap.Arch.Regs[reg].Size))
			}
		}
		if _, ok := out.Regs.Lookup(snap.Arch.PC); !ok {
			lost++
		}
	}
	if lost > 0 {
		b.issue(snap, fmt.Sprintf("%d of %d threads have no program counter", lost, len(snap.Threads)))
	}
}

// widthMask has the bits of a register of size bytes: a 64-bit kernel's or
// debugger's sign extension of 32-bit registers is cut off once, here.
func widthMask(size int) uint64 {
	if size <= 0 || size >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*size) - 1
}

// registers is the table of a processor's register names and aliases.
func (b *builder) registers(a *cpu.Arch) map[string]cpu.Reg {
	if m, ok := b.names[a]; ok {
		return m
	}
	m := make(map[string]cpu.Reg)
	for i := len(a.Regs) - 1; i >= 0; i-- {
		for _, n := range a.Regs[i].Names {
			m[n] = cpu.Reg(i) // the lower register wins, as in Arch.RegByName
		}
	}
	b.names[a] = m
	return m
}

// crashed is the ID of the thread that a fault hit: the thread that the snapshot marks, else the
// first thread.
func crashed(threads []target.Thread) int {
	for i := range threads {
		if threads[i].Crashed {
			return threads[i].ID
		}
	}
	return threads[0].ID
}
