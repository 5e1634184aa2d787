package device_test

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"testing"

	"github.com/backsight/backsight/lab/device"
)

// TestSignedAddresses: return addresses that AArch64's pointer authentication has signed lose the
// signature, on an emulated processor that has it.
func TestSignedAddresses(t *testing.T) {
	if os.Getenv("BACKSIGHT_LONG") == "" {
		t.Skip("the table of a static program takes a minute; BACKSIGHT_LONG=1")
	}
	for _, tool := range []string{"aarch64-linux-gnu-gcc", "qemu-aarch64", "go", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	out := run(t, `
		DEVICE=$SRC/device
		aarch64-linux-gnu-gcc -O2 -g -static -mbranch-protection=pac-ret+leaf -o crash $DEVICE/examples/mips-linux/main.c \
		  $DEVICE/ports/linux/modules.c $DEVICE/ports/linux/signal.c $DEVICE/backsight.c
		backsight table --add-section -o with-table crash
		qemu-aarch64 -cpu max ./with-table 2>console.log || true
		backsight bt -e crash console.log`)
	if want := `(?s)#0 .*sum.*#1 .*total.*#2 .*main\+.*#\d .*_start`; !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("%s\nis not %s", out, want)
	}
}

// TestCost: on this machine's processor the reader finds as many frames as GCC's unwinder does by
// .eh_frame, and a scan finds more than there are.
func TestCost(t *testing.T) {
	if os.Getenv("BACKSIGHT_LONG") == "" {
		t.Skip("the table of a static program takes a minute; BACKSIGHT_LONG=1")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" || !device.Available() {
		t.Skip("the program is for x86-64 Linux")
	}
	out := run(t, `
		cc -O2 -static -o cost $SRC/device/test/cost.c $SRC/device/backsight.c $SRC/device/ports/linux/modules.c $SRC/device/ports/linux/signal.c
		backsight table --add-section -o with-table cost
		./with-table || true`)
	m := regexp.MustCompile(`(?s)backsight +frames +(\d+) .*GCC's _Unwind_Backtrace +frames +(\d+) .*a scan, per frame found +frames +(\d+) `).FindStringSubmatch(out)
	if m == nil {
		t.Skip("the processor's instructions cannot be counted here: ", out)
	}
	if m[1] != m[2] || m[1] == m[3] {
		t.Errorf("%s frames, %s by GCC's unwinder, %s by the scan", m[1], m[2], m[3])
	}
}
