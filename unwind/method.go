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

// methods is the table of the methods' properties.
var methods = [methodCount]struct {
	name, means string
}{

	MethodContext:   {"context", "by the registers that were captured"},
	MethodSigframe:  {"sigframe", "by what the kernel saved when it delivered a signal"},
	MethodException: {"exception", "by what an exception or a system call saved"},
	MethodCFI:       {"cfi", "by the binary's DWARF unwind table"},
	MethodEHABI:     {"ehabi", "by the binary's ARM exception index"},
	MethodCode:      {"code", "by analysis of the machine code"},
	MethodFP:        {"fp", "by the frame pointer, as the ABI has it"},
	MethodScan:      {"scan", "by a search of the stack for a return address"},
	MethodPrewalked: {"prewalked", "as the capture itself lists it"},
	MethodCompact:   {"compact", "by the binary's compact unwind table"},
	MethodShadow:    {"shadow", "by the shadow stack"},
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
