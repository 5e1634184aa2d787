//go:build unix

package e2e_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSignals: a command that a signal ends in the middle of a fetch exits with 128 and the signal's number, as
// shells expect, says so in one line, and leaves no half file in the cache.
func TestSignals(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	program := command(t)
	fetching, done := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select { // where there are several questions, one is answered with a signal
		case fetching <- struct{}{}:
		case <-done:
		}
		<-done
	}))
	defer s.Close()
	defer close(done)
	for sig, code := range map[os.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		if signal.Ignored(sig) { // the tests run below nohup: TestIgnoredSignal
			continue
		}
		for _, args := range [][]string{
			{"bt", "--image", "modules/deep", "snaps.jsonl.gz"},
			{"explain", "modules/deep", "0x400d2c"},
		} {
			cache := t.TempDir()
			cmd := exec.Command(program, append(args, "--debuginfod="+s.URL)...)
			cmd.Dir, cmd.Env = "../../testdata/mips-deep", append(os.Environ(), "DEBUGINFOD_CACHE_PATH="+cache)
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-fetching:
			case err := <-ended:
				t.Fatalf("%v: %v before anything was fetched; said %q", args, err, said.String())
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := <-ended; !errors.As(err, &exit) || exit.ExitCode() != code || said.String() != "backsight: interrupted\n" {
				t.Errorf("%v %v: %v, want exit code %d; said %q", sig, args, err, code, said.String())
			}
			if n := files(t, cache); n != 0 {
				t.Errorf("%v %v: %d files are left", sig, args, n)
			}
		}
	}
}

// TestIgnoredSignal: a command that was started with a signal ignored, as nohup does, goes on.
func TestIgnoredSignal(t *testing.T) {
	program := command(t)
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	cmd := exec.Command(program, "watch", "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, line := range []string{"before", "after"} {
		if _, err := io.WriteString(in, line+"\n"); err != nil || !lines.Scan() || lines.Text() != line {
			t.Errorf("%s: %q, %v", line, lines.Text(), err)
		}
		_ = cmd.Process.Signal(syscall.SIGHUP) // a process that has ended shows in the next line
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

// files counts the files below a directory.
func files(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
