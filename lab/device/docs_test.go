package device_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTenMinutes follows docs/device.md: the commands of a program, word by word, and what they
// print as far as it does not depend on the compiler. BACKSIGHT_LONG=1 for all programs.
func TestTenMinutes(t *testing.T) {
	page, err := os.ReadFile("../../docs/device.md")
	if err != nil {
		t.Fatal(err)
	}
	const failing = `cat >program.c <<'END'
struct node { struct node *next; int value; };
__attribute__((noinline)) int sum(const volatile struct node *n) { int all = 0; for (;; n = n->next) all += n->value; return all; }
__attribute__((noinline)) int total(void) { struct node last = {0, 2}, first = {&last, 1}; return sum(&first) + 1; }
int main(void) { return total() + 1; }
END
cp -r $SRC/device .
gcc -O2 -g -fno-unwind-tables -fno-asynchronous-unwind-tables -o program program.c
`
	for program, c := range map[string]struct {
		tools []string
		wants string // a regular expression
		given string // what the reader of the page has already
	}{
		"cortexm3": {[]string{"arm-none-eabi-gcc", "qemu-system-arm"}, `(?s)backsight: report 1.*#0 0x.*PRECISERR.*#0 .*read_sensor.*#1 .*average.*main\.c:\d+.*#2 .*measure`, ""},
		"dump":     {[]string{"arm-none-eabi-gcc", "qemu-system-arm"}, `(?s)#0 .*bs_dump.*#1 .*HardFault_Handler.*#2 .*read_sensor.*#3 .*average.*main\.c:\d+.*#4 .*measure`, ""},
		"mips":     {[]string{"mips-linux-gnu-gcc", "qemu-mips"}, `(?s)backsight: report 1.*#0 .*sum.*#1 .*total.*#2 .*main\+`, ""},
		"table":    {[]string{"arm-none-eabi-gcc", "qemu-system-arm"}, `(?s)PRECISERR.*#0 .*read_sensor.*#1 .*average.*main\.c:\d+.*#2 .*measure`, ""},
		"linux":    {[]string{"gcc", "make"}, `(?s)SIGSEGV.*#0 .*sum.*#1 .*total.*#2 .*main\+`, failing},
		"rootfs": {[]string{"gcc", "make"}, `(?s)SIGSEGV.*#0 .*sum.*#1 .*total.*#2 .*main\+`,
			failing + "make -s -C device CC=gcc\nmkdir -p rootfs/bin rootfs/usr/lib\ncp device/libbacksight.so rootfs\ncp program rootfs/bin\n"},
	} {
		t.Run(program, func(t *testing.T) {
			if program == "mips" && os.Getenv("BACKSIGHT_LONG") == "" {
				t.Skip("the table of a static program takes a while; BACKSIGHT_LONG=1")
			}
			for _, tool := range append(c.tools, "go", "sh") {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skip(err)
				}
			}
			out := run(t, c.given+commands(string(page), program))
			if !regexp.MustCompile(c.wants).MatchString(out) {
				t.Errorf("docs/device.md, %s: it printed\n%s\nwhich is not %s", program, out, c.wants)
			}
		})
	}
}

// TestSources: the list that the Makefile, CMake's and Meson's file read has all that the port consists of.
func TestSources(t *testing.T) {
	list, err := os.ReadFile("../../device/sources")
	if err != nil {
		t.Fatal(err)
	}
	port, err := filepath.Glob("../../device/ports/linux/*.c")
	if err != nil {
		t.Fatal(err)
	}
	want := "backsight.c\n"
	for _, path := range port {
		want += "ports/linux/" + filepath.Base(path) + "\n"
	}
	if string(list) != want {
		t.Errorf("device/sources has\n%s, want\n%s", list, want)
	}
}

// commands are those of a page's blocks "sh program".
func commands(page, program string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(page) {
		line = strings.TrimPrefix(line, "   ")
		switch {
		case strings.HasPrefix(line, "```sh "+program):
			in = true
		case strings.HasPrefix(line, "```"):
			in = false
		case in:
			b.WriteString(line)
		}
	}
	return b.String()
}

// run runs commands in an empty folder, with backsight among the programs.
func run(t *testing.T, script string) string {
	t.Helper()
	src, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin, dir := t.TempDir(), t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "backsight"), "./cmd/backsight")
	build.Dir = src
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sh := exec.CommandContext(t.Context(), "sh", "-ec", script)
	sh.Dir = dir
	sh.Env = append(os.Environ(), "SRC="+src, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
