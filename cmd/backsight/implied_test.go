package main

import (
	"io"
	"strings"
	"testing"
)

// TestWithCommand: a capture, or a flag of bt, where a command is typed.
func TestWithCommand(t *testing.T) {
	t.Chdir("../../testdata/mips-deref")
	for _, c := range []struct{ typed, run string }{
		{"", ""},
		{"core.gz", "bt core.gz"},
		{"--sysroot modules core.gz", "bt --sysroot modules core.gz"},
		{"./none", "bt ./none"},
		{"-", "bt -"},
		{"bt core.gz", "bt core.gz"},
		{"version", "version"},
		{"--version", "--version"},
		{"help marks", "help marks"},
		{"bogus", "bogus"},
	} {
		if got := strings.Join(withCommand(strings.Fields(c.typed), commands(io.Discard, io.Discard)), " "); got != c.run {
			t.Errorf("%q is run as %q, not %q", c.typed, got, c.run)
		}
	}
}

// TestHints: flags of other programs, and of bt with a letter too few.
func TestHints(t *testing.T) {
	for typed, want := range map[string]string{"--json": "-f json", "-q": "2>/dev/null", "--core": "backsight bt CORE", "--sysrot": "Did you mean --sysroot?"} {
		if code, _, says := bs(t, "bt", typed); code != exitUsage || !strings.Contains(says, want) {
			t.Errorf("%s: exit code %d, said %q, want %q", typed, code, says, want)
		}
	}
}

// TestSaysSysroot: where libraries of another machine are not here, it is said once how to give them; not where they were given.
func TestSaysSysroot(t *testing.T) {
	const netd, hint = "../../testdata/mips-deref/modules/usr/bin/netd", "--sysroot DIR says"
	if _, _, says := bs(t, "bt", "--exe", netd, core, core); strings.Count(says, hint) != 1 {
		t.Errorf("said %q", says)
	}
	if _, _, says := bs(t, "bt", "--exe", netd, "--sysroot", t.TempDir(), core); strings.Contains(says, hint) {
		t.Errorf("said %q, but it was given", says)
	}
}
