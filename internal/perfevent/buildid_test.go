//go:build linux

package perfevent

import (
	"encoding/binary"
	"testing"
)

// TestBuildIDIn: the note lies in the first page of an ELF file, behind its program headers.
func TestBuildIDIn(t *testing.T) {
	note := func(name string, kind, size uint32) string {
		var b []byte
		for _, v := range []uint32{4, size, kind} {
			b = binary.NativeEndian.AppendUint32(b, v)
		}
		return string(b) + name + "\x00"
	}
	const elf, id = "\x7fELF" + "headers.....", "0123456789abcdefghij"
	for _, c := range []struct{ what, page, want string }{
		{"SHA-1, behind another note", elf + note("GNU", 5, 4) + "prop" + note("GNU", 3, 20) + id + "code", id},
		{"eight bytes", elf + note("GNU", 3, 8) + id, id[:8]},
		{"no ELF file", "#!/bin/sh\n   " + note("GNU", 3, 20) + id, ""},
		{"another maker's", elf + note("Go\x00", 3, 20) + id, ""},
		{"longer than an event's", elf + note("GNU", 3, 21) + id + id, ""},
		{"cut", elf + note("GNU", 3, 20) + id[:19], ""},
		{"empty", elf + note("GNU", 3, 0), ""},
		{"nothing in front", note("GNU", 3, 20)[4:] + id, ""},
		{"no memory", "", ""},
	} {
		if got := buildIDIn([]byte(c.page)); string(got) != c.want {
			t.Errorf("%s: %q", c.what, got)
		}
	}
}
