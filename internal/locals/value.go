package locals

import (
	"debug/dwarf"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// What is written of a value: characters of a string, elements of an array, members of a
// struct.
const (
	maxString   = 64
	maxElements = 8
	maxMembers  = 16
)

// writer says what bytes mean, in words.
type writer struct {
	types  types
	memory *target.Memory
	big    bool
}

// constant is the bytes of a DW_AT_const_value.
func (w *writer) constant(v any, t *typ) (data []byte, missing string) {
	switch v := v.(type) {
	case int64:
		if t.size > 0 && t.size <= 8 {
			return encode(uint64(v), t.size, w.big), ""
		}
	case []byte:
		if len(v) == t.size {
			return v, ""
		}
	case string:
		if t.kind == array {
			return append([]byte(v), 0), ""
		}
	}
	return nil, optimisedOut
}

// of says what bytes mean as a type. Structs are opened where deep is set.
func (w *writer) of(b []byte, t *typ, deep bool) string {
	switch t.kind {
	case record:
		if deep {
			return w.members(b, t)
		}
		return "{…}"
	case array:
		return w.elements(b, t, deep)
	}
	if len(b) > 8 || len(b) == 0 {
		return fmt.Sprintf("0x%x", b)
	}
	v := bin.Uint(b, w.big)
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
		return w.pointer(v, t)
	case enumeration:
		return w.enumerator(extended, t)
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
func (w *writer) pointer(v uint64, t *typ) string {
	if v == 0 {
		return "NULL"
	}
	s := fmt.Sprintf("%#x", v)
	if !t.known {
		return s
	}
	if to := w.types.at(t.elem); !to.isChar() {
		return s
	}
	text := make([]byte, maxString)
	text = text[:w.memory.Read(v, text)]
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
func (w *writer) enumerator(v int64, t *typ) string {
	for e := range w.types.entries.children(t.die) {
		if n, ok := e.Val(dwarf.AttrConstValue).(int64); ok && n == v && e.Tag == dwarf.TagEnumerator {
			if name, ok := w.types.entries.Text(e, dwarf.AttrName); ok {
				return name
			}
		}
	}
	return strconv.FormatInt(v, 10)
}

// elements writes an array: a string of characters, or the first elements.
func (w *writer) elements(b []byte, t *typ, deep bool) string {
	elem := w.types.at(t.elem)
	if elem.isChar() {
		return cString(b[:min(len(b), maxString)])
	}
	if elem.size == 0 {
		return "{…}"
	}
	var parts []string
	for i := 0; (i+1)*elem.size <= len(b) && i < maxElements; i++ {
		parts = append(parts, w.of(b[i*elem.size:][:elem.size], &elem, false))
	}
	if deep && len(parts)*elem.size < len(b) {
		parts = append(parts, "…")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
