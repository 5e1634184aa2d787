package device_test

import (
	"os/exec"
	"strings"
	"testing"
)

// calls prints the backtrace of three calls, as offsets into the program where they are in it. It has
// no unwind tables of its own.
const calls = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
static volatile int depth;
static void *pcs[16];
__attribute__((noinline)) int inner(int n) { volatile int room[20]; room[n] = backtrace(pcs, 16); return room[n]; }
__attribute__((noinline)) int outer(int n) { volatile int room[50]; room[n] = n; return inner(room[n]) + 0 * room[n]; }
int main(void)
{
	int i, n = outer(depth + 1);
	Dl_info info;
	for (i = 0; i < n; i++)
		if (dladdr(pcs[i], &info) && info.dli_sname)
			printf("%s ", info.dli_sname);
	return 0;
}
`

// TestPreload: the reader in place of the C library's backtrace(), by LD_PRELOAD, in a dynamically
// linked program that was given its table afterwards; in one without, the walk ends at the first frame.
func TestPreload(t *testing.T) {
	for _, m := range []struct{ compiler, emulator, root string }{
		{"gcc", "", ""},
		{"mips-linux-gnu-gcc", "qemu-mips", "/usr/mips-linux-gnu"},
		{"aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu"},
	} {
		t.Run(m.compiler, func(t *testing.T) {
			launch, preload := "env", "LD_PRELOAD=./walk.so"
			if m.emulator != "" {
				launch = m.emulator + " -L " + m.root + " -E"
			}
			for _, tool := range []string{m.compiler, strings.Fields(launch)[0], "go", "sh"} {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skip(err)
				}
			}
			out := run(t, strings.NewReplacer("CC", m.compiler, "RUN", launch+" "+preload, "PROGRAM", calls).Replace(`
				cat >calls.c <<'END'
PROGRAM
END
				CC -O2 -rdynamic -fno-unwind-tables -fno-asynchronous-unwind-tables -fno-optimize-sibling-calls -o calls calls.c -ldl
				CC -O2 -shared -fPIC -o plain.so $SRC/device/ports/linux/execinfo.c $SRC/device/ports/linux/modules.c $SRC/device/ports/linux/signal.c $SRC/device/backsight.c
				backsight table --add-section -o walk.so plain.so
				backsight table --add-section -o with-table calls
				RUN ./with-table
				echo
				echo "without: $(RUN ./calls)"`))
			if !strings.Contains(out, "inner outer main ") || !strings.Contains(out, "without: inner \n") {
				t.Errorf("%s", out)
			}
		})
	}
}
