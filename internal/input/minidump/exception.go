package minidump

import (
	"fmt"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/signals"
	"github.com/backsight/backsight/target"
)

// crash is the stream of the exception.
type crash struct {
	present     bool
	thread      uint32
	code, flags uint32
	address     uint64
	parameters  [2]uint64
	context     location
}

// crash reads the stream of the exception; not present where the dump has none.
func (d *dump) crash() (c crash) {
	r := bin.New(d.stream(exception), d.big)
	c.thread = r.U32()
	r.Skip(4)
	c.code, c.flags = r.U32(), r.U32()
	r.Skip(8) // a nested record
	c.address = r.U64()
	n := r.U32()
	r.Skip(4)
	for i := range c.parameters {
		if v := r.U64(); i < int(n) {
			c.parameters[i] = v
		}
	}
	r.Skip(13 * 8)
	c.context = readLocation(&r)
	c.present = r.Err() == nil && c.code != requested && c.code != 0
	return c
}

// requested is the code of a dump that a program asked for without a crash (MD_EXCEPTION_CODE_LIN_DUMP_REQUESTED); others
// have 0.
const requested = 0xffff_ffff

// fault tells why the program stopped, nil where it did not crash.
func (c *crash) fault(sys *system) *target.Fault {
	if !c.present {
		return nil
	}
	f := &target.Fault{Thread: int(c.thread)}
	switch {
	case sys.isLinux():
		f.Signal, f.Code = int(c.code), int(int32(c.flags))
		f.Name = signals.Name(f.Signal, sys.arch.ELF.Machine == emMIPS)
		f.Address, f.HasAddress = c.address, signals.HasAddress(f.Name, f.Code)
	case sys.isWindows():
		c.windows(f)
	case sys.isDarwin():
		f.Name, f.Address, f.HasAddress = machName(c.code), c.address, c.code == badAccess
		if how := kernelReturn(c.flags); how != "" && c.code == badAccess {
			f.Name += " / " + how
		}
	}
	if f.Name == "" {
		f.Name = fmt.Sprintf("exception %#x", c.code)
	}
	f.Address &= sys.arch.AddrMask()
	return f
}

const emMIPS = 8

// Exceptions of Windows that have an address: the second parameter (winnt.h, EXCEPTION_RECORD).
const accessViolation, inPageError = 0xc000_0005, 0xc000_0006

// windows names an exception of Windows.
func (c *crash) windows(f *target.Fault) {
	f.Name = windowsNames()[c.code]
	if c.code != accessViolation && c.code != inPageError {
		return
	}
	f.Name += accessName(c.parameters[0])
	f.Address, f.HasAddress = c.parameters[1], true
}

// accessName is what the first parameter says that was tried.
func accessName(n uint64) string {
	return map[uint64]string{0: "_READ", 1: "_WRITE", 8: "_EXEC"}[n]
}

// windowsNames are NTSTATUS values and other codes that end programs (ntstatus.h, winnt.h).
func windowsNames() map[uint32]string {
	return map[uint32]string{
		0x4001_0005:     "DBG_CONTROL_C",
		0x8000_0001:     "EXCEPTION_GUARD_PAGE",
		0x8000_0002:     "EXCEPTION_DATATYPE_MISALIGNMENT",
		0x8000_0003:     "EXCEPTION_BREAKPOINT",
		0x8000_0004:     "EXCEPTION_SINGLE_STEP",
		accessViolation: "EXCEPTION_ACCESS_VIOLATION",
		inPageError:     "EXCEPTION_IN_PAGE_ERROR",
		0xc000_0008:     "EXCEPTION_INVALID_HANDLE",
		0xc000_0017:     "STATUS_NO_MEMORY",
		0xc000_001d:     "EXCEPTION_ILLEGAL_INSTRUCTION",
		0xc000_0025:     "EXCEPTION_NONCONTINUABLE_EXCEPTION",
		0xc000_0026:     "EXCEPTION_INVALID_DISPOSITION",
		0xc000_008c:     "EXCEPTION_ARRAY_BOUNDS_EXCEEDED",
		0xc000_008d:     "EXCEPTION_FLT_DENORMAL_OPERAND",
		0xc000_008e:     "EXCEPTION_FLT_DIVIDE_BY_ZERO",
		0xc000_0090:     "EXCEPTION_FLT_INVALID_OPERATION",
		0xc000_0094:     "EXCEPTION_INT_DIVIDE_BY_ZERO",
		0xc000_0095:     "EXCEPTION_INT_OVERFLOW",
		0xc000_0096:     "EXCEPTION_PRIV_INSTRUCTION",
		0xc000_00fd:     "EXCEPTION_STACK_OVERFLOW",
		0xc000_0374:     "STATUS_HEAP_CORRUPTION",
		0xc000_0409:     "STATUS_STACK_BUFFER_OVERRUN",
		0xc000_0417:     "STATUS_INVALID_CRUNTIME_PARAMETER",
		0xc000_0420:     "STATUS_ASSERTION_FAILURE",
		0xe06d_7363:     "unhandled C++ exception",
		0x0517_a7ed:     "simulated exception", // Crashpad's
	}
}

// badAccess is EXC_BAD_ACCESS.
const badAccess = 1

// kernelReturn is the name of the code that EXC_BAD_ACCESS comes with (mach/kern_return.h, mach/i386/exception.h).
func kernelReturn(n uint32) string {
	return map[uint32]string{1: "KERN_INVALID_ADDRESS", 2: "KERN_PROTECTION_FAILURE", 8: "KERN_NO_ACCESS", 9: "KERN_MEMORY_FAILURE",
		10: "KERN_MEMORY_ERROR", 13: "EXC_I386_GPFLT"}[n]
}

// machName is the name of an exception of Mach (mach/exception_types.h), "" for an unknown one.
func machName(n uint32) string {
	return map[uint32]string{
		1: "EXC_BAD_ACCESS", 2: "EXC_BAD_INSTRUCTION", 3: "EXC_ARITHMETIC", 4: "EXC_EMULATION", 5: "EXC_SOFTWARE", 6: "EXC_BREAKPOINT",
		7: "EXC_SYSCALL", 8: "EXC_MACH_SYSCALL", 9: "EXC_RPC_ALERT", 10: "EXC_CRASH", 11: "EXC_RESOURCE", 12: "EXC_GUARD",
		13: "EXC_CORPSE_NOTIFY", 0x4350_6e78: "uncaught exception of Objective-C", 0x4350_7378: "simulated exception", // Crashpad's
	}[n]
}
