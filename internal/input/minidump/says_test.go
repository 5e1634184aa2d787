package minidump

import (
	"encoding/binary"
	"slices"
	"testing"
	"unicode/utf16"
)

// words are numbers as a dump has them.
func words(vs ...uint32) (b []byte) {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// saying is a dump whose streams lie one behind the other.
func saying(streams map[uint32]location, data ...[]byte) *dump {
	all := slices.Concat(data...)
	return &dump{data: all, streams: streams, room: newRoom(len(all))}
}

// TestSays: the assertion that failed, and what libraries say; each is a line.
func TestSays(t *testing.T) {
	var assertion []byte
	for _, text := range []string{"n > 0", "f", "a.cc"} {
		var units [128]uint16
		copy(units[:], utf16.Encode([]rune(text)))
		assertion, _ = binary.Append(assertion, binary.LittleEndian, units)
	}
	assertion = append(assertion, words(42, 1)...)
	const info, modules, module, list, text = 0, 64, 96, 128, 160 // where each lies
	crashpad := make([]byte, 200)
	copy(crashpad[info+44:], words(16, modules))
	copy(crashpad[modules:], words(1, 0, 28, module))
	copy(crashpad[module:], words(1, 8, list))
	copy(crashpad[list:], words(2, text, 1<<31))
	copy(crashpad[text:], append(words(15), "abort() called\n"...))
	for _, c := range []struct {
		dump *dump
		want string
	}{
		{saying(nil, nil), ""},
		{saying(map[uint32]location{assertionInfo: {776, 0}}, assertion), "assertion failed: n > 0, in f, a.cc:42"},
		{saying(map[uint32]location{assertionInfo: {776, 0}}, assertion[:700]), ""},
		{saying(map[uint32]location{crashpadInfo: {64, 0}}, crashpad), "abort() called"},
		{saying(map[uint32]location{crashpadInfo: {64, 0}}, crashpad[:150]), ""},
		{saying(map[uint32]location{crashpadInfo: {64, 0}, assertionInfo: {776, 200}}, crashpad, assertion), "assertion failed: n > 0, in f, a.cc:42\nabort() called"},
	} {
		if got := c.dump.says(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// FuzzSays: whatever the streams claim.
func FuzzSays(f *testing.F) {
	f.Add(words(1, 16, 64, 0xffff_ffff), uint32(0))
	f.Fuzz(func(t *testing.T, data []byte, at uint32) {
		saying(map[uint32]location{crashpadInfo: {64, at}, assertionInfo: {776, at}}, data).says()
	})
}
