// Package s3test starts an S3 server for tests: versitygw, which keeps objects as files of a folder.
package s3test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// must is the variable that says that servers must be there, as in CI.
const must = "BACKSIGHT_SERVERS"

// ErrNone says that the server is not installed.
var ErrNone = errors.New("no versitygw: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0")

// Server is an S3 server.
type Server struct {
	program, dir string
	address      string
	cmd          *exec.Cmd
}

// program finds the server, where go install puts it too.
func program() (string, error) {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path, nil
	}
	home, _ := os.UserHomeDir() // without one there is no such folder
	for _, dir := range []string{os.Getenv("GOBIN"), filepath.Join(os.Getenv("GOPATH"), "bin"), filepath.Join(home, "go", "bin")} {
		if path, err := exec.LookPath(filepath.Join(dir, "versitygw")); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", ErrNone
}

// Start starts a server of the objects in a folder.
func Start(ctx context.Context, dir string) (*Server, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{program: path, dir: dir, address: l.Addr().String()}
	if err := l.Close(); err != nil {
		return nil, err
	}
	return s, errors.Join(os.MkdirAll(dir, 0o755), s.Begin(ctx))
}

// Begin starts the server, after Halt.
func (s *Server) Begin(ctx context.Context) error {
	s.cmd = exec.Command(s.program, "--access", "lab", "--secret", "laboratory", "--port", s.address, "--quiet", "--keep-alive", "posix", s.dir)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", s.address); err == nil {
			return c.Close()
		}
	}
	return errors.Join(errors.New("the S3 server does not listen"), s.Halt())
}

// Halt ends the server at once.
func (s *Server) Halt() error {
	err := s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed
	return err
}

// Address is where it listens.
func (s *Server) Address() string { return s.address }

// URL is that of a bucket.
func (s *Server) URL(bucket string) string { return URL(s.address, bucket) }

// URL is that of a bucket at an address, such as that of a proxy.
func URL(address, bucket string) string {
	return fmt.Sprintf("s3://lab:laboratory@%s/%s?tls=off&region=us-east-1", address, bucket)
}

// For is a server that the end of a test ends. Without one the test is left out, but where it must be there.
func For(t testing.TB, dir string) *Server {
	t.Helper()
	s, err := Start(t.Context(), dir)
	if errors.Is(err, ErrNone) && os.Getenv(must) == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Halt() })
	return s
}
