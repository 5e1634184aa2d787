package locals

import (
	"debug/dwarf"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/evaluate"
)

// Why a value is missing.
const (
	optimisedOut = "optimised out"
	notKept      = "in a register that was not kept"
	notCaptured  = "not captured"
	noType       = "of a type that the debug information does not describe"
)

// What is written of a value: characters of a string, elements of an array, members of a
// struct.
const (
	maxString   = 64
	maxElements = 8
	maxMembers  = 16
)

// value is a variable's value in words, or why there is none.
func (r *reader) value(e *dwarf.Entry, t *typ) (words, missing string) {
	if v := r.origin(e, dwarf.AttrConstValue); v != nil {
		return r.constant(v, t)
	}
	expr, ok := r.location(r.origin(e, dwarf.AttrLocation))
	if !ok {
		return "", optimisedOut
	}
	pieces, oc := evaluate.Location(expr, &r.frame)
	switch oc {
	case evaluate.Applied:
	case evaluate.MissingMemory:
		return "", notCaptured
	case evaluate.MissingRegister:
		return "", notKept
	default:
		return "", optimisedOut
	}
	if t.kind == opaque || t.size == 0 {
		return "", noType
	}
	data, missing := r.bytes(pieces, t.size)
	if missing != "" {
		return "", missing
	}
	return r.words(data, t, true), ""
}

// constant is the value of DW_AT_const_value.
func (r *reader) constant(v any, t *typ) (words, missing string) {
	switch v := v.(type) {
	case int64:
		if t.size > 0 && t.size <= 8 {
			return r.words(r.encode(uint64(v), t.size), t, true), ""
		}
	case []byte:
		if len(v) == t.size {
			return r.words(v, t, true), ""
		}
	case string:
		return quoted(v), ""
	}
	return "", optimisedOut
}

// bytes reads a variable of size bytes out of its pieces. All of them must be known: half of
// a number is none.
func (r *reader) bytes(pieces []evaluate.Piece, size int) (data []byte, missing string) {
	for i := range pieces {
		p := &pieces[i]
		n := p.Size
		if n == 0 {
			n = size
		}
		n = min(n, size-len(data))
		switch p.Kind {
		case evaluate.InMemory:
			part := make([]byte, n)
			if r.frame.Memory.Read(p.Addr, part) < n {
				return nil, notCaptured
			}
			data = append(data, part...)
		case evaluate.InRegister, evaluate.InExpression:
			part := p.Data
			if part == nil {
				part = r.encode(p.Value, min(n, 8))
			}
			data = append(data, part[:min(n, len(part))]...)
		case evaluate.NotKept:
			return nil, notKept
		default:
			return nil, optimisedOut
		}
	}
	if len(data) < size {
		return nil, optimisedOut
	}
	return data, ""
}

// encode writes the low bytes of a number as the program's memory would have them.
func (r *reader) encode(v uint64, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		k := i
		if r.frame.Arch.BigEndian {
			k = size - 1 - i
		}
		b[k] = byte(v >> (8 * i))
	}
	return b
}

// words says what bytes mean as a type. Structs are opened where deep is set.
func (r *reader) words(b []byte, t *typ, deep bool) string {
	switch t.kind {
	case record:
		if deep {
			return r.members(b, t)
		}
		return "{…}"
	case array:
		return r.elements(b, t, deep)
	}
	if len(b) > 8 || len(b) == 0 {
		return fmt.Sprintf("0x%x", b)
	}
	v := bin.Uint(b, r.frame.Arch.BigEndian)
	extended := int64(v<<(64-8*len(b))) >> (64 - 8*len(b))
	switch t.kind {
	case signed:
		return strconv.FormatInt(extended, 10)
	case unsigned:
		return strconv.FormatUint(v, 10)
	case boolean:
		return boolWord(v)
	case character:
		return strconv.FormatInt(extended, 10) + printable(v)
	case unsignedCharacter:
		return strconv.FormatUint(v, 10) + printable(v)
	case float:
		return floatWord(v, len(b))
	case pointer:
		return r.pointer(v, t)
	case enumeration:
		return r.enumerator(extended, t)
	}
	return fmt.Sprintf("%#x", v)
}

// printable is the character of a number, where it has one in ASCII.
func printable(v uint64) string {
	if v < ' ' || v > '~' {
		return ""
	}
	return " " + strconv.QuoteRune(rune(v))
}

func boolWord(v uint64) string {
	switch v {
	case 0:
		return "false"
	case 1:
		return "true"
	}
	return strconv.FormatUint(v, 10)
}

func floatWord(v uint64, size int) string {
	if size == 4 {
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v))), 'g', -1, 32)
	}
	return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
}

// pointer is an address, and the string there.
func (r *reader) pointer(v uint64, t *typ) string {
	if v == 0 {
		return "NULL"
	}
	s := fmt.Sprintf("%#x", v)
	if !t.known {
		return s
	}
	if to := r.typeAt(t.elem); !to.isChar() {
		return s
	}
	text := make([]byte, maxString)
	text = text[:r.frame.Memory.Read(v, text)]
	if len(text) == 0 {
		return s
	}
	return s + " " + cString(text)
}

// cString is a string up to its zero, or to the end of what was read.
func cString(b []byte) string {
	if i := strings.IndexByte(string(b), 0); i >= 0 {
		return quoted(string(b[:i]))
	}
	return quoted(string(b)) + "…"
}

// quoted writes a string as C would. Bytes that are no UTF-8 are escaped.
func quoted(s string) string { return strconv.Quote(s) }

// enumerator is the name of an enumeration's value.
func (r *reader) enumerator(v int64, t *typ) string {
	for e := range r.children(t.die) {
		if n, ok := e.Val(dwarf.AttrConstValue).(int64); ok && n == v && e.Tag == dwarf.TagEnumerator {
			if name, ok := e.Val(dwarf.AttrName).(string); ok {
				return name
			}
		}
	}
	return strconv.FormatInt(v, 10)
}

// elements writes an array: a string of characters, or the first elements.
func (r *reader) elements(b []byte, t *typ, deep bool) string {
	elem := r.typeAt(t.elem)
	if elem.isChar() {
		return cString(b[:min(len(b), maxString)])
	}
	if elem.size == 0 {
		return "{…}"
	}
	var parts []string
	for i := 0; (i+1)*elem.size <= len(b) && i < maxElements; i++ {
		parts = append(parts, r.words(b[i*elem.size:][:elem.size], &elem, false))
	}
	if deep && len(parts)*elem.size < len(b) {
		parts = append(parts, "…")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
