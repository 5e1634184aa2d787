package appletext

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
)

// raw is a JSON value as it stands in a report: a part of the text, which is valid JSON. Large ones are not copied, and
// decoded one by one: an element of three bytes may be a thread of a thousand.
type raw []byte

// eachElement decodes the elements of an array, until more says that there is room for no other.
func eachElement[T any](array raw, more func() bool, yield func(v *T, text raw)) {
	for text := range array.inside('[') {
		if !more() {
			return
		}
		var v T
		var other *json.UnmarshalTypeError // of a field; the others are there
		if err := json.Unmarshal(text, &v); err != nil && !errors.As(err, &other) {
			return
		}
		yield(&v, text)
	}
}

// eachMember does the same with the members of an object, which are not decoded.
func eachMember(object raw, more func() bool, yield func(key string, value raw)) {
	key, named := "", false
	for text := range object.inside('{') {
		if named {
			yield(key, text)
		} else if !more() || json.Unmarshal(text, &key) != nil {
			return
		}
		named = !named
	}
}

// parts finds members of an object by their names.
func parts(object raw, want map[string]*raw) {
	eachMember(object, func() bool { return true }, func(key string, value raw) {
		if part := want[key]; part != nil {
			*part = value
		}
	})
}

// inside are the values in an array or an object, which begins with left: of an object, names and values in turn.
func (r raw) inside(left byte) iter.Seq[raw] {
	return func(yield func(raw) bool) {
		rest, ok := bytes.CutPrefix(bytes.TrimLeft(r, space), []byte{left})
		for ok {
			rest = bytes.TrimLeft(rest, space+",:")
			n := valueLen(rest)
			if n == 0 || !yield(raw(rest[:n])) {
				return
			}
			rest = rest[n:]
		}
	}
}

const space = " \t\r\n"

// valueLen is the length of the value that text begins with, 0 for none.
func valueLen(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			depth++
			continue
		case ']', '}':
			if depth--; depth < 0 {
				return i
			}
		default:
			if depth == 0 { // a number or a word
				if end := bytes.IndexAny(text[i:], space+",]}"); end >= 0 {
					return i + end
				}
				return len(text)
			}
		}
		if depth == 0 {
			return min(i+1, len(text))
		}
	}
	return len(text)
}
