package device_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/backsight/backsight/lab/device"
)

// TestInstalled: what bs_install has set reports the signal, the registers, the frames of the thread that failed and of the other
// one, on a descriptor and in a file alike, and lets the program die of the signal; a fault in the report ends it. A recursion is followed
// so far, and no further.
// BACKSIGHT_LONG=1 for all machines.
func TestInstalled(t *testing.T) {
	if testing.Short() {
		t.Skip("a compilation for each machine")
	}
	const flags = "-O2 -funwind-tables -fasynchronous-unwind-tables -pthread"
	some := func(m *device.Machine) bool {
		return slices.Contains([]string{"mips", "armt2", "x86_64"}, m.Name) || os.Getenv("BACKSIGHT_LONG") != ""
	}
	linuxPrograms(t, "install", flags, some, func(t *testing.T, _ *device.Machine, command func(...string) *exec.Cmd) {
		for kind, want := range map[string]string{
			"fault":    `^backsight: report 1\nsignal: 11 code: 1 address: 0x8\n(?s:.*pc|.*ip): [0-9a-f]+(.*\n)(.*\n)*#0 install\+0x.*\n#1 install(.*\n)+thread: .*\n(task: .*\n(#.*\n)*)+backsight: end \d\n`,
			"abort":    `^backsight: report 1\nsignal: 6\n(.*\n)+#3 install(.*\n)+backsight: end \d\n`,
			"overflow": `^backsight: report 1\nsignal: 11 code: [12] address: 0x(.*\n)+#1 install.*\n#\d{4,} install(.*\n)+backsight: end \d\n`,
			"deep":     `^backsight: report 1\nsignal: 11 code: [12] address: 0x(.*\n)+#1 install.*\n(#2 install.*\n)?#60000 install.*\n(.*\n)*backsight: end 1\n`,
			"inside":   `^backsight: report 1\n(.*\n)+backsight: a fault in the report\n$`,
		} {
			file := filepath.Join(t.TempDir(), "report")
			out, err := command(kind, file).Output()
			written, _ := os.ReadFile(file)
			if err == nil || !regexp.MustCompile(want).Match(written) || !bytes.HasPrefix(out, written) { // behind it, QEMU's own words
				t.Errorf("%s: %v: %s\nis not %s, or not what is printed: %s", kind, err, written, want, out)
			}
		}
	})
}
