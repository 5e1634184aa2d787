package report

// Variable is an argument or a local variable of a frame's function.
type Variable struct {
	Name, Type string
	// Argument: of the function; else a local variable.
	Argument bool
	// Inlined is the function that was inlined at the frame's place and that the variable is
	// of, "" where it is the frame's own.
	Inlined string
	// Value is the value in words, "" where it is not known: Missing then says why.
	Value, Missing string
}
