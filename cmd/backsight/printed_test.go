//go:build !small

package main

import (
	"fmt"
	"testing"
)

// TestPrintedIn: places in functions, and words that are as long as addresses.
func TestPrintedIn(t *testing.T) {
	for line, want := range map[string]string{
		"by_time+0x4c/0x60 [toy] and 0x1234":        "[by_time+0x4c/0x60 by_time 4c][0x1234  0]",
		"pc : 3vfs.part.0+0x8/0x10":                 "[vfs.part.0+0x8/0x10 vfs.part.0 8]",
		"ffffffc008123456 deadbeef 0123456 0x123":   "[ffffffc008123456  0][deadbeef  0]",
		"sp=0x2000AbCd,a.0x12345$x 0x12345g":        "[0x2000AbCd  0][0x12345  0]",
		"0x12345678123456781 xdeadbeef DEADBEEF":    "",
		"main+0x10 main+0x/0x1 main+0x1/0x 1+0x2/0": "",
	} {
		got := ""
		for p := range printedIn(line) {
			got += fmt.Sprintf("[%s %s %x]", p.text, p.function, p.offset)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}
