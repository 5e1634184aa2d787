package target

// Issue is a fault of a capture, or of a binary that the capture needs, in spite of which the
// reading went on. Backtraces may lack frames or names for it.
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
	// IssueNotUsed: the file found for a binary cannot be read or is another build than the one
	// that ran. Provide the build that ran.
	IssueNotUsed
	// IssueImage: a binary that is used is damaged in part.
	IssueImage
	// IssueNames: some functions and lines have no names.
	IssueNames
	// IssueThreads: the backtraces of threads contradict one another, or a thread's stack
	// pointer leads to no stack. These backtraces are trusted less than each alone would be.
	IssueThreads
)

// String is the issue in one line.
func (i Issue) String() string { return i.Text }
