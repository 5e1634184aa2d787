// Package target is a stopped program: its threads' registers, its memory, and
// which executable files were mapped where. Capture formats fill it in (package
// input); the unwinder only reads it. Addresses are target addresses, as mapped,
// unless a name says image address.
package target

import (
	"iter"
	"math/bits"
	"sort"

	"github.com/backsight/backsight/cpu"
)

// Snapshot is a frozen program. It is immutable once an input package returned it.
type Snapshot struct {
	Arch    *cpu.Arch
	OS      string // "Linux", "bare", … ; "" unknown
	Command string // program name or command line, where the capture tells
	PID     int
	Time    string // when it stopped, as the capture writes that; "" where none tells
	Threads []Thread
	Memory  *Memory
	Modules []*Module // sorted by Lo
	Fault   *Fault
	// CodeMask has the address bits of code pointers (AArch64 pointer
	// authentication); 0 means all. Unsigned applies it.
	CodeMask uint64
	// Sampled: this is a profile. Threads are moments of a running program, one after the other, and not what ran side by side.
	Sampled bool
	// Hooks are the addresses that a tracer of the kernel puts in the place of return
	// addresses; what stood there is in Thread.Hooked.
	Hooks []uint64
	Told
	// Issues are what was wrong with the capture, or with its binaries, and did not stop
	// the reading.
	Issues []Issue
	// Forget, unless nil, gives back the memory of what was read of the capture's file: who goes from thread to thread looks at
	// each stack once.
	Forget func()
}

// Told is what the kernel and run-times said besides.
type Told struct {
	// Log is what the kernel logged, as dmesg prints it, where the capture holds it.
	Log string
	// Made, unless nil, names code that the program made while it ran, by target address, and says where the function begins.
	Made func(addr uint64) (name string, entry uint64, ok bool)
}

// leastAddressBits is how many bits addresses of a program have on AArch64 at least, in kernels for phones.
const leastAddressBits = 39

// AddressMask is a CodeMask where the capture states none: signatures are above the bits of the highest address that is mapped, if code
// pointers may have signatures. Else 0.
func AddressMask(arch *cpu.Arch, highest uint64) uint64 {
	if len(arch.AddrBits) == 0 {
		return 0
	}
	return 1<<max(leastAddressBits, bits.Len64(highest)) - 1
}

// Unsigned is a code pointer without its signature; mask has the bits of the address. Bit 55 tells
// the halves of the address space, and is extended (Arm ARM, AddPAC): the kernel's half ends in ones.
func Unsigned(pc, mask uint64) uint64 {
	if pc>>55&1 != 0 {
		return pc | ^mask
	}
	return pc & mask
}

// Thread is one thread's registers at the moment of the capture.
type Thread struct {
	ID      int
	Name    string
	Regs    cpu.Registers
	Crashed bool
	Standing
	// Fault is why this thread crashed, where several did; nil: as Snapshot.Fault says.
	Fault *Fault
	// Stack bounds the stack where the capture knows it; Lo == Hi: unknown.
	Stack Range
	// Shadow is the address of the newest entry of the processor's shadow stack, to which each call pushes its return address
	// (x86 SHSTK, AArch64 GCS); 0: none.
	Shadow uint64
	// Entered is where a kernel's entry code put the registers of user space, on the thread's stack, 0 if unknown: the
	// outermost frame's CFA.
	Entered uint64
	// Memory, where set, is the thread's own: each report in a console log shows memory of
	// its own moment. nil: the snapshot's.
	Memory *Memory
	// Listed is the call chain that the capture itself states, innermost first, as a
	// kernel's trace or a crash reporter's list does; nil where there is none.
	Listed []Listed
	// Moment says when a sample of a profile was taken, nil in other snapshots.
	Moment *Moment
	// Inner are the frames in which the kernel ran for the thread, innermost first, as the capture lists them; Regs are then
	// those of user space.
	Inner []Listed
	// Hooked are the calls whose return addresses a tracer replaced, the outermost first. The
	// list may end in calls that are over already.
	Hooked []HookedReturn
	// Task is what the kernel knows of the thread, nil where there is none.
	Task *Task
}

// Standing says how a thread's registers are meant.
type Standing struct {
	// Waits: the PC in Regs is a return address, that of the call in which the thread waits.
	Waits bool
	// AtVector: the PC is that of an exception vector's first instruction, and the other registers in Regs are those of the
	// code that was interrupted.
	AtVector bool
	// Stale: Regs may be older than the memory. Either the kernel saved Regs when the task was
	// switched out last, and the task may be running since; or the processor could not save
	// its registers, and an older set was there.
	Stale bool
}

// Moment is when and why a sample was taken.
type Moment struct {
	Time   uint64 // in nanoseconds, of a clock of the machine; 0 unknown
	First  uint64 // Time of the recording's first sample
	CPU    int    // negative: unknown
	Event  string // "cpu-clock"; "" unknown
	Period uint64 // how often that happened since the sample before
}

