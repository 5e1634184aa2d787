package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// snapshot is a thread whose PC lies in no binary: one frame, no root.
const snapshot = `{"arch":"mips","endian":"big","abi":"o32","regs":{"pc":"0x400d2c","sp":"0x7fffe000"},"memory":[{"base":"0x7fffe000","bytes":"AAAAAAAAAAA="}]}` + "\n"

// bs runs a command line in this process.
func bs(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	code = run(context.Background(), args, &out, &talk)
	return code, out.String(), talk.String()
}

// write puts content into a new file.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExitCodes: the contract's codes; one clear line where something is wrong,
// two where the user may want to read the help.
func TestExitCodes(t *testing.T) {
	good := write(t, "good.json", snapshot)
	empty, text := write(t, "empty", ""), write(t, "text", "hello, world\n")
	missing, dir := filepath.Join(t.TempDir(), "missing"), t.TempDir()
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"backtraces", []string{"bt", good}, exitOK, ""},
		{"incomplete is no failure", []string{"bt", "-f", "json", good}, exitOK, ""},
		{"incomplete and strict", []string{"bt", "--strict", good}, exitIncomplete, ""},
		{"missing file", []string{"bt", missing}, exitNone, "missing: cannot be opened: "},
		{"empty file", []string{"bt", empty}, exitNone, "empty: offset 0x0: empty file"},
		{"directory", []string{"bt", dir}, exitNone, "a directory, no capture"},
		{"unknown format", []string{"bt", text}, exitNone, "text: offset 0x0: text without a crash report"},
		{"one of two is missing", []string{"bt", missing, good}, exitNone, "missing"},
		{"missing binary", []string{"bt", "--image", missing, good}, exitNone, "missing: cannot be opened"},
		{"empty binary", []string{"bt", "-e", empty, good}, exitNone, "empty file"},
		{"missing sysroot", []string{"bt", "--sysroot", missing, good}, exitNone, "not a directory"},
		{"no such thread", []string{"bt", "--thread", "99", good}, exitNone, "no thread 99; there are 1"},
		{"no capture", []string{"bt"}, exitUsage, "no capture named"},
		{"unknown command", []string{"backtrace"}, exitUsage, `unknown command "backtrace"`},
		{"unknown flag", []string{"bt", "--frames", good}, exitUsage, "unknown flag: --frames"},
		{"all frames", []string{"bt", "-n", "0", good}, exitOK, ""},
		{"fewer than no frames", []string{"bt", "-n", "-1", good}, exitUsage, "--max-frames -1"},
		{"no source", []string{"bt", "--sources", "", good}, exitUsage, "names no unwind source"},
		{"no number", []string{"bt", "-n", "many", good}, exitUsage, `--max-frames "many" is no number`},
		{"two executables", []string{"bt", "-e", "a", "-e", "b", good}, exitUsage, `--exe "b": given twice`},
		{"no executable", []string{"bt", "-e", "", good}, exitUsage, `--exe "": an empty name`},
		{"no such help", []string{"help", "bogus"}, exitUsage, `no command "bogus"`},
		{"an executable alone", []string{"bt", os.Args[0]}, exitNone, "an executable, no core file"},
		{"a Windows executable", []string{"bt", write(t, "a.exe", "MZ"+strings.Repeat("\x00", 100))}, exitNone, "a Windows executable"},
		{"text that begins as an archive does", []string{"bt", write(t, "a.zip", "PK\x03\x04 and text")}, exitNone, "a ZIP archive: unpack the capture"},
		{"an ELF file cut short", []string{"bt", write(t, "short", "\x7fELF\x02\x01")}, exitNone, "an ELF file that ends within its header"},
		{"a minidump", []string{"bt", write(t, "a.dmp", "MDMP"+strings.Repeat("\x00", 100))}, exitNone, "a minidump that does not say of which processor it is"},
		{"bad format", []string{"bt", "-f", "xml", good}, exitUsage, `"xml" is none of text, json, jsonl`},
		{"bad source", []string{"bt", "--sources", "cfi,magic", good}, exitUsage, `no unwind source "magic"`},
		{"bad color", []string{"bt", "--color", "green", good}, exitUsage, `"green" is none of`},
		{"bad endian", []string{"bt", "--endian", "middle", good}, exitUsage, `"middle" is neither`},
		{"bad arch", []string{"bt", "--arch", "z80", good}, exitUsage, "no processor z80"},
		{"two byte orders", []string{"bt", "--arch", "mipsel", "--endian", "big", good}, exitUsage, "--arch mipsel is little-endian, --endian says big"},
		{"one and all", []string{"bt", "-1", "-a", good}, exitUsage, "exclude one another"},
		{"explain without PC", []string{"explain", good}, exitUsage, "wants a binary and an address"},
		{"explain no binary", []string{"explain", text, "0"}, exitNone, "text: offset 0x0: not a known kind of binary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, _, says := bs(t, c.args...)
			says = strings.Replace(says, "backsight: good.json: no binary of the program is known: name it with --exe or --image\n", "", 1)
			if code != c.code || !strings.Contains(says, c.says) {
				t.Errorf("exit code %d, want %d; said %q, want %q", code, c.code, says, c.says)
			}
			lines := map[int]int{exitNone: 1, exitUsage: 2}[c.code]
			if n := strings.Count(says, "\n"); n != lines {
				t.Errorf("said %d lines, want %d: %q", n, lines, says)
			}
		})
	}
}

