package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// service answers uploads. It keeps nothing of them in its own memory.
type service struct {
	limits
	program string // reads a core from standard input
	args    []string
	uploads chan struct{} // taken by all: one that comes in costs a connection and what was sent, on disk
	places  chan struct{} // taken by those that wait, are read, are answered
	readers chan struct{} // taken by processes that read
}

func newService(l limits, program string, args ...string) *service {
	return &service{limits: l, program: program, args: args, uploads: make(chan struct{}, l.uploads),
		places: make(chan struct{}, l.parallel+l.queue), readers: make(chan struct{}, l.parallel)}
}

// reader are the arguments with which this program reads one core.
func (l *limits) reader(sysroot string) []string {
	return []string{"-sysroot", sysroot, "-memory", fmt.Sprint(l.memory), "-unpacked", fmt.Sprint(l.unpacked)}
}

// server bounds what a connection costs before and after an upload; readBody and answer do so meanwhile.
func (s *service) server() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("POST /", s)
	return &http.Server{Handler: mux, ReadHeaderTimeout: s.silence, IdleTimeout: s.silence, MaxHeaderBytes: 16 << 10}
}

// refusal is an answer that is no crash.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// retryAfter is in how many seconds a client may find a place again.
const retryAfter = "10"

// ServeHTTP answers a core file with its crash.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.serve(w, r); err != nil {
		w.Header().Set("Connection", "close")
		no := &refusal{http.StatusInternalServerError, "this service failed"}
		if !errors.As(err, &no) && r.Context().Err() == nil {
			log.Print(err)
		}
		if no.status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", retryAfter)
		}
		control, soon := http.NewResponseController(w), time.Now().Add(s.silence)
		_ = errors.Join(control.SetReadDeadline(soon), control.SetWriteDeadline(soon)) // net/http reads the body's rest
		http.Error(w, no.text, no.status)
	}
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) error {
	busy := &refusal{http.StatusServiceUnavailable, "too many cores at a time"}
	if len(s.places) == cap(s.places) || !take(s.uploads) {
		return busy
	}
	defer leave(s.uploads)
	dir, err := os.MkdirTemp("", "crashservice-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	core, err := s.receive(w, r, filepath.Join(dir, "core"))
	if err != nil {
		return err
	}
	defer core.Close()
	if !take(s.places) {
		return busy
	}
	defer leave(s.places)
	answer, err := os.Create(filepath.Join(dir, "answer"))
	if err != nil {
		return err
	}
	defer answer.Close()
	if err := s.read(r.Context(), core, answer); err != nil {
		return err
	}
	return s.answer(w, answer)
}

// take takes one of the places that are left.
func take(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

func leave(places chan struct{}) { <-places }

// receive writes an upload to a file.
func (s *service) receive(w http.ResponseWriter, r *http.Request, path string) (*os.File, error) {
	core, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	control := http.NewResponseController(w)
	in := &upload{http.MaxBytesReader(w, r.Body, int64(s.upload)<<20), control, time.Now().Add(s.transfer), s.silence}
	_, err = io.Copy(core, in)
	if err == nil {
		_, err = core.Seek(0, io.SeekStart)
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		err = &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("core: more than %d MiB", s.limits.upload)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &refusal{http.StatusRequestTimeout, "the core comes too slowly"}
	case err == nil:
		err = control.SetReadDeadline(time.Time{}) // from here on, only that the client goes is awaited
	}
	if err != nil {
		return nil, errors.Join(err, core.Close())
	}
	return core, nil
}

// upload reads a body as long as bytes come, and until end at the latest.
type upload struct {
	body    io.Reader
	control *http.ResponseController
	end     time.Time
	silence time.Duration
}

func (u *upload) Read(p []byte) (int, error) {
	deadline := time.Now().Add(u.silence)
	if u.end.Before(deadline) {
		deadline = u.end
	}
	if err := u.control.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	return u.body.Read(p)
}

// read has a process of its own read the core, once it is this core's turn, and write to answer: the crash, or why there
// is none. The process is killed when the client goes, or when the core's time is over.
func (s *service) read(client context.Context, core, answer *os.File) error {
	select {
	case s.readers <- struct{}{}:
		defer leave(s.readers)
	case <-client.Done():
		return client.Err()
	}
	ctx, cancel := context.WithTimeout(client, s.limits.time)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, s.args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = core, answer, answer
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case client.Err() != nil:
		return client.Err()
	case ctx.Err() != nil:
		return &refusal{http.StatusUnprocessableEntity, fmt.Sprintf("core: to read it takes more than %v", s.limits.time)}
	case errors.As(err, &exit) && exit.ExitCode() == 1: // log.Fatal
		return &refusal{http.StatusUnprocessableEntity, beginning(answer)}
	case errors.As(err, &exit): // of memory mostly
		log.Printf("a core was not read: %v: %s", err, beginning(answer))
		return &refusal{http.StatusUnprocessableEntity, fmt.Sprintf(tooLarge, s.memory)}
	}
	return err
}

// beginning is the first line of what a process said that failed; a Go trace is long.
func beginning(answer *os.File) string {
	text := make([]byte, 1<<10)
	n, _ := answer.ReadAt(text, 0)
	line, _, _ := strings.Cut(string(text[:n]), "\n")
	return line
}

// answer sends what the process wrote.
func (s *service) answer(w http.ResponseWriter, answer *os.File) error {
	if _, err := answer.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.transfer)); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := io.Copy(w, answer); err != nil {
		log.Print(err) // the client has gone
	}
	return nil
}
