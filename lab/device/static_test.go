package device_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestStaticProgram: a static program without a build ID, as some tool chains link: its report names no build, and the file that the user
// names, not stripped and of another name, has the names. musl calls such a program /proc/self/exe.
func TestStaticProgram(t *testing.T) {
	for _, compiler := range []string{"gcc", "musl-gcc"} {
		t.Run(compiler, func(t *testing.T) {
			for _, tool := range []string{compiler, "strip", "go", "sh"} {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skip(err)
				}
			}
			out := run(t, strings.ReplaceAll(`
				CC -O2 -g -static -no-pie -Wl,--build-id=none -o named $SRC/device/examples/mips-linux/main.c $SRC/device/ports/linux/*.c $SRC/device/backsight.c
				strip -o shipped named
				./shipped 2>console.log || true
				cat console.log
				backsight bt -e named console.log`, "CC", compiler))
			for _, want := range []string{"\n#0 shipped+0x", " sum", "main.c:15"} {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in %q", want, out)
				}
			}
		})
	}
}
