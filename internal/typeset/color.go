package typeset

// The colours of a terminal that are used: names are bold, doubt is yellow or red, what was added green.
const (
	Bold   = "\x1b[1m"
	Yellow = "\x1b[33m"
	Red    = "\x1b[31m"
	Green  = "\x1b[32m"
	Dim    = "\x1b[2m"
	Plain  = "\x1b[0m"
)
