package target

// HookedReturn is a call whose return address a tracer of Linux replaced by its own
// (Snapshot.Hooks), and keeps: function_graph's in a stack of each task
// (task_struct.ret_stack), kretprobes in a list.
type HookedReturn struct {
	// Return is where the call returns to once the tracer has seen it return.
	Return uint64
	// Function is an address in the function that was called, 0 where the tracer keeps none.
	Function uint64
	// Places are by which the tracer tells calls apart, 0 for none: the address of the word
	// that it replaced, or what the stack or frame pointer was at the call.
	Places [2]uint64
}

// IsHook tells whether a function that returns to addr returns to a tracer.
func (s *Snapshot) IsHook(addr uint64) bool {
	for _, h := range s.Hooks {
		if h == addr {
			return true
		}
	}
	return false
}
