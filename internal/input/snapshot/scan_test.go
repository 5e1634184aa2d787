package snapshot

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzScan: what encoding/json accepts the scanner accepts, with the same strings.
// Only of bytes that are not UTF-8 encoding/json makes something else.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e+3,true,null,"x\n\u00e9"],"b":{}}`, `[]`, `"\ud83d\ude00"`, `{"a":1,}`, ` 0 `} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := scanner{b: []byte(text)}
		s.skip(0)
		if whole := s.peek() == 0 && s.pos == len(text); json.Valid([]byte(text)) && (s.failed() || !whole) {
			t.Errorf("refused %q at %d: %s", text, s.pos, s.what)
		}
		var want string
		if json.Unmarshal([]byte(text), &want) == nil && utf8.ValidString(text) {
			s = scanner{b: []byte(text)}
			if s.peek() == '"' && string(s.str()) != want {
				t.Errorf("string %q differs", text)
			}
		}
	})
}

// TestNumbers: numbers are decimal, or hexadecimal in strings; others are refused.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]uint64{
		`"0x400d2c"`: 0x400d2c, `"400D2C"`: 0x400d2c, `"0XFFFFFFFFFFFFFFFF"`: 1<<64 - 1, `"-0x10"`: 1<<64 - 16,
		`17`: 17, `-1`: 1<<64 - 1, `18446744073709551615`: 1<<64 - 1, `0`: 0, `"0"`: 0,
	} {
		s := scanner{b: []byte(text)}
		if v, ok := s.number(); !ok || v != want {
			t.Errorf("%s = %#x, %v (%s)", text, v, ok, s.what)
		}
	}
	for _, text := range []string{`"0x"`, `""`, `"0x10000000000000000"`, `1.5`, `1e3`, `true`, `{}`, `"12 "`, `18446744073709551616`} {
		s := scanner{b: []byte(text)}
		if v, ok := s.number(); ok || !s.failed() {
			t.Errorf("%s = %#x", text, v)
		}
	}
}
