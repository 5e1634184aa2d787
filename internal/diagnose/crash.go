// Package diagnose says in words why a program stopped: what the signal means, what the
// instruction did with which memory, whether the stack was exhausted or overwritten.
// Nothing here changes a backtrace.
package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Crash says why the program of snap stopped, where th is the thread that the fault hit.
// It returns nil where the capture tells of no fault.
func Crash(snap *target.Snapshot, th *report.Thread) *report.Crash {
	f := snap.Fault
	if f == nil {
		return nil
	}
	c := &report.Crash{Signal: f.Name, Address: f.Address, HasAddress: f.HasAddress}
	if f.Code != 0 || f.Sender.PID != 0 {
		c.Code = codeName(f.Name, f.Code)
	}
	for i := range plainCodes {
		if known := &plainCodes[i]; known.code == c.Code {
			c.Kind, c.Reasons = known.kind, append(c.Reasons, known.text)
		}
	}
	snap = snap.Of(th.Thread)
	if f.Status != "" {
		c.Reasons = append(c.Reasons, f.Status)
	}
	switch {
	case f.Status != "" && f.Signal == 0:
		processor(c, snap, th)
	case snap.Arch.Micro(): // no system there has signals
		circumstances(c, snap, th)
	case isKernel(snap):
		inKernel(c, snap, th)
	case f.Sender.PID != 0 || f.Name == "SIGABRT":
		if sent(c, snap); c.Kind == report.CrashAbort {
			c.Reasons = appendSaid(c.Reasons, lastWords(snap), uncaught(snap, th), goDied(snap, th), rustDied(snap, th))
		}
	case len(th.Frames) > 0 && ofMemory(f.Name):
		memory(c, snap, th)
	}
	for message := range strings.Lines(f.Says) {
		c.Reasons = append(c.Reasons, strings.TrimSpace(message))
	}
	if o := th.Overwritten; o != nil {
		smashed := overwritten(o, snap.Arch.AddrSize)
		if c.Kind != "" && c.Kind != report.CrashAbort && o.Frame > 0 {
			c.Reasons = append(c.Reasons, smashed) // the function with that return address has not returned
			return c
		}
		c.Kind, c.Reasons = report.CrashSmashedReturn, slices.Insert(c.Reasons, 0, smashed)
	}
	return c
}

// ofMemory tells whether a fault is an access to memory that failed; how is behind the name of Windows' and Apple's.
func ofMemory(name string) bool {
	return slices.ContainsFunc([]string{"SIGSEGV", "SIGBUS", "EXC_BAD_ACCESS", "EXCEPTION_ACCESS_VIOLATION"}, func(n string) bool { return strings.HasPrefix(name, n) })
}

// sent explains a signal that a program sent. A program that calls abort sends itself
// SIGABRT.
func sent(c *report.Crash, snap *target.Snapshot) {
	sender := snap.Fault.Sender
	switch {
	case sender.PID == 0 || sender.PID == snap.PID:
		if c.Signal == "SIGABRT" {
			c.Kind = report.CrashAbort
			c.Reasons = append(c.Reasons, "the program ended itself (abort)")
			return
		}
		c.Reasons = append(c.Reasons, "the program sent the signal to itself")
	default:
		c.Kind = report.CrashKilled
		c.Reasons = append(c.Reasons, fmt.Sprintf("process %d of user %d sent the signal", sender.PID, sender.UID))
	}
}

