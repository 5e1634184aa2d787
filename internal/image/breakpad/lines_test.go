package breakpad

import (
	"fmt"
	"testing"

	"github.com/backsight/backsight/image"
)

// TestLines: the line of an address, and the calls that were inlined there; records of both forms of INLINE.
func TestLines(t *testing.T) {
	const text = `MODULE Linux x86_64 37689987AE340657EAE4C062F75EBA170 pub
FILE 0 a.cpp
FILE 12 dir with spaces/b.h
INLINE_ORIGIN 1 foo()
INLINE_ORIGIN 2 7 bar(int, char)
FUNC 1000 60 0 main
INLINE 0 42 12 1 1010 20
INLINE 1 9 0 2 1018 8 1028 4
INLINE 0 77 1 1050 8
1000 10 3 0
1010 8 4 12
1018 8 5 12
1020 20 6 0
1050 10 8 0
FUNC 2000 10 0 next
2000 10 1 0
`
	img, err := parse(text, image.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{
		0x1000: "a.cpp:3", 0x1014: "foo() dir with spaces/b.h:4, dir with spaces/b.h:42",
		0x101a: "bar(int, char) dir with spaces/b.h:5, foo() a.cpp:9, dir with spaces/b.h:42",
		0x1030: "a.cpp:6", 0x1052: "foo() a.cpp:8, :77", 0x1048: "none", 0x2001: "a.cpp:1", 0x3000: "none",
	} {
		l, ok := img.Debug.LineAt(addr)
		got := ""
		for _, c := range l.Inlines {
			got += fmt.Sprintf("%s %s:%d, ", c.Function, c.File, c.Line)
		}
		if got += fmt.Sprintf("%s:%d", l.File, l.Line); !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%#x: %s, want %s", addr, got, want)
		}
	}
}

// TestStackWin: of records around an address the smallest counts.
func TestStackWin(t *testing.T) {
	img, err := parse("MODULE windows x86 111 a.pdb\nSTACK WIN 4 1000 100 1 0 0 0 0 0 1 outer\nSTACK WIN 0 1010 20 2 0 0 0 0 0 0 0\nSTACK WIN 4 1040 10 3 0 0 0 0 0 1 inner\n", image.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := img.Container().(*container)
	for addr, want := range map[uint64]string{0x1000: "1000 true", 0x1018: "1010 false", 0x1044: "1040 true", 0x1060: "1000 true", 0x1100: " false"} {
		words, data, _ := c.StackWin(addr)
		got := ""
		if len(words) > 0 {
			got = string(words[0])
		}
		if got = fmt.Sprint(got, " ", data); got != want {
			t.Errorf("%#x: %s, want %s", addr, got, want)
		}
	}
}
