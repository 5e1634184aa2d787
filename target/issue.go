package target

// Issue is something that was wrong with a capture, or with a binary that it needs, and
// that did not stop the reading: the backtraces may be the poorer for it.
type Issue struct {
	Kind IssueKind
	// Subject is what the issue is about: a binary as the capture names it, a file of
	// this machine where the user named it, else the capture.
	Subject string
	// Addr is the target address that the issue is about, such as where a binary that
	// was not found is mapped; 0: none.
	Addr uint64
	// Text is the whole issue for a reader, in one line.
	Text string
}

// IssueKind says what to do about an issue.
type IssueKind uint8

// The kinds of issues.
const (
	// IssueCapture: the capture is damaged or lacks something. Capture it anew.
	IssueCapture IssueKind = iota
	// IssueNotFound: a binary was not found. Say where it is.
	IssueNotFound
	// IssueNotUsed: a file was found in a binary's place that cannot be read or is not
	// what ran. Provide the one that ran.
	IssueNotUsed
	// IssueImage: a binary that is used is damaged in part.
	IssueImage
	// IssueNames: some functions and lines have no names.
	IssueNames
	// IssueThreads: the backtraces of threads contradict one another, or a stack is none.
	// They are trusted less than each alone would be.
	IssueThreads
)

// String is the issue in one line.
func (i Issue) String() string { return i.Text }
