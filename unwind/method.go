package unwind

// Method is how a frame was found.
type Method uint8

// The methods, in the contract's words.
const (
	MethodContext   Method = iota // the captured registers
	MethodSigframe                // a signal trampoline and its ucontext
	MethodException               // a hardware exception frame, pt_regs
	MethodCFI                     // DWARF call frame information
	MethodEHABI                   // ARM exception index table
	MethodCode                    // code analysis
	MethodFP                      // frame pointer convention
	MethodScan                    // a plausible return address on the stack
	MethodPrewalked               // the capture lists the frame
	MethodCompact                 // Mach-O's compact unwind table
	MethodShadow                  // a shadow stack
	methodCount
)

// basis is what the answers of a method rest on. The walker treats methods by their
// basis, so that a new method is a row of methods, and a row of trustOf.
type basis uint8

const (
	// inCapture: all of the caller's registers are saved in one block, by the kernel, by
	// the processor, or by who made the capture.
	inCapture basis = iota
	// inTable: the compiler stated the rule.
	inTable
	// inCode: the rule was derived from machine code.
	inCode
	// byConvention: the rule is the ABI's and holds where the code follows the ABI.
	byConvention
	// inShadow: the return address is kept apart from the stack, and nothing else.
	inShadow
	// bySearch: the stack was searched.
	bySearch
)

// methods is the table of the methods' properties.
var methods = [methodCount]struct {
	name  string
	basis basis
	means string
}{

	MethodContext:   {"context", inCapture, "by the registers that were captured"},
	MethodSigframe:  {"sigframe", inCapture, "by what the kernel saved when it delivered a signal"},
	MethodException: {"exception", inCapture, "by what an exception or a system call saved"},
	MethodCFI:       {"cfi", inTable, "by the binary's DWARF unwind table"},
	MethodEHABI:     {"ehabi", inTable, "by the binary's ARM exception index"},
	MethodCode:      {"code", inCode, "by analysis of the machine code"},
	MethodFP:        {"fp", byConvention, "by the frame pointer, as the ABI has it"},
	MethodScan:      {"scan", bySearch, "by a search of the stack for a return address"},
	MethodPrewalked: {"prewalked", inCapture, "as the capture itself lists it"},
	MethodCompact:   {"compact", inTable, "by the binary's compact unwind table"},
	MethodShadow:    {"shadow", inShadow, "by the shadow stack"},
}

func (m Method) String() string {
	if m < methodCount {
		return methods[m].name
	}
	return "?"
}

// Means says in words how the method finds a frame.
func (m Method) Means() string {
	if m < methodCount {
		return methods[m].means
	}
	return "?"
}

// Methods are all methods, in the order of their numbers.
func Methods() []Method {
	all := make([]Method, methodCount)
	for i := range all {
		all[i] = Method(i)
	}
	return all
}

// basis is what m's answers rest on; a method that is not known searches.
func (m Method) basis() basis {
	if m < methodCount {
		return methods[m].basis
	}
	return bySearch
}

// describesCalls tells whether m's tables say what holds where a function calls others, and
// nothing of its prologue and epilogue.
func (m Method) describesCalls() bool { return m == MethodCompact }

// needsCall tells whether a return address that m found must follow a call. No call is asked for
// behind the return addresses that the capture states or that an unwind table locates.
func (m Method) needsCall() bool { b := m.basis(); return b != inCapture && b != inTable }
