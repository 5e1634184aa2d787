package diagnose

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// isKernel tells whether a fault is a Linux kernel's own, which has words where a program has a signal.
func isKernel(snap *target.Snapshot) bool {
	f := snap.Fault
	return snap.OS == "Linux" && !snap.Arch.Micro() && f.Signal == 0 && f.Status == "" && !strings.HasPrefix(f.Name, "SIG")
}

// inKernel explains an access that a kernel could not make. In the memory of a machine the crashed task has gone on to
// stop the kernel: what its instruction does with memory counts only where that is the access.
func inKernel(c *report.Crash, snap *target.Snapshot, th *report.Thread) {
	c.Kind = kindNamed(snap.Fault.Name)
	pointer := c.Address
	if len(th.Frames) > 0 && th.Frames[0].HasAddress() {
		f := &th.Frames[0]
		if f.Exact && c.HasAddress && c.Address == f.PC {
			noCode(c, snap, f.PC)
			return
		}
		if a, ok := innermost(snap, f, &th.Regs); ok && (!c.HasAddress || (c.Address-a.addr)&snap.Arch.AddrMask() < maxAccess) {
			pointer = takeAccess(c, &a, &th.Regs)
		}
	}
	if c.HasAddress {
		c.Reasons = append(c.Reasons, fmt.Sprintf("the kernel %s %#x%s", verb(c.Access), c.Address, throughPointer(c, snap, pointer)))
	}
}

// kindNamed is the kind of a crash of which the kernel's message tells what it was; "" for others.
func kindNamed(message string) string {
	for _, m := range [...]struct{ says, kind string }{
		{"stack guard page was hit", report.CrashStackOverflow}, // arch/x86/mm/fault.c
		{"Insufficient stack space", report.CrashStackOverflow}, // arch/arm64/kernel/traps.c
		{"stack overflow", report.CrashStackOverflow},           // arch/arm/kernel/traps.c, RISC-V's
		{"divide error", report.CrashDivisionByZero},            // arch/x86/kernel/traps.c
	} {
		if strings.Contains(message, m.says) {
			return m.kind
		}
	}
	return ""
}

// takeAccess takes what is known of an access, and returns the pointer that it went through.
func takeAccess(c *report.Crash, a *access, regs *cpu.Registers) (pointer uint64) {
	c.Access = a.how
	if !c.HasAddress {
		c.Address, c.HasAddress = a.addr, true
	}
	if base, ok := regs.Lookup(a.base); a.base != cpu.NoReg && ok {
		return base
	}
	return c.Address
}

// verb says what an access does, before an address.
func verb(access string) string {
	switch access {
	case "read":
		return "reads from"
	case "write":
		return "writes to"
	}
	return "accesses"
}

// throughPointer tells what the pointer was that an access went through, and the kind of crash: pointers of a kernel that went
// wrong often have a value that tells why.
func throughPointer(c *report.Crash, snap *target.Snapshot, pointer uint64) string {
	arch, mask := snap.Arch, snap.Arch.AddrMask()
	pointer &= mask
	if c.Place = poison(pointer, arch, pointer != c.Address); c.Place != "" {
		c.Kind = report.CrashPoison
		return ", through a pointer that is " + c.Place
	}
	switch code := -pointer & mask; {
	case code > 0 && code <= maxErrno:
		c.Kind, c.Place = report.CrashErrorPointer, fmt.Sprintf("error code -%d", code)
		return ", through a pointer that is the " + c.Place
	case c.Address < nullPage: // whatever other register it was computed by
		c.Kind, c.Place = report.CrashNullPointer, nullPlus(c.Address)
		return " through a pointer that is NULL"
	case !canonical(snap, c.Address):
		c.Place = notTranslated
		return ", " + c.Place
	case arch.AddrSize == 8 && c.Address>>63 == 0:
		c.Place = "in the half of user space"
		return ", " + c.Place
	}
	return ""
}

// maxErrno is the largest error code that a pointer may have in place of an address (include/linux/err.h, MAX_ERRNO).
const maxErrno = 4095

// listPoison are what list_del leaves in an entry's next and prev (include/linux/poison.h), without the upper half that 64-bit
// kernels add (CONFIG_ILLEGAL_POINTER_VALUE); the second was 0x200 before Linux 4.6.
var listPoison = [...]uint64{0x100, 0x122, 0x200}

const illegalPointer = 0xdead_0000_0000_0000

// bytePoison are bytes with which a kernel fills memory that nobody may use (include/linux/poison.h).
var bytePoison = [...]struct {
	value byte
	what  string
}{
	{0x6b, "of freed memory, which SLUB fills with 0x6b"},
	{0x5a, "of memory that was never written, which SLUB fills with 0x5a"},
	{0xaa, "of a freed page, filled with 0xaa"},
	{0xcc, "of freed code or data of the kernel's start, filled with 0xcc"},
}

// poison tells what a pointer is whose value a kernel puts where no pointer should be used any more; "" for others. Where only
// the address of a member is known (exact is false), that lies up to 64 KB behind; on 32 bits, of what list_del leaves, it may
// as well be a member behind NULL.
func poison(pointer uint64, arch *cpu.Arch, exact bool) string {
	for _, p := range listPoison {
		reach := uint64(1)
		if arch.AddrSize == 8 {
			p, reach = p|illegalPointer, 32
		}
		if pointer-p < reach && (exact || arch.AddrSize == 8) {
			return fmt.Sprintf("%#x, of an entry that was taken off its list", p)
		}
	}
	const all = 0x0101_0101_0101_0101
	for _, p := range bytePoison {
		if filled := uint64(p.value) * all & arch.AddrMask(); pointer>>16 == filled>>16 {
			return p.what
		}
	}
	return ""
}