// TestBatch: one line of output for each line of input, in order, broken ones
// included; each broken one is said, and once that no binary is known.
func TestBatch(t *testing.T) {
	var in strings.Builder
	for i := range 100 {
		if i%10 == 3 {
			in.WriteString("{broken\n")
		} else {
			in.WriteString(strings.Replace(snapshot, "400d2c", "4000"+string("0123456789"[i%10])+"0", 1))
		}
	}
	code, out, says := bs(t, "bt", "-f", "jsonl", write(t, "batch.jsonl", in.String()))
	lines := strings.SplitAfter(out, "\n")
	if code != exitOK || len(lines) != 101 || strings.Count(says, "\n") != 1+10 {
		t.Fatalf("exit code %d, %d lines, said %q", code, len(lines)-1, says)
	}
	for i, line := range lines[:100] {
		var doc struct {
			Status  string
			Threads []struct {
				Frames []struct{ Offset string }
			}
		}
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		if i%10 == 3 {
			if doc.Status != "ERROR" {
				t.Errorf("line %d: %s", i, line)
			}
		} else if want := "0x004000" + string("0123456789"[i%10]) + "0"; doc.Threads[0].Frames[0].Offset != want {
			t.Errorf("line %d: %s, want %s", i, line, want)
		}
	}
}

// TestOnlyBroken: a batch without any backtrace is a failure.
func TestOnlyBroken(t *testing.T) {
	code, out, _ := bs(t, "bt", "-f", "jsonl", write(t, "b.jsonl", `{"arch":"mips","regs`+"\n"+`{"arch":"mips","endi`+"\n"))
	if code != exitNone || strings.Count(out, "\n") != 2 {
		t.Errorf("exit code %d, wrote %q", code, out)
	}
}

// pipe makes a pipe the standard input.
func pipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin := os.Stdin
	os.Stdin = r
	t.Cleanup(func() { os.Stdin = stdin; w.Close() })
	return w
}

// ask writes a snapshot into the pipe and waits for its line of output. The
// snapshot is long, since the format is recognised by the first 4096 bytes.
func ask(t *testing.T, w *os.File, answers <-chan string) {
	t.Helper()
	note := `{"note":"` + strings.Repeat(".", 5000) + `",`
	if _, err := w.WriteString(strings.Replace(snapshot, "{", note, 1)); err != nil {
		t.Fatal(err)
	}
	if line := <-answers; !strings.HasPrefix(line, `{"status":"OK"`) { // comes while the pipe is open, or never
		t.Errorf("got %s", line)
	}
}

