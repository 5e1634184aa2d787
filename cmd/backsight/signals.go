package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// signalled is why a context ended.
type signalled struct{ by os.Signal }

func (s *signalled) Error() string { return s.by.String() }

// untilSignal is a context that the first SIGINT, SIGTERM or SIGHUP ends. The second ends the process at once. What the
// process was started to ignore (nohup) stays ignored.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	came := make(chan os.Signal, 1)
	for _, s := range stopping() {
		if !signal.Ignored(s) {
			signal.Notify(came, s)
		}
	}
	go func() {
		s := <-came
		signal.Stop(came)
		cancel(&signalled{s})
	}()
	return ctx
}

// exitInterrupted is the exit code that shells expect of a process which the signal that ended ctx has
// ended: 128 and the signal's number, SIGINT's for an end that no signal made.
func exitInterrupted(ctx context.Context) int {
	number := syscall.SIGINT
	var s *signalled
	if errors.As(context.Cause(ctx), &s) {
		if n, ok := s.by.(syscall.Signal); ok {
			number = n
		}
	}
	return 128 + int(number)
}

// interrupted is the error of a command that ended with ctx. Of the signal main tells the user, once.
func interrupted(ctx context.Context) error { return &failure{code: exitInterrupted(ctx)} }
