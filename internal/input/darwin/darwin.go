// Package darwin is what crash reports of macOS and iOS have in common, whoever wrote them and
// in whichever form: the binaries that were loaded, by path and UUID, the threads with the
// frames that the reporter found, registers by name. No report has memory.
//
//	report ─► Report ─► binaries by UUID ─► target.Snapshot
//	                    frames            ─► target.Thread.Listed
package darwin

import (
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// Report is a crash report that was read.
type Report struct {
	Arch     *cpu.Arch
	OS       string // "macOS", "iOS", …
	Command  string
	PID      int
	Time     string // as the report writes it
	Threads  []target.Thread
	Binaries []Binary
	Fault    *target.Fault
	Issues   []target.Issue
}

// Binary is a binary as a report names it. Base is where its mach header was mapped.
type Binary struct {
	Name       string // its path, or what the report has for that
	Base, Size uint64
	UUID       []byte // nil: not known
}

// codeBits are those of addresses in programs. arm64e signs code pointers in the bits above.
const codeBits = 47

// CodeMask has the address bits of code pointers; 0 where they may hold nothing else.
func CodeMask(arch *cpu.Arch) uint64 {
	if len(arch.AddrBits) == 0 {
		return 0
	}
	return 1<<codeBits - 1
}

// Snapshot is the report as a stopped program without memory. Binaries are found by files.
func (r *Report) Snapshot(files *input.Files) *target.Snapshot {
	var none target.Builder
	snap := &target.Snapshot{
		Arch: r.Arch, OS: r.OS, Command: r.Command, PID: r.PID, Time: r.Time, Threads: r.Threads,
		Memory: none.Memory(r.Arch), Fault: r.Fault, CodeMask: CodeMask(r.Arch), Issues: r.Issues,
	}
	for i := range snap.Threads {
		place(r.Arch, &snap.Threads[i])
	}
	modules, issues := Modules(files, r.Arch, r.Binaries)
	snap.Modules, snap.Issues = modules, append(snap.Issues, issues...)
	snap.SortModules()
	return snap
}

// place makes an exact first frame of a list the place where the thread stands, where the report
// has no registers.
func place(arch *cpu.Arch, t *target.Thread) {
	if len(t.Listed) == 0 || !t.Listed[0].Exact {
		return
	}
	if _, ok := t.Regs.Lookup(arch.PC); !ok {
		t.Regs.Set(arch.PC, t.Listed[0].PC)
	}
}

// Outermost tells whether nothing calls a function: where threads begin.
func Outermost(symbol string) bool {
	switch symbol {
	case "start", "_start", "thread_start", "start_wqthread", "_dyld_start":
		return true
	}
	return false
}

// Register sets a register by the name that a report has for it; others than the processor's
// (trap numbers, fault addresses, segments) are left out.
func Register(arch *cpu.Arch, regs *cpu.Registers, name string, v uint64) {
	name = strings.ToLower(name)
	if r, ok := arch.RegByName(name); ok {
		regs.Set(r, v)
	}
}

// cpuType is the Mach-O cputype of a processor by the name that reports have for it, 0 for none.
func cpuType(name string) cpu.MachOType {
	switch name {
	case "x86-64", "x86_64", "x86_64h":
		return 0x0100_0007
	case "x86", "i386":
		return 7
	case "arm-64", "arm64", "arm64e":
		return 0x0100_000c
	case "arm64_32":
		return 0x0200_000c
	case "arm", "armv7", "armv7s", "armv7k", "armv6":
		return 12
	}
	return 0
}

// Arch is the processor of a name in a report: "ARM-64 (Native)", "x86_64".
func Arch(archs cpu.Set, name string) (*cpu.Arch, bool) {
	name, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), " ")
	return archs.ByMachO(cpuType(name))
}

// System is the name of the operating system in a report's "iPhone OS 16.0 (20A362)".
func System(version string) string {
	for _, s := range [...]struct{ prefix, name string }{
		{"iPhone OS", "iOS"}, {"iOS", "iOS"}, {"iPadOS", "iPadOS"}, {"Watch OS", "watchOS"}, {"watchOS", "watchOS"},
		{"Apple TVOS", "tvOS"}, {"tvOS", "tvOS"}, {"xrOS", "visionOS"}, {"visionOS", "visionOS"},
	} {
		if strings.HasPrefix(version, s.prefix) {
			return s.name
		}
	}
	return "macOS"
}

// maxName bounds in bytes what a report says in the name of a thread. The kernel keeps 32 bytes
// of a process's name and 64 of a thread's; an exception's reason may be longer.
const maxName = 200

// Shortened is text of a report for the name of a thread, or of many threads: its beginning
// where it is too long for that, with "…" behind.
func Shortened(text string) string {
	if len(text) <= maxName {
		return text
	}
	return strings.ToValidUTF8(text[:maxName], "") + "…"
}
