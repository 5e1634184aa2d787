package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/backsight/backsight/lab/livecore"
)

// runCrashes writes docs/crashes.md: what GDB, eu-stack and Backsight say of ten crashes, in
// their words.
func runCrashes(args []string) error {
	fs := flag.NewFlagSet("crashes", flag.ExitOnError)
	program := fs.String("backsight", "bin/backsight", "the command")
	out := fs.String("o", "docs/crashes.md", "the document")
	if err := fs.Parse(args); err != nil {
		return err
	}
	path, err := filepath.Abs(*program)
	if err != nil {
		return err
	}
	var doc bytes.Buffer
	doc.WriteString(crashesHead)
	for _, k := range livecore.Kinds() {
		if err := writeCrash(&doc, path, &k); err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	return os.WriteFile(*out, doc.Bytes(), 0o644)
}

const crashesHead = `# Ten ways to crash

What GDB ("bt"), eu-stack and Backsight ("bt") say of the same core files. The programs are C,
built by "gcc -O1 -g"; "go run ./lab crashes" builds them, lets them crash and writes this page.
Each program's main calls outer, and that work, which dies. Each is a test: crashes_test.go.

| crash | GDB | eu-stack | Backsight |
|---|---|---|---|
`

// maxAnswer is how long a program may take for an answer.
const maxAnswer = time.Minute

// writeCrash writes the row of one crash.
func writeCrash(doc *bytes.Buffer, backsight string, k *livecore.Kind) error {
	dir, err := os.MkdirTemp("", "crash-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := livecore.Build(dir, "gcc", k.Source(), append([]string{"-O1", "-g"}, k.Flags...)...)
	if err != nil {
		return err
	}
	core, err := livecore.Run(dir, program)
	if err != nil {
		return err
	}
	gdb := answer(dir, "gdb", "-nx", "-batch", "-ex", "echo BACKTRACE\\n", "-ex", "bt", program, core)
	eu := answer(dir, "eu-stack", "--core", core)
	ours := answer(dir, backsight, "bt", core)
	headline, gdb, _ := strings.Cut(gdb, "BACKTRACE")
	fmt.Fprintf(doc, "| %s | %s: %s | %s | %s: %s |\n", k.Name,
		after(headline, "Program terminated with signal "), chain(gdb), chain(eu), reason(ours), chain(ours))
	return nil
}

// answer is what a program says.
func answer(dir string, command ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), maxAnswer)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // what went wrong stands there
	if ctx.Err() != nil {
		out = append(out, "\nlab: ended after a minute"...)
	}
	return strings.ReplaceAll(string(out), dir+"/", "")
}

// after is the rest of the line in which what stands, without the full stop.
func after(text, what string) string {
	_, rest, _ := strings.Cut(text, what)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSuffix(line, ".")
}

// reason is the second line, in which Backsight says why. Addresses differ from run to run.
func reason(text string) string {
	lines := strings.SplitN(text, "\n", 3)
	return anyAddress.ReplaceAllString(strings.TrimSpace(lines[min(1, len(lines)-1)]), "0x…")
}

// Frames as GDB, eu-stack and Backsight write them, and what eu-stack and Backsight write of
// those that they leave out.
var (
	anyAddress = regexp.MustCompile(`0x[0-9a-f]{6,}`)
	frameLine  = regexp.MustCompile(`^#\d+\s+(?:0x([0-9a-f]+)(?: in)?)?\s*([^\s+(]*)`)
	foldedLine = regexp.MustCompile(`again, (\d+) times`)
	brokenLine = regexp.MustCompile(`^(?:lab|eu-stack: .*): (.*)$`)
)

// chain is the functions of a backtrace, innermost first, up to main.
func chain(text string) string {
	var names []string
	var times []int
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := foldedLine.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			times[len(times)-1] += n
		}
		if m := brokenLine.FindStringSubmatch(line); m != nil {
			return joined(names, times) + ", then \"" + m[1] + "\""
		}
		m := frameLine.FindStringSubmatch(line)
		if m == nil || strings.Contains(line, "(inlined)") {
			continue
		}
		name := m[2]
		if name == "" || name == "?" {
			name = "??"
		}
		if n := len(names); n > 0 && names[n-1] == name {
			times[n-1]++
		} else {
			names, times = append(names, name), append(times, 1)
		}
		if name == "main" {
			break
		}
	}
	return joined(names, times)
}

// joined writes names with how often each comes.
func joined(names []string, times []int) string {
	parts := make([]string, len(names))
	for i := range names {
		if parts[i] = names[i]; times[i] > 1 {
			parts[i] += fmt.Sprintf(" (%d times)", times[i])
		}
	}
	return strings.Join(parts, ", ")
}
