// Package child starts programs that do not outlive the laboratory: a debugger that
// loops over a damaged stack would take a core for itself until the machine is
// restarted.
package child

import (
	"context"
	"os/exec"
	"time"
)

// grace is how long output is waited for once a program was killed: what it started
// may hold the pipe.
const grace = time.Second

// Command is exec.CommandContext, but when ctx is done all processes that the program
// started go with it, and it ends when this process does, however that ends. Where the
// system has no such thing, only the program itself is killed, when ctx is done.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = grace
	confine(cmd)
	return cmd
}
