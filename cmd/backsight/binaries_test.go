package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two builds are matched; places of the old one, also those of a report, are found; what is wrong is one line.
func TestDiffBinaries(t *testing.T) {
	old, other := "../../testdata/microcontroller/m3-freertos.elf", "../../testdata/microcontroller/m4f-freertos.elf"
	code, out, talk := bs(t, "diff", "--binaries", old, other)
	if code != exitOK || !strings.Contains(out, " scenario  →  ") || !strings.Contains(out, "\nmatched: ") || !strings.Contains(out, " by name,") {
		t.Errorf("exit code %d, %s%s", code, out, talk)
	}
	cores, flags := crashes()
	report := filepath.Join(t.TempDir(), "report.json")
	_, text, _ := bs(t, append(append([]string{"bt", "-f", "json"}, flags...), cores[0])...)
	if err := os.WriteFile(report, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	netd := "../../testdata/mips-deref/modules/usr/bin/netd"
	code, out, talk = bs(t, "diff", "--binaries", "--report", report, netd, netd)
	if code != exitOK || strings.Count(out, "(by build)\n") < 3 || strings.Contains(out, "about") {
		t.Errorf("exit code %d, %s%s", code, out, talk)
	}
	for _, c := range []struct{ args, says string }{
		{"--binaries --at zz " + old + " " + other, `--at "zz" is no number`},
		{"--at 1 " + old + " " + other, "--at and --report go with --binaries"},
		{"--binaries -f html " + old + " " + other, "--binaries is written as text"},
		{"--binaries " + old + " no-such-file", "cannot be opened"},
		{"--binaries --report no-such-file " + old + " " + other, "no-such-file"},
	} {
		code, out, talk := bs(t, append([]string{"diff"}, strings.Fields(c.args)...)...)
		if code == exitOK || out != "" || !strings.Contains(talk, c.says) {
			t.Errorf("%s: exit code %d, %q, %q", c.args, code, out, talk)
		}
	}
}