// memory explains an access that was refused.
func memory(c *report.Crash, snap *target.Snapshot, th *report.Thread) {
	f := &th.Frames[0]
	if c.HasAddress && c.Address == f.PC && c.Code != "BUS_ADRALN" || f.Checks&(unwind.Executable|unwind.CodeMissing) == 0 && noCodeAt(snap, c, f.PC) {
		if noCode(c, snap, f.PC); th.Overwritten != nil && th.Overwritten.Frame == 0 {
			c.Reasons = nil // a return led there, and no call
		}
		return
	}
	if !c.HasAddress {
		if to, untranslated := badTarget(snap, f, &th.Regs); untranslated {
			noCode(c, snap, to)
			return
		}
	}
	a, ok := innermost(snap, f, &th.Regs)
	switch {
	case ok && !c.HasAddress && (c.Code == "" || c.Code == "SI_KERNEL"):
		c.Address, c.HasAddress, c.Access = a.addr, true, a.how
	case ok && c.Address-a.addr < maxAccess:
		c.Access = a.how
	}
	if !c.HasAddress {
		return
	}
	if c.Place = placeOf(snap, c.Address); c.Place == "" && c.Code == "SEGV_MAPERR" {
		c.Place = behind(snap, c.Address)
	}
	if s := stackOverflow(c.Address, snap, th); s != "" {
		c.Kind, c.Place = report.CrashStackOverflow, "just below the stack"
		c.Reasons = append(c.Reasons, s)
		return
	}
	refused(c, snap, c.Code == "BUS_ADRALN" || ok && c.Code == "SI_KERNEL" && a.misaligned())
	if ok && c.Address-a.addr < maxAccess && a.base != cpu.NoReg {
		c.Reasons = appendSaid(c.Reasons, "", originOf(snap, f, &th.Regs, a.base))
	}
}

// maxAccess is how far behind its first byte an access may fault: a store of many
// registers across the end of a page.
const maxAccess = 512

// noCodeAt tells whether a PC for which no code was found has none. The answer is no where the
// capture states which access faulted, which then was not the fetch of the instruction, and where
// the code may be in a binary that was not found.
func noCodeAt(snap *target.Snapshot, c *report.Crash, pc uint64) bool {
	if c.HasAddress && c.Code != "SI_KERNEL" {
		return false
	}
	if pc < nullPage {
		return true
	}
	missing := func(i target.Issue) bool { return i.Kind == target.IssueNotFound || i.Kind == target.IssueNotUsed }
	m, inModule := snap.ModuleAt(pc)
	return !(inModule && m.Image == nil) && !slices.ContainsFunc(snap.Issues, missing)
}

// noCode explains a PC that is no code.
func noCode(c *report.Crash, snap *target.Snapshot, pc uint64) {
	c.Access, c.Address, c.HasAddress = "execute", pc, true
	c.Place = placeOf(snap, pc)
	switch _, mapped := snap.Memory.PermAt(pc); {
	case pc < nullPage:
		c.Kind = report.CrashNullCall
		c.Reasons = append(c.Reasons, "a function pointer that is NULL was called")
	case mapped:
		c.Kind = report.CrashNoExecute
		c.Reasons = append(c.Reasons, "execution came to memory that holds no code")
	default:
		c.Kind = report.CrashWildCall
		c.Reasons = append(c.Reasons, "a function pointer that points to no code was called")
	}
}

// refused names the kind of an access by the memory that it went to, or by its address.
func refused(c *report.Crash, snap *target.Snapshot, misaligned bool) {
	what := verb(c.Access)
	switch m, inModule := snap.ModuleAt(c.Address); {
	case misaligned:
		c.Kind = report.CrashMisaligned
		what += " an address that is not aligned:"
	case c.Address < nullPage:
		c.Kind = report.CrashNullPointer
		c.Reasons = append(c.Reasons, fmt.Sprintf("the program %s %#x through a pointer that is NULL", what, c.Address))
		return
	case inModule && c.Access == "write" && m.Image != nil:
		if s, ok := m.Image.Segments.At(m.ToImage(c.Address)); ok && !s.Write {
			c.Kind = report.CrashReadOnly
		}
	}
	s := fmt.Sprintf("the program %s %#x", what, c.Address)
	switch {
	case c.Place != "":
		s += ", " + c.Place
	case c.Code == "SEGV_MAPERR":
		s += ", where nothing is mapped"
	}
	c.Reasons = append(c.Reasons, s)
}