// Listed is a frame that a capture states. PC is a target address, 0 where only the
// symbol is known.
type Listed struct {
	PC uint64
	// Entry is where the function begins, 0 where nobody says. PC may be 0 then.
	Entry uint64
	// Exact: PC is where the frame stands, and not a return address.
	Exact bool
	// Doubtful: the capture itself says that the frame may be none, as "?" does in a
	// kernel's trace.
	Doubtful bool
	// Searched: whoever made the list found the frame by a search through the stack, so that
	// any of them may be left over from calls that have returned.
	Searched bool
	// Gap: frames may be missing between this one and the one before.
	Gap bool
	// Around: the capture says that the function is running, further out than the entries before, but
	// not where in it; what lies between the capture does not say. PC is where the function begins.
	// Such entries stand at the end of a list.
	Around bool
	// Outermost: nothing called the frame, as the capture's format knows.
	Outermost bool
	// ByName: PC is where a file has the symbol, and not stated by the capture.
	ByName bool
	// Symbol and Module are the names that the capture gives, "" for none. PC is Offset
	// bytes into Symbol, which has Size bytes; Size is 0 where it is not known.
	Symbol, Module string
	Offset, Size   uint64
	Source
	Statement
}

// Statement says more exactly what a capture states of a place.
type Statement struct {
	// Within: PC lies within the call, in front of the return address.
	Within bool
	// Mode, if HasMode, is the ISA mode at PC.
	Mode    cpu.Mode
	HasMode bool
	// NoOffset: how far PC lies in Symbol is not known.
	NoOffset bool
}

// Source is a place in the source that a capture gives, "" and 0 for none.
type Source struct {
	File string
	Line int
	// Inlined are the functions that the capture says were inlined at the place, innermost first.
	Inlined []Place
}

// Place is a function and a place in its source, as a capture names them.
type Place struct {
	Function, File string
	Line           int
}

// Fault says why the program stopped.
type Fault struct {
	Signal  int
	Name    string // SIGSEGV, HardFault, …
	Code    int    // si_code
	Address uint64
	// HasAddress: Address is meaningful (for SIGSEGV, SIGBUS, …).
	HasAddress bool
	Thread     int // ID of the thread that it hit
	// Status is what the processor's fault status registers say, in words; "" where the
	// capture has none.
	Status string
	// Says is what else the capture says of the cause, in its own words: messages, a line each.
	Says string
	// Sender is the process that sent the signal, PID 0 where none did or nobody knows.
	Sender Sender
}

// Sender is a process, and the user it runs as.
type Sender struct{ PID, UID int }

// Range is Lo ≤ address < Hi.
type Range struct{ Lo, Hi uint64 }

// RangeOf is size bytes from addr on, cut before the last of 2⁶⁴ addresses.
func RangeOf(addr, size uint64) Range { return Range{addr, addr + min(size, ^addr)} }

// Contains tells whether addr is in r.
func (r Range) Contains(addr uint64) bool { return addr-r.Lo < r.Hi-r.Lo }

// Words are the addresses of the whole words of size bytes in r, one behind the other from Lo on. They end where r
// reaches the last of 2⁶⁴ addresses, too, behind which a sum of addresses begins again at 0.
func (r Range) Words(size uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for at := r.Lo; at < r.Hi && r.Hi-at >= size && yield(at); at += size {
		}
	}
}

// Of is the snapshot as thread t sees it, with the thread's own memory where it has some.
func (s *Snapshot) Of(t *Thread) *Snapshot {
	if t.Memory == nil || t.Memory == s.Memory {
		return s
	}
	own := *s
	own.Memory = t.Memory
	return &own
}

// ModuleAt returns the module that maps addr.
func (s *Snapshot) ModuleAt(addr uint64) (*Module, bool) {
	lo, hi := 0, len(s.Modules)
	for lo < hi {
		k := int(uint(lo+hi) >> 1)
		if s.Modules[k].Lo <= addr {
			lo = k + 1
		} else {
			hi = k
		}
	}
	// Ranges of modules may enclose one another's gaps; look a few back.
	for k := lo - 1; k >= 0 && k >= lo-4; k-- {
		if s.Modules[k].Contains(addr) {
			return s.Modules[k], true
		}
	}
	return nil, false
}

// SortModules puts Modules in the order that ModuleAt needs.
func (s *Snapshot) SortModules() {
	sort.SliceStable(s.Modules, func(i, j int) bool { return s.Modules[i].Lo < s.Modules[j].Lo })
}

// StackOf returns the readable range around a thread's SP: the thread's own
// bounds if known, else the memory segment that holds SP.
func (s *Snapshot) StackOf(t *Thread) Range {
	if t.Stack.Lo < t.Stack.Hi {
		return t.Stack
	}
	sp, ok := t.Regs.Lookup(s.Arch.SP)
	if !ok {
		return Range{}
	}
	return s.Memory.RangeAt(sp & s.Arch.AddrMask())
}
