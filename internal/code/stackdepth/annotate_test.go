package stackdepth

import (
	"strings"
	"testing"
)

// TestAnnotations: each line says one thing, and what is wrong is told with the line.
func TestAnnotations(t *testing.T) {
	a, err := ReadAnnotations(strings.NewReader("# stacks\ncall 0x8000412 -> uart_read, spi_read # by the table\n\nrecursion walk 12\nbound memcpy 0x20\nroot worker 1024\nroot idle\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(a.calls["0x8000412"], " "); got != "uart_read spi_read" {
		t.Errorf("call: %q", got)
	}
	if a.recursions["walk"] != 12 || a.bounds["memcpy"] != 32 || len(a.roots) != 2 || a.roots[0].size != 1024 {
		t.Errorf("%+v", a)
	}
	for text, want := range map[string]string{
		"bound memcpy":             "line 1: bound wants a function and a number",
		"\n\nbound memcpy many":    `line 3: "many" is no number of bytes or frames`,
		"recursion walk 0":         "line 1: a recursion has at least 1 frame",
		"recursion walk -1":        `line 1: "-1" is no number of bytes or frames`,
		"depth walk 3":             `line 1: "depth" is no annotation; there are call, recursion, bound, dynamic, priority, root`,
		"call f g":                 "line 1: call wants a place, -> and functions: call 0x8000412 -> f, g",
		"root":                     "line 1: root wants a function and, if known, the size of its stack",
		"dynamic f 99999999999999": `line 1: "99999999999999" is no number of bytes or frames`,
	} {
		if _, err := ReadAnnotations(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzAnnotations: any text is read or refused.
func FuzzAnnotations(f *testing.F) {
	f.Add("call 0x8000412 -> uart_read, spi_read\nrecursion walk 12\nbound memcpy 32")
	f.Add("dynamic parse 256\npriority uart 2\nroot worker 1024\nroot x # y")
	f.Add("call -> ,\ncall->\nroot\x00 1")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ReadAnnotations(strings.NewReader(text))
		if err == nil && (len(a.calls) > len(text) || len(a.roots) > len(text)) {
			t.Error("more than was said")
		}
	})
}
