package render

import (
	"strconv"

	"github.com/backsight/backsight/target"
)

// encoder appends JSON. Members and elements get their commas by what stands
// before them.
type encoder struct {
	b []byte
	// digits is how many an address has.
	digits int
}

func (e *encoder) comma() {
	if n := len(e.b); n > 0 && e.b[n-1] != '{' && e.b[n-1] != '[' && e.b[n-1] != ':' {
		e.b = append(e.b, ',')
	}
}

// open begins an object or an array, close ends it.
func (e *encoder) open(c byte) { e.comma(); e.b = append(e.b, c) }

func (e *encoder) close(c byte) { e.b = append(e.b, c) }

// key begins a member; keys are constants of this package, without need to escape.
func (e *encoder) key(k string) {
	e.comma()
	e.b = append(e.b, '"')
	e.b = append(e.b, k...)
	e.b = append(e.b, '"', ':')
}

func (e *encoder) string(s string) { e.comma(); e.b = appendString(e.b, s) }

func (e *encoder) int(v int) { e.comma(); e.b = strconv.AppendInt(e.b, int64(v), 10) }

func (e *encoder) bool(v bool) { e.comma(); e.b = strconv.AppendBool(e.b, v) }

func (e *encoder) hex(v uint64, digits int) {
	e.comma()
	e.b = append(e.b, '"')
	e.b = appendHex(e.b, v, digits)
	e.b = append(e.b, '"')
}

func (e *encoder) address(v uint64) { e.hex(v, e.digits) }

// addressIf writes an address, null where it is not known.
func (e *encoder) addressIf(known bool, v uint64) {
	if known {
		e.address(v)
	} else {
		e.null()
	}
}

func (e *encoder) null() { e.comma(); e.b = append(e.b, "null"...) }

// member writes a string, null where it is "".
func (e *encoder) member(k, s string) {
	e.key(k)
	if s == "" {
		e.null()
		return
	}
	e.string(s)
}

// strings writes an array.
func (e *encoder) strings(k string, list []string) {
	e.key(k)
	e.open('[')
	for _, s := range list {
		e.string(s)
	}
	e.close(']')
}

func (e *encoder) issues(list []target.Issue) {
	e.key("issues")
	e.open('[')
	for _, i := range list {
		e.string(i.Text)
	}
	e.close(']')
}

// place writes a file and a line, null where they are not known. Line 0 of a known file is what
// the file's debug information says of code that the compiler made of no single line (DWARF 5
// §6.2.2).
func (e *encoder) place(file string, line int) {
	e.member("file", file)
	e.key("line")
	if file == "" {
		e.null()
		return
	}
	e.int(line)
}
