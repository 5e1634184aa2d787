package main

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/gdbstub"
)

const remoteProgram = "../../testdata/mips-deep/modules/deep"

// remoteServer is a server of the first snapshot of mips-deep.
func remoteServer(t *testing.T) (server *gdbstub.Server, addr string) {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{Images: []input.NamedImage{{Path: remoteProgram}}})
	t.Cleanup(func() { files.Close() })
	s, err := backsight.Open(t.Context(), "../../testdata/mips-deep/snaps.jsonl.gz", input.Env{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	snap, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server = &gdbstub.Server{Snapshot: snap, Features: "qXfer:memory-map:read+"}
	server.Answers = map[string][]byte{"qXfer:memory-map:read:": server.MemoryMap()}
	return server, server.Listen(t)
}

// framesOf are the lines of frames.
func framesOf(out string) (list []string) {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list
}

// TestRemote: what stands at a GDB server has the backtrace of its snapshot, once or each time it is looked at; then it goes on,
// unless it is to be kept.
func TestRemote(t *testing.T) {
	_, want, _ := bs(t, "bt", "--image", remoteProgram, "../../testdata/mips-deep/snaps.jsonl.gz")
	first, _, _ := strings.Cut(want, "stop:")
	server, addr := remoteServer(t)
	code, out, errs := bs(t, "bt", "--image", remoteProgram, "--remote", addr)
	if code != exitOK || !slices.Equal(framesOf(out), framesOf(first)) || len(framesOf(out)) < 5 {
		t.Errorf("exit code %d, said %q, printed\n%s, want\n%s", code, errs, out, first)
	}
	if all := server.Requests(); all[len(all)-1] != "D" {
		t.Errorf("the target was not let go: %q", all)
	}
	if code, out, errs := bs(t, "bt", "--image", remoteProgram, "--remote", addr, "--count", "3", "--every", "1ms", "-f", "folded"); code != exitOK || !strings.HasSuffix(out, " 3\n") {
		t.Errorf("three looks: exit code %d, said %q, printed\n%s", code, errs, out)
	}
	before := len(server.Requests())
	if code, _, errs := bs(t, "bt", "--image", remoteProgram, "--remote", addr, "--keep-halted"); code != exitOK || slices.Contains(server.Requests()[before:], "D") {
		t.Errorf("exit code %d, said %q; a target that is to be kept was let go", code, errs)
	}
}

// TestRemoteInterrupted: an interruption while a server does not answer ends at once, and the target is let go.
func TestRemoteInterrupted(t *testing.T) {
	server, addr := remoteServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	server.Silent = func(request string) bool {
		if request == "g" {
			cancel()
		}
		return request == "g"
	}
	var out, talk bytes.Buffer
	start := time.Now()
	code := run(ctx, []string{"bt", "--image", remoteProgram, "--remote", addr}, &out, &talk)
	all := server.Requests()
	if code == exitOK || time.Since(start) > 5*time.Second || len(all) == 0 || all[len(all)-1] != "D" {
		t.Errorf("exit code %d after %v, said %q; requests %q", code, time.Since(start), talk.String(), all)
	}
}

// TestRemoteRefused: one line says what is wrong.
func TestRemoteRefused(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "socket")
	said := `asked for "qSupported`
	if _, err := exec.LookPath("sh"); err != nil {
		said = "sh" // what cannot be run is named
	}
	for want, args := range map[string][]string{
		"neither HOST:PORT":              {"bt", "--remote", "nowhere"},
		"connection refused":             {"bt", "--remote", "127.0.0.1:1"},
		"no such file":                   {"bt", "--remote", "unix:" + missing},
		said:                             {"bt", "--remote", "|true"},
		"--keep-halted says of --remote": {"bt", "--keep-halted", "x"},
		"--remote: an empty name":        {"bt", "--remote", ""},
	} {
		if code, _, errs := bs(t, args...); code == exitOK || !strings.Contains(errs, want) || strings.Count(errs, "\n") > 2 {
			t.Errorf("%v: exit code %d, said %q", args, code, errs)
		}
	}
}
