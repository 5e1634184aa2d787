package device_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// TestSignedAddresses: return addresses that AArch64's pointer authentication has signed lose the
// signature, on an emulated processor that has it.
func TestSignedAddresses(t *testing.T) {
	if os.Getenv("BACKSIGHT_LONG") == "" {
		t.Skip("the table of a static program takes a while; BACKSIGHT_LONG=1")
	}
	for _, tool := range []string{"aarch64-linux-gnu-gcc", "qemu-aarch64", "go", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	out := run(t, `
		DEVICE=$SRC/device
		aarch64-linux-gnu-gcc -O2 -g -static -mbranch-protection=pac-ret+leaf -o crash $DEVICE/examples/mips-linux/main.c \
		  $DEVICE/ports/linux/*.c $DEVICE/backsight.c
		backsight table --add-section -o with-table crash
		qemu-aarch64 -cpu max ./with-table 2>console.log || true
		backsight bt -e crash console.log`)
	if want := `(?s)#0 .*sum.*#1 .*total.*#2 .*main\+.*#\d .*_start`; !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("%s\nis not %s", out, want)
	}
}
