package gdb

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/lab/truth"
)

// TestPlugin: inside GDB, over cores of programs without symbols and tables, the command backsight
// prints the true chain, and so does GDB's own bt once it unwinds by our rules; without them it does
// not.
func TestPlugin(t *testing.T) {
	if !Available() {
		t.Skip("there is no ", Program)
	}
	program := filepath.Join(t.TempDir(), "backsight")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/backsight").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, arch := range []string{"mips", "aarch64"} {
		t.Run(arch, func(t *testing.T) {
			c := recorded.Cases(t, arch+"/*")[0]
			elf, ok := recorded.Program(t, &c, "naked")
			if !ok {
				t.Skip("no naked program in ", c.Name)
			}
			core, want := deepest(t, &c, elf)
			out := inside(t, program, elf, core)
			before, rest, _ := strings.Cut(out, "AFTER\n")
			after, ours, _ := strings.Cut(rest, "OURS\n")
			if wholeChain(before, want) {
				t.Errorf("bt alone has the whole chain; this case shows nothing:\n%s", before)
			}
			if !wholeChain(after, want) {
				t.Errorf("bt by our rules has not the chain %#x:\n%s", want, after)
			}
			if !wholeChain(ours, want) {
				t.Errorf("backsight has not the chain %#x:\n%s", want, ours)
			}
		})
	}
}

// deepest writes the core of the case's deepest snapshot without a signal frame, and returns its chain.
func deepest(t *testing.T, c *truth.Case, elf string) (path string, chain []uint64) {
	t.Helper()
	answers, err := c.Answers()
	if err != nil {
		t.Fatal(err)
	}
	stream, err := backsight.Open(t.Context(), c.Snapshots(), input.Env{Files: backsight.NewFiles(input.FileOptions{Images: []input.NamedImage{{Path: elf}}})})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	path = filepath.Join(t.TempDir(), "core")
	for i := range answers {
		snap, err := stream.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if frames := answers[i].Frames; answers[i].Kind == "body" && len(frames) > len(chain) && len(frames) < 12 {
			if err := write(path, elf, snap); err != nil {
				t.Fatal(err)
			}
			chain = nil
			for _, f := range frames {
				chain = append(chain, uint64(f.PC))
			}
		}
	}
	return path, chain
}

// inside is what GDB prints: bt, bt by our rules, our command.
func inside(t *testing.T, program, elf, core string) string {
	t.Helper()
	cmd := exec.Command(Program, "-nx", "-batch", "-ex", "set confirm off", "-ex", "set backtrace past-main on", "-ex", "file "+elf, "-ex", "core-file "+core,
		"-x", "../../contrib/gdb/backsight.py", "-ex", "bt 30", "-ex", "echo AFTER\\n", "-ex", "set backsight-unwinder on", "-ex", "bt 30", "-ex", "echo OURS\\n", "-ex", "backsight --color never")
	cmd.Env = append(os.Environ(), "BACKSIGHT="+program)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// frameLine is a frame as GDB and as we print it.
var frameLine = regexp.MustCompile(`(?m)^#\d+ +(0x[0-9a-f]+) `)

// wholeChain tells whether a backtrace begins with all addresses of a chain.
func wholeChain(text string, want []uint64) bool {
	frames := frameLine.FindAllStringSubmatch(text, -1)
	if len(frames) < len(want) {
		return false
	}
	for i, pc := range want {
		if got, err := strconv.ParseUint(frames[i][1], 0, 64); err != nil || got != pc {
			return false
		}
	}
	return true
}

// TestPluginLibraries: inside GDB, over a process, a position-independent program and a library of its own, both without tables, are
// unwound, into a libc that has tables.
func TestPluginLibraries(t *testing.T) {
	out := debugged(t, "gdb", "-nx", "-batch", "-ex", "file main", "-ex", "run", "-x", plugin(t, "gdb"), "-ex", "set backsight-unwinder on", "-ex", "bt", "-ex", "echo OURS\\n",
		"-ex", "backsight --color never")
	theirs, ours, _ := strings.Cut(out, "OURS\n")
	wholeToLibc(t, "bt by our rules", theirs)
	wholeToLibc(t, "backsight", ours)
}

// TestPluginLLDB: the same by the command inside LLDB.
func TestPluginLLDB(t *testing.T) {
	for _, name := range []string{"lldb", "lldb-14"} {
		if _, err := exec.LookPath(name); err == nil {
			wholeToLibc(t, "backsight", debugged(t, name, "-b", "-o", "command script import "+plugin(t, "lldb"), "-o", "run", "-k", "backsight --color never", "main"))
			return
		}
	}
	t.Skip("there is no lldb")
}

// wholeToLibc tells whether a backtrace of the program of debugged comes to main's caller.
func wholeToLibc(t *testing.T, name, text string) {
	t.Helper()
	if deep := strings.Count(text, " in deep ") + strings.Count(text, " deep+0x"); deep != 4 || !strings.Contains(text, "__libc_start") {
		t.Errorf("%s has %d of 4 calls of the library, or does not come to main's caller:\n%s", name, deep, text)
	}
}

// debugged is what a debugger prints of a program without tables that its library aborts, which lies in its folder.
func debugged(t *testing.T, debugger ...string) string {
	t.Helper()
	for _, tool := range []string{debugger[0], "gcc", "strip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no ", tool)
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"deep.c": "void deep(int n, void (*f)(void)) { volatile int a[40]; a[n] = n; if (n > 0) deep(n - 1, f); else f(); a[n]++; }",
		"main.c": "#include <stdlib.h>\nvoid deep(int, void (*)(void));\nstatic void boom(void) { abort(); }\n" +
			"int work(int n) { volatile int c[20]; c[n] = n; deep(n, boom); return c[n]; }\nint main(void) { return work(3) + 1; }",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "backsight")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/backsight").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const bare = "gcc -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer -fno-optimize-sibling-calls "
	for _, c := range []string{bare + "-fPIC -shared -o libdeep.so deep.c", bare + "-pie -fPIE -o main main.c -L. -ldeep -Wl,-rpath," + dir, "strip main libdeep.so"} {
		words := strings.Fields(c)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", c, err, out)
		}
	}
	cmd := exec.Command(debugger[0], debugger[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "BACKSIGHT="+program)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "SIGABRT") || strings.Contains(string(out), "No module named 'lldb.") {
		t.Skipf("%s cannot run a program here: %v\n%s", debugger[0], err, out)
	}
	return string(out)
}

// plugin is the path of a debugger's plugin.
func plugin(t *testing.T, debugger string) string {
	path, err := filepath.Abs("../../contrib/" + debugger + "/backsight.py")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