// TestStandardInput: a capture from a pipe is answered line by line, while the
// pipe stays open.
func TestStandardInput(t *testing.T) {
	w, answers, exit := pipe(t), make(lineWriter), make(chan int, 1)
	go func() {
		exit <- run(context.Background(), []string{"bt", "-f", "jsonl", "-"}, answers, &bytes.Buffer{})
	}()
	for range 3 {
		ask(t, w, answers)
	}
	w.Close()
	if code := <-exit; code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// lineWriter sends what is written.
type lineWriter chan string

func (w lineWriter) Write(b []byte) (int, error) { w <- string(b); return len(b), nil }

// TestInterrupted: a run that waits for more input ends at once.
func TestInterrupted(t *testing.T) {
	w, answers, exit := pipe(t), make(lineWriter), make(chan int, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { exit <- run(ctx, []string{"bt", "-f", "jsonl", "-"}, answers, &bytes.Buffer{}) }()
	ask(t, w, answers)
	cancel()
	if code := <-exit; code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

// failing is a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputFails(t *testing.T) {
	var talk bytes.Buffer
	code := run(context.Background(), []string{"bt", write(t, "many", strings.Repeat(snapshot, 50))}, failing{}, &talk)
	if code != exitNone || !strings.HasSuffix(talk.String(), "\nbacksight: standard output: no space left on device\n") {
		t.Errorf("exit code %d, said %q", code, talk.String())
	}
}

// TestHelpFails: whatever a command writes to standard output, a full disk is an error of one line.
func TestHelpFails(t *testing.T) {
	for _, line := range []string{"help", "help bt", "--help", "bt --help", "version", "version -f json", "--version", "completion bash", "schema"} {
		var talk bytes.Buffer
		code := run(context.Background(), strings.Fields(line), failing{}, &talk)
		if code != exitNone || talk.String() != "backsight: standard output: no space left on device\n" {
			t.Errorf("%s: exit code %d, said %q", line, code, talk.String())
		}
	}
}

// TestHeadings: of one capture the first snapshot needs no heading; of several captures each has its
// name, and the number of a snapshot behind the first.
func TestHeadings(t *testing.T) {
	two, single := write(t, "two", snapshot+snapshot), write(t, "single", snapshot)
	const one = "Thread 1 (crashed)\n#0  0x00400d2c  ?\n    stop: no-rule at 0x00400d2c\n"
	if _, out, _ := bs(t, "bt", two); out != one+"\nSnapshot 2\n"+one {
		t.Errorf("got\n%s", out)
	}
	if _, out, _ := bs(t, "bt", two, single); out != "two\n"+one+"\ntwo, snapshot 2\n"+one+"\nsingle\n"+one {
		t.Errorf("got\n%s", out)
	}
}

// TestColor: --color, and NO_COLOR where --color is auto.
func TestColor(t *testing.T) {
	file := write(t, "one", snapshot)
	t.Setenv("NO_COLOR", "1")
	for when, want := range map[string]bool{"auto": false, "never": false, "always": true} {
		if _, out, _ := bs(t, "bt", "--color", when, file); strings.Contains(out, "\x1b[") != want {
			t.Errorf("--color %s: %q", when, out)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"bt", "--help"}, {"explain", "--help"}, {"--version"}, {"completion", "bash"}} {
		code, out, says := bs(t, args...)
		if code != exitOK || out == "" || says != "" {
			t.Errorf("%v: exit code %d, %d bytes, said %q", args, code, len(out), says)
		}
	}
	for _, cmd := range []string{"bt", "explain"} {
		if _, out, _ := bs(t, cmd, "--help"); !strings.Contains(out, "Examples:\n  backsight "+cmd) {
			t.Errorf("%s --help has no examples", cmd)
		}
	}
}
