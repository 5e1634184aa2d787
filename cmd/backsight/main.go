// Command backsight recovers backtraces from captures of stopped programs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/backsight/backsight/internal/crashdir"
	"github.com/backsight/backsight/internal/outfile"
	"github.com/backsight/backsight/internal/stack"
	"github.com/backsight/backsight/internal/typeset"
)

// Exit codes, besides exitInterrupted's.
const (
	exitOK         = 0
	exitIncomplete = 1  // --strict, and a backtrace does not reach its root
	exitNone       = 2  // no backtrace could be made
	exitUsage      = 64 // EX_USAGE of sysexits.h
)

func main() {
	collectLater()
	ctx, tidy := outfile.Tidy(untilSignal())
	code := make(chan int, 1)
	go func() {
		stack.Reserve()
		code <- run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}()
	exit := result(ctx, code, patience(os.Args[1:]))
	if ctx.Err() != nil && exit == exitInterrupted(ctx) {
		complain(os.Stderr, "interrupted")
	}
	tidy() // what still runs has no files to finish
	os.Exit(exit)
}

// patience is how long an interrupted command may take to end in order. Not all that it does
// looks at the context: a function's analysis, the decompression of a kernel. A recording is interrupted
// to be written; a second signal ends it at once.
func patience(args []string) time.Duration {
	if len(args) > 0 && args[0] == "record" {
		return time.Hour
	}
	return 20 * time.Millisecond
}

// result waits for a command's exit code. A user who interrupts waits for nobody.
func result(ctx context.Context, code <-chan int, patience time.Duration) int {
	select {
	case c := <-code:
		return c
	case <-ctx.Done():
	}
	select {
	case c := <-code:
		return c
	case <-time.After(patience):
		return exitInterrupted(ctx)
	}
}

// Garbage is collected when the heap is no longer small, and roomForGarbage of it may have come, or a third of what is in use where
// that is more: the backtrace of most captures is there before the first time, a heap of some
// megabytes is not searched all the time, and what is kept of a hostile binary does not cost
// twice its size.
const (
	smallHeap      = 19 << 20
	roomForGarbage = 8 << 20
	leastPercent   = 33
	mostPercent    = 400 // of 4 MB, which the runtime takes the smallest heap for
)

// collectLater sets how garbage is collected, unless the user has said it.
func collectLater() {
	if os.Getenv("GOGC") == "" {
		collectAt(mostPercent)
	}
}

// collectAt sets when the next collection comes, in percent of what is in use, and after that
// anew by what is in use then.
func collectAt(percent int) {
	debug.SetGCPercent(percent)
	witness := new([16]byte) // smaller objects share a place, and outlive a collection
	runtime.AddCleanup(witness, func(percent int) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		inUse := int(m.NextGC) / (100 + percent) // a hundredth
		collectAt(max(leastPercent, min(max(roomForGarbage, smallHeap-100*inUse)/(inUse+1), mostPercent)))
	}, percent)
}

// failure is an error that is not about usage. err is nil where all has been said.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// run executes a command line and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	args = withCommand(args, commands(stdout, stderr))
	said := &lastError{w: stdout}
	err := execute(ctx, args, said, stderr)
	switch {
	case said.err != nil:
		err = said.err
	case err != nil && ctx.Err() != nil:
		err = interrupted(ctx)
	}
	var f *failure
	switch {
	case err == nil:
		return exitOK
	case !errors.As(err, &f):
		complainOf(args, stderr, usageLines(err)...)
		fmt.Fprintln(stderr, "Run 'backsight --help' or 'backsight COMMAND --help' for usage.")
		return exitUsage
	case f.err != nil:
		complainOf(args, stderr, f.err.Error())
	}
	return f.code
}

// complainOf says why a command line failed: of a handler of crashes that the kernel started, whose standard error nobody reads, to the
// kernel's log.
func complainOf(args []string, stderr io.Writer, lines ...string) {
	for _, line := range lines {
		complain(stderr, line)
		if len(args) > 0 && args[0] == "crash" && !crashdir.Heard() {
			crashdir.Log(typeset.Text(line))
		}
	}
}

// complain writes one message.
func complain(w io.Writer, what string) { fmt.Fprintf(w, "backsight: %s\n", typeset.Text(what)) }

// command is a command that is made when it is asked for.
type command struct {
	name string
	make func() *subcommand
}
