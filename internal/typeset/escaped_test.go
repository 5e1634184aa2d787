package typeset

import (
	"html"
	"testing"
)

// TestMarkup: what is filled in is text, whatever it holds; holes in values are none.
func TestMarkup(t *testing.T) {
	got := string(AppendMarkup(nil, `<b title="{}">{}</b>`, `" onclick="x`, "<i>'{}&amp;"))
	if want := `<b title="&#34; onclick=&#34;x">&lt;i&gt;&#39;{}&amp;amp;</b>`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestEscaped: every character is escaped as the standard library does, and what is no visible text as for a terminal,
// but for ends of lines and tabs.
func TestEscaped(t *testing.T) {
	for r := range rune(0x3000) {
		s := string(r)
		want := html.EscapeString(s)
		if r != '\n' && r != '\t' {
			want = html.EscapeString(Text(s))
		}
		if got := string(appendEscaped(nil, s)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := string(appendEscaped(nil, "\xff\x1b\u202e")); got != `\xff\x1b\u202e` {
		t.Error(got)
	}
}
