// Package stepper lets a program under a GDB server run: instruction by instruction, and up to breakpoints, which
// the product never sets.
package stepper

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/input/gdbremote"
)

// patience is how long a program may run.
const patience = time.Hour

// Client is a server's client that lets the program run.
type Client struct{ *gdbremote.Client }

// Dial connects to a server, as gdbremote.Dial does. It retries for as long as ctx lives while the server is starting.
func Dial(ctx context.Context, addr string, arch *cpu.Arch) (*Client, error) {
	for {
		c, err := gdbremote.Dial(ctx, addr, arch)
		if err == nil {
			c.Patience = patience
			return &Client{c}, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Step executes one instruction and delivers signal, if not 0.
func (c *Client) Step(signal int) (gdbremote.Stop, error) {
	if signal != 0 {
		return c.stop(fmt.Sprintf("vCont;S%02x", signal))
	}
	return c.stop("s")
}

// Continue runs on, delivering signal, if not 0.
func (c *Client) Continue(signal int) (gdbremote.Stop, error) {
	if signal != 0 {
		return c.stop(fmt.Sprintf("vCont;C%02x", signal))
	}
	return c.stop("c")
}

// Break sets or clears a software breakpoint. kind is the size of the instruction
// there.
func (c *Client) Break(addr uint64, kind int, set bool) error {
	op := 'z'
	if set {
		op = 'Z'
	}
	return c.Command(fmt.Sprintf("%c0,%x,%x", op, addr, kind))
}

func (c *Client) stop(packet string) (gdbremote.Stop, error) {
	reply, err := c.Ask(packet)
	for err == nil && strings.HasPrefix(string(reply), "O") { // what the program prints
		reply, err = c.Next()
	}
	if err != nil {
		return gdbremote.Stop{}, err
	}
	s, ok := gdbremote.ParseStop(reply)
	if !ok {
		return s, &gdbremote.Refused{Request: packet, Reply: string(reply)}
	}
	return s, nil
}
