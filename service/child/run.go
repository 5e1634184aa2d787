package child

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/backsight/backsight/service/packing"
)

// Died says that a child ended without a result: what the capture did to it.
type Died struct{ Why string }

func (d *Died) Error() string { return "the backtrace's process died: " + d.Why }

// Runner runs children.
type Runner struct {
	Exe      string   // a program that calls Main for Command
	Env      []string // more of it
	Temp     string   // a folder for captures
	Binaries Binaries
	Sysroots []string // folders that there are
	Memory   int64    // bytes of a child's heap
	Time     time.Duration
}

// Defaults of a Runner.
const DefaultMemory, DefaultTime = 1 << 30, 45 * time.Second

// Run backtraces a capture, which reports call name. The error is a Died where the child died; all others are none of the capture's.
func (r *Runner) Run(ctx context.Context, body io.Reader, name string) (result Result, err error) {
	dir, err := os.MkdirTemp(r.Temp, "capture-")
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(dir)
	const file = "capture"
	if err := write(filepath.Join(dir, file), body); err != nil {
		return result, err
	}
	req, err := json.Marshal(request{Capture: file, Name: name, Binaries: r.Binaries.Dir, Sysroots: r.Sysroots, Memory: r.Memory, Seconds: int64(r.Time.Seconds())})
	if err != nil {
		return result, err
	}
	run, cancel := context.WithTimeout(ctx, r.Time+5*time.Second)
	defer cancel()
	out, said, err := r.start(run, dir, req, true)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		out, said, err = r.start(run, dir, req, false) // no namespaces here: user_namespaces(7)
	}
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case err != nil:
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return result, err
		}
		return result, &Died{reason(exit, run.Err() != nil, said)}
	}
	return parse(out)
}

func write(path string, body io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	return errors.Join(err, f.Close())
}

// start runs a child until it ends; in namespaces of its own there is no network.
func (r *Runner) start(ctx context.Context, dir string, req []byte, alone bool) (out []byte, said string, err error) {
	cmd := exec.CommandContext(ctx, r.Exe, Command)
	cmd.Dir, cmd.Env = dir, append([]string{"GOMAXPROCS=2", "GOTRACEBACK=single"}, r.Env...)
	cmd.Stdin = bytes.NewReader(req)
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if alone {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC
	}
	stdout, stderr := &limited{most: maxReport + maxPage}, &limited{most: 64 << 10, rest: true}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err = cmd.Run()
	return stdout.b, string(stderr.b), err
}

// limited keeps what is written up to a bound. What is more is an error, or goes (rest).
type limited struct {
	b    []byte
	most int
	rest bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.most-len(l.b))
	l.b = append(l.b, p[:n]...)
	if n < len(p) && !l.rest {
		return n, packing.ErrLarge
	}
	return len(p), nil
}

// reason is why a child died, in a line.
func reason(exit *exec.ExitError, late bool, said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	status, _ := exit.Sys().(syscall.WaitStatus)
	switch {
	case late, status.Signaled() && status.Signal() == syscall.SIGXCPU:
		return "it took too long"
	case status.Signaled():
		return strings.TrimSpace(fmt.Sprintf("signal %d %s", status.Signal(), line))
	case line == "":
		return exit.String()
	}
	return line
}

func parse(out []byte) (r Result, err error) {
	const head = 8
	if len(out) < head {
		return r, &Died{"it wrote nothing"}
	}
	n := binary.BigEndian.Uint64(out)
	if out = out[head:]; n > uint64(len(out)) {
		return r, &Died{"it wrote a part"}
	}
	r.JSON, r.Page = out[:n:n], out[n:]
	return r, nil
}
