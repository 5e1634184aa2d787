//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/backsight/backsight/lab/livecore"
	"github.com/backsight/backsight/report"
)

// dying is a process that waits for input, and what the kernel would dump of it: Backsight itself.
func dying(t *testing.T, program string) (pid string, dump []byte, kill func()) {
	t.Helper()
	cmd := exec.Command(program, "bt", "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { _, _, _ = in.Close(), cmd.Process.Kill(), cmd.Wait() }
	t.Cleanup(kill)
	pid = strconv.Itoa(cmd.Process.Pid)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if b, _ := os.ReadFile("/proc/" + pid + "/wchan"); strings.Contains(string(b), "futex") || string(b) == "0" {
			break
		}
	}
	file := filepath.Join(t.TempDir(), "core")
	if _, errs, code := run(t, program, ".", "core", "-p", pid, "-o", file); strings.Contains(errs, "not allowed") {
		t.Skip(errs)
	} else if code != 0 {
		t.Fatal(errs)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if dump, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	return pid, dump, kill
}

// crash runs the handler as the kernel does.
func crash(t *testing.T, program, pid string, dump io.Reader, flags ...string) (code int, errs string, rss int64) {
	t.Helper()
	var talk bytes.Buffer
	cmd := exec.Command(program, append(append([]string{"crash"}, flags...), pid, pid, "11", "1700000001")...)
	cmd.Stdin, cmd.Stderr = dump, &talk
	_ = cmd.Run() // the exit code tells
	return cmd.ProcessState.ExitCode(), talk.String(), int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
}

// TestCrash: the handler of the kernel's dumps reports a process that is there still, and one that is gone by what the dump has; within
// 64 MB. A program that crashes all the time is counted.
func TestCrash(t *testing.T) {
	program, dir := command(t), filepath.Join(t.TempDir(), "reports")
	pid, dump, kill := dying(t, program)
	for i, flags := range [][]string{{"--core"}, nil, nil, nil, nil} {
		if code, errs, rss := crash(t, program, pid, bytes.NewReader(dump), append(flags, "--dir", dir)...); code != 0 || errs != "" || rss > 64<<10 {
			t.Fatalf("crash %d: exit code %d, %d kB, said %q", i, code, rss, errs)
		}
	}
	base := filepath.Join(dir, "crash-1700000001-backsight-"+pid)
	text := read(t, base+".txt")
	for _, want := range []string{"process " + pid + " (" + program + "), thread " + pid + ", signal 11, time 1700000001, 2023-11-14T22:13:21Z\n", " main.main+", "Goroutine 1 [", "stop: root"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !json.Valid([]byte(read(t, base+".json"))) {
		t.Error("the JSON is none")
	}
	if st, err := os.Stat(base + ".json"); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if out, _, code := run(t, program, ".", "bt", base+".core"); code != 0 || !strings.Contains(out, " main.main+") {
		t.Errorf("the core that was kept: exit code %d\n%s", code, out)
	}
	if counts := read(t, filepath.Join(dir, "crashes.json")); !strings.Contains(counts, `"notReported": 2`) {
		t.Errorf("counted %s", counts)
	}
	kill()
	if code, errs, _ := crash(t, program, pid, bytes.NewReader(dump), "--dir", dir+"2"); code != 0 || errs != "" {
		t.Fatalf("a process that is gone: exit code %d, said %q", code, errs)
	}
	if text := read(t, filepath.Join(dir+"2", "crash-1700000001-unknown-"+pid+".txt")); !strings.Contains(text, "runtime.mstart") {
		t.Errorf("a process that is gone:\n%s", text)
	}
}

// handlerCrash crashes in a handler that runs on a stack of its own.
const handlerCrash = `#include <signal.h>
#include <stdlib.h>
void handler(int s) { *(volatile int *)8 = s; }
__attribute__((noinline)) int outer(int n) { raise(SIGUSR1); return n + 1; }
int main(int argc, char **argv) {
	struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	stack_t s = {.ss_sp = malloc(65536), .ss_size = 65536};
	sigaltstack(&s, 0);
	sigaction(SIGUSR1, &a, 0);
	return outer(argc) + 1;
}`

// TestCrashStacks: of the dump of a process that is gone, a stack of 8 MB that a recursion filled is copied with its begin, where the
// machine has that memory to spare, and the first thread's stack where a handler runs on another one; within 64 MB.
func TestCrashStacks(t *testing.T) {
	kinds, dir := livecore.Kinds(), filepath.Join(t.TempDir(), "reports")
	k := kinds[slices.IndexFunc(kinds, func(k livecore.Kind) bool { return k.Code == report.CrashStackOverflow })]
	for _, c := range []struct {
		source, want string
		flags        []string
	}{
		{k.Source(), `8\.0 MB are in use(?s:.*) outer(?s:.*) main(?s:.*)stop: root`, k.Flags},
		{handlerCrash, ` handler(?s:.*) outer(?s:.*) main(?s:.*)stop: root`, nil},
	} {
		dump, err := os.Open(livecore.Crash(t, livecore.Compile(t, "gcc", c.source, append([]string{"-O1", "-g"}, c.flags...)...)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = dump.Close() })
		code, errs, rss := crash(t, command(t), "99999999", dump, "--dir", dir)
		text := read(t, filepath.Join(dir, "crash-1700000001-unknown-99999999.txt"))
		if code != 0 || rss > 64<<10 || !regexp.MustCompile(c.want).MatchString(text) {
			t.Errorf("exit code %d, %d kB, said %q, wrote\n%s\nwithout %s", code, rss, errs, text, c.want)
		}
	}
}

// TestCrashFails: a dump that is none, one that is cut and one that does not end leave a report that says so, and nothing else.
func TestCrashFails(t *testing.T) {
	program, dir := command(t), t.TempDir()
	endless, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = endless.Close(), hold.Close() })
	for want, dump := range map[string]io.Reader{
		"the dump has only 5 bytes": strings.NewReader("hello"), "the dump is no ELF file": strings.NewReader(strings.Repeat("x", 1000)), "no backtrace within 300ms": endless,
	} {
		code, errs, _ := crash(t, program, "99999999", dump, "--dir", dir, "--deadline", "300ms")
		text := read(t, filepath.Join(dir, "crash-1700000001-unknown-99999999.txt"))
		if code != 2 || !strings.Contains(errs, "crash of process 99999999: "+want) || !strings.HasPrefix(text, "process 99999999 (unknown), thread 99999999, signal 11") || !strings.Contains(text, want) {
			t.Errorf("%s: exit code %d, said %q, wrote\n%s", want, code, errs, text)
		}
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("left behind: %v", all)
	}
	for want, args := range map[string][]string{"wants a process": {"crash", "1"}, `"-5" is no number`: {"crash", "--", "-5", "1", "1", "1"}, "a bound is not above 0": {"crash", "--keep", "0", "1", "1", "1", "1"}} {
		if _, errs, code := run(t, program, ".", args...); code != 64 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, said %q", args, code, errs)
		}
	}
}
