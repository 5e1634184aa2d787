package device_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// calls prints the backtrace of three calls, by names of functions, the first frame of another, twice what the reader calls that, and the
// backtrace of a function that the C library's qsort has called. It has no unwind tables of its own. wipe overwrites what
// earlier calls left on the stack, where a guess would find it: how much of that qsort overwrites depends on the processor.
const calls = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
static volatile int depth;
static void *pcs[16];
static void print(int n)
{
	Dl_info info;
	int i;
	for (i = 0; i < n; i++)
		if (!pcs[i])
			printf("? ");
		else if (dladdr(pcs[i], &info) && info.dli_sname)
			printf("%s ", info.dli_sname);
	printf("\n");
}
__attribute__((noinline)) int compare(const void *a, const void *b)
{
	if (!depth++)
		print(backtrace(pcs, 16));
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) int sort(int *numbers) { qsort(numbers, 8, sizeof *numbers, compare); return numbers[0]; }
__attribute__((noinline)) void wipe(void) { volatile char room[32768]; unsigned i; for (i = 0; i < sizeof room; i++) room[i] = 0; }
__attribute__((noinline)) int inner(int n) { volatile int room[20]; room[n] = backtrace(pcs, 16); return room[n]; }
__attribute__((noinline)) int outer(int n) { volatile int room[50]; room[n] = n; return inner(room[n]) + 0 * room[n]; }
int main(void)
{
	int numbers[8] = {3, 1, 2};
	print(outer(depth + 1));
	print(backtrace(pcs, 1));
	printf("%s\n", backtrace_symbols(pcs, 1)[0]);
	fflush(stdout);
	backtrace_symbols_fd(pcs, 1, 1);
	wipe();
	return sort(numbers);
}
`

// TestPreload: the reader in place of the C library's backtrace(), by LD_PRELOAD, in a dynamically linked program that has
// neither unwind tables nor, at first, a device table; walks go through the C library's qsort by its .eh_frame, and through
// the program by its code.
func TestPreload(t *testing.T) {
	const whole = "inner outer main __libc_start_main"
	for _, m := range []struct{ compiler, emulator, root, without, guessing string }{
		{"gcc", "", "", whole, whole},
		{"mips-linux-gnu-gcc", "qemu-mips", "/usr/mips-linux-gnu", whole, whole},
		{"aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu", whole, whole},
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
			if out, err := exec.CommandContext(t.Context(), m.compiler, "-E", "-include", "stdio.h", "-xc", os.DevNull).CombinedOutput(); err != nil {
				t.Skipf("no headers of a C library for it: %.200s", out)
			}
			out := run(t, strings.NewReplacer("CC", m.compiler, "RUN", launch+" "+preload, "PROGRAM", calls).Replace(`
				cat >calls.c <<'END'
PROGRAM
END
				CC -O2 -rdynamic -fno-unwind-tables -fno-asynchronous-unwind-tables -fno-optimize-sibling-calls -o calls calls.c -ldl
				CC -O2 -shared -fPIC -o plain.so $SRC/device/ports/linux/*.c $SRC/device/backsight.c
				backsight table --add-section -o walk.so plain.so
				backsight table --add-section -o with-table calls
				RUN ./with-table
				echo "without: $(RUN ./calls)"
				export BACKSIGHT_GUESS=1
				echo "guessing: $(RUN ./calls)"`))
			if n := len(regexp.MustCompile(`/with-table\(main\+0x[0-9a-f]+\) \[0x[0-9a-f]+\]\n`).FindAllString(out, -1)); n != 2 {
				t.Errorf("%d symbols of two: %s", n, out)
			}
			for _, want := range []string{whole, "\ncompare qsort_r ", " sort main __libc_start_main", "without: " + m.without, m.guessing} {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in %q", want, out)
				}
			}
		})
	}
}
