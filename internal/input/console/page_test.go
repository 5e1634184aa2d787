package console

import "testing"

// TestCutOfPages: a message as mail and pages show it.
func TestCutOfPages(t *testing.T) {
	const want = "[<c0012345>] (toy_b) from"
	for _, line := range []string{
		"> [<c0012345>] (toy_b) from",
		">>> [<c0012345>] (toy_b) from",
		"> > >   [<c0012345>] (toy_b) from ",
		"| [<c0012345>] (toy_b) from",
		"> [   12.345678] [<c0012345>] (toy_b) from",
		"[&lt;c0012345&gt;] (toy_b) from",
		"&gt; [&lt;c0012345&gt;] (toy_b) from",
		`\[\<c0012345\>\] (toy\_b) from`,
		"[<c0012345>]\u00a0(toy_b) from",
		"> `[<c0012345>] (toy_b) from",
		"`[Sun Nov 22 05:00:01 2026] [<c0012345>] (toy_b) from",
	} {
		if got := cutLine(line); got.Text != want {
			t.Errorf("%q: %q", line, got.Text)
		}
	}
	if got := cutLine("=09Mem abort info: ESR =3D 0x96000004=20"); got.Text != "Mem abort info: ESR = 0x96000004" {
		t.Errorf("%q", got.Text)
	}
	for _, text := range []string{"&(&lock->x){+.+.}", `C:\a\b`, "a > b", "x|y"} {
		if got := cutLine(text); got.Text != text {
			t.Errorf("%q: %q", text, got.Text)
		}
	}
}
