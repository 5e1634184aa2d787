package report

// Crash is why a program stopped.
type Crash struct {
	// Signal is the signal's name and Code the name of its si_code, such as SIGSEGV and
	// SEGV_MAPERR; "" where unknown.
	Signal, Code string
	// Access is what the program did at Address, a target address: "read", "write",
	// "execute", "" where that is not known.
	Access     string
	Address    uint64
	HasAddress bool
	// Place is what lies at Address, in words; "" where that is not known.
	Place string
	// Kind is the cause in one word, one of the Crash constants; "" where no cause is plain.
	Kind string
	// Reasons are sentences for people, the most telling one first.
	Reasons []string
}

// The kinds of crashes that have a plain cause.
const (
	CrashNullPointer    = "null-pointer"
	CrashNullCall       = "null-call"
	CrashWildCall       = "wild-call"
	CrashStackOverflow  = "stack-overflow"
	CrashSmashedReturn  = "smashed-return"
	CrashReadOnly       = "write-to-read-only"
	CrashNoExecute      = "execute-of-data"
	CrashMisaligned     = "misaligned"
	CrashDivisionByZero = "division-by-zero"
	CrashAbort          = "abort"
	CrashKilled         = "killed"
	CrashErrorPointer   = "error-pointer" // an error code was used as a pointer
	CrashPoison         = "poison"        // a pointer that a kernel leaves in what is not in use any more
)

// Overwritten is a return address that was overwritten by something that is no address of code.
// The frames further out are guesses, for the stack is not as the program left it.
type Overwritten struct {
	// Frame is the number of the innermost frame that is affected: 0 where the program has
	// already returned to the overwritten address, 3 where the address that frame 3 would
	// have is lost.
	Frame int
	// Value is what stands where the return address should, Slot the target address of that
	// word, 0 where the word is in no memory.
	Value, Slot uint64
	// Text is Value as characters, where its bytes are all printable; "" else.
	Text string
}
