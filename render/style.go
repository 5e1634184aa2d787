// Package render writes finished backtraces: as text for people, as JSON and JSON
// Lines for programs. It decides nothing about a backtrace, only how it looks.
//
// Names come from hostile files: whatever is written has no control characters,
// no escape sequences, nothing that reorders text, and is valid UTF-8.
package render

// Style says what reports look like.
type Style struct {
	// Title precedes the text where there are several snapshots, "" for none.
	Title string
	// Capture is the name of the capture, for JSON; "" for none.
	Capture string
	// Color: the text has a terminal's colours.
	Color bool
	// Width is how many columns the reader's terminal has, 0 where nobody knows.
	Width int
	// Legend: what the marks mean that were used stands below the text.
	Legend bool
	// Arguments stand in the frame's line, and nothing else of its variables.
	Arguments bool
	// Registers asks for the registers of every thread's innermost frame.
	Registers bool
	// StackUsage asks for what each frame takes of the stack.
	StackUsage bool
	// Modules asks for a list of the binaries behind the threads.
	Modules bool
	// Version is the program's, for JSON.
	Version string
}
