package stackwalk

import "github.com/backsight/backsight/unwind"

// basis is what the answers of a method rest on. The walker treats methods by their
// basis, so that a new method is a row of bases, and a row of trustOf.
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

// bases are the bases of the methods.
var bases = [...]basis{
	unwind.MethodContext:   inCapture,
	unwind.MethodSigframe:  inCapture,
	unwind.MethodException: inCapture,
	unwind.MethodCFI:       inTable,
	unwind.MethodEHABI:     inTable,
	unwind.MethodCode:      inCode,
	unwind.MethodFP:        byConvention,
	unwind.MethodScan:      bySearch,
	unwind.MethodPrewalked: inCapture,
	unwind.MethodCompact:   inTable,
	unwind.MethodShadow:    inShadow,
}

// basisOf is what m's answers rest on; a method that is not known searches.
func basisOf(m unwind.Method) basis {
	if int(m) < len(bases) {
		return bases[m]
	}
	return bySearch
}

// describesCalls tells whether m's tables say what holds where a function calls others, and
// nothing of its prologue and epilogue.
func describesCalls(m unwind.Method) bool { return m == unwind.MethodCompact }

// needsCall tells whether a return address that m found must follow a call. No call is asked for
// behind the return addresses that the capture states or that an unwind table locates.
func needsCall(m unwind.Method) bool { b := basisOf(m); return b != inCapture && b != inTable }
