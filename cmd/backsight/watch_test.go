//go:build !small

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// consoleLog is what a device prints that crashes, resets and runs on.
const consoleLog = "boot\r\nadc 0x1234\r\nHardFault: CFSR 00008200 HFSR 40000000 BFAR a0000000\r\n" +
	"R0 00000004 R1 00007eb4 R2 00000002 R3 a0000000\r\nR12 00000000 LR 08000175 PC 0800015c PSR 01000000\r\n" +
	"SP 200029e0\r\n200029e0: 20002a12 00000199 00020000 200003cc\r\n"

// TestWatchEnds: the end of the input ends the watch; the text is passed on, the backtrace
// stands under the report, --fail tells that one came.
func TestWatchEnds(t *testing.T) {
	path := write(t, "serial.log", consoleLog+"boot\r\n")
	code, out, _ := bs(t, "watch", "--to-end", "--fail", path)
	if code != exitIncomplete || !strings.Contains(out, "adc 0x1234\n") || !strings.Contains(out, "#0  0x0800015c") ||
		!strings.Contains(out, "precise data bus error") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out, _ = bs(t, "watch", "--to-end", "--fail", "--quiet", write(t, "good.log", "boot\nready\n"))
	if code != exitOK || out != "" {
		t.Errorf("a log without a report: exit code %d, %q", code, out)
	}
}

// TestWatchExec: the command has the report as JSON.
func TestWatchExec(t *testing.T) {
	if _, err := os.Stat("/bin/cat"); err != nil {
		t.Skip("no cat")
	}
	_, out, talk := bs(t, "watch", "--to-end", "--quiet", "-f", "problems", "--exec", "/bin/cat", write(t, "serial.log", consoleLog))
	if !strings.Contains(out, `"type": "hard fault"`) {
		t.Errorf("%s\n%s", out, talk)
	}
}

// TestWatchExecFails: one line says that the command failed, with its exit status.
func TestWatchExecFails(t *testing.T) {
	sh, err := exec.LookPath("false")
	if err != nil {
		t.Skip("no command that fails")
	}
	code, _, talk := bs(t, "watch", "--to-end", "--exec", sh, write(t, "serial.log", consoleLog))
	if says := "backsight: --exec " + sh + ": exit status 1\n"; code != exitOK || talk != says {
		t.Errorf("exit code %d, %q", code, talk)
	}
}

// TestWatchWrongUsage: one line says what is wrong.
func TestWatchWrongUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"watch", "/nowhere/tty"}, exitNone, "/nowhere/tty: cannot be opened"},
		{[]string{"watch"}, exitUsage, "wants a terminal, a file or -"},
		{[]string{"watch", "../../testdata/mips-deref/core.gz"}, exitNone, "core.gz: a capture, no console: bt reads it"},
		{[]string{"watch", "-f", "html", "-"}, exitUsage, `--format "html" is none of text, jsonl, problems`},
		{[]string{"watch", "--exec", " ", "-"}, exitUsage, "--exec names no command"},
	} {
		if code, _, talk := bs(t, c.args...); code != c.code || !strings.Contains(talk, c.says) {
			t.Errorf("%v: exit code %d, %q", c.args, code, talk)
		}
	}
}

// TestWatchBrokenConsole: what a console printed before it broke is looked at, and the exit code
// tells that the console broke.
func TestWatchBrokenConsole(t *testing.T) {
	var out strings.Builder
	w := watcher{opt: &watchOptions{pause: time.Hour}, name: "ttyUSB0", stdout: &out}
	err := w.follow(t.Context(), io.MultiReader(strings.NewReader("booting\n"), iotest.ErrReader(errors.New("unplugged"))))
	var f *failure
	if !errors.As(err, &f) || f.code != exitNone || f.Error() != "ttyUSB0: cannot be read: unplugged" || out.String() != "booting\n" {
		t.Errorf("%v; wrote %q", err, out.String())
	}
}

// shared is a buffer that two goroutines use.
type shared struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// await waits until the output has text.
func (s *shared) await(t *testing.T, text string) {
	t.Helper()
	for range 1000 {
		if strings.Contains(s.String(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %q in\n%s", text, s)
}

// watching runs watch until stop is called, which returns the exit code.
func watching(args ...string) (out *shared, stop func() int) {
	ctx, cancel := context.WithCancel(context.Background())
	out = new(shared)
	done := make(chan int)
	go func() { done <- run(ctx, append([]string{"watch", "--pause", "50ms"}, args...), out, new(shared)) }()
	return out, func() int { cancel(); return <-done }
}

// TestWatchGrows: a file that grows is followed, and so is the one that takes its place.
func TestWatchGrows(t *testing.T) {
	path := write(t, "serial.log", "boot\n")
	out, stop := watching(path)
	out.await(t, "boot\n")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(consoleLog); err != nil {
		t.Fatal(err)
	}
	f.Close()
	out.await(t, "#0  0x0800015c")
	if err := os.WriteFile(path, []byte("again\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	out.await(t, "again\n")
	if code := stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
