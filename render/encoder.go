package render

import (
	"io"
	"strconv"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/target"
)

// encoder appends JSON. Members and elements get their commas by what stands
// before them.
type encoder struct {
	b []byte
	// digits is how many an address has.
	digits int
	// indented: each member and element has a line of its own, which begins with as many spaces as objects and arrays are open.
	indented bool
	depth    int
	// w, if set, is given what b holds from time to time; err is why w could not be written.
	w   io.Writer
	err error
}

// mostHeld is how many bytes an encoder with a writer holds back.
const mostHeld = 64 << 10

// flush writes what is held back, if that is more than so many bytes, but for the last byte: by that one commas are decided.
func (e *encoder) flush(most int) {
	last := len(e.b) - 1
	if e.w == nil || last < most {
		return
	}
	if e.err == nil {
		_, e.err = e.w.Write(e.b[:last])
	}
	e.b = append(e.b[:0], e.b[last])
}

// comma begins a member, an element, or a member's value: behind a key stands a colon, or a space.
func (e *encoder) comma() {
	switch last := e.b[len(e.b)-1]; last {
	case ':', ' ':
	case '{', '[':
		e.newline()
	default:
		e.b = append(e.b, ',')
		e.newline()
	}
}

func (e *encoder) newline() {
	if !e.indented {
		return
	}
	e.b = append(e.b, '\n')
	for range e.depth {
		e.b = append(e.b, ' ')
	}
}

// begin begins the outermost object, open another one or an array; close ends it.
func (e *encoder) begin() { e.b = append(e.b, '{'); e.depth++ }

func (e *encoder) open(c byte) { e.comma(); e.b = append(e.b, c); e.depth++ }

func (e *encoder) close(c byte) {
	e.depth--
	if last := e.b[len(e.b)-1]; last != '{' && last != '[' {
		e.newline()
	}
	e.b = append(e.b, c)
}

// key begins a member; keys are constants of this package, without need to escape.
func (e *encoder) key(k string) {
	e.comma()
	e.b = append(e.b, '"')
	e.b = append(e.b, k...)
	e.b = append(e.b, '"', ':')
	if e.indented {
		e.b = append(e.b, ' ')
	}
}

func (e *encoder) string(s string) { e.comma(); e.b = typeset.AppendString(e.b, s) }

func (e *encoder) int(v int) { e.comma(); e.b = strconv.AppendInt(e.b, int64(v), 10) }

func (e *encoder) bool(v bool) { e.comma(); e.b = strconv.AppendBool(e.b, v) }

func (e *encoder) hex(v uint64, digits int) {
	e.comma()
	e.b = append(e.b, '"')
	e.b = typeset.AppendHex(e.b, v, digits)
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
