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
	for program, c := range map[string]struct {
		tools []string
		wants string // a regular expression
	}{
		"cortexm3": {[]string{"arm-none-eabi-gcc", "qemu-system-arm"}, `(?s)backsight: report 1.*#0 0x.*PRECISERR.*#0 .*read_sensor.*#1 .*average.*main\.c:\d+.*#2 .*measure`},
		"dump":     {[]string{"arm-none-eabi-gcc", "qemu-system-arm"}, `(?s)#0 .*bs_dump.*#1 .*HardFault_Handler.*#2 .*read_sensor.*#3 .*average.*main\.c:\d+.*#4 .*measure`},
		"mips":     {[]string{"mips-linux-gnu-gcc", "qemu-mips"}, `(?s)backsight: report 1.*#0 .*sum.*#1 .*total.*#2 .*main\+`},
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
			out := run(t, commands(string(page), program))
			if !regexp.MustCompile(c.wants).MatchString(out) {
				t.Errorf("docs/device.md, %s: it printed\n%s\nwhich is not %s", program, out, c.wants)
			}
		})
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
