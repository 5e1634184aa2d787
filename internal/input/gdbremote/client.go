// Package gdbremote reads programs and machines that a GDB server has stopped (gdbserver, QEMU,
// OpenOCD, J-Link, kgdb), over GDB's remote serial protocol: registers, memory, threads, target
// description, files. It is GDB's side of the protocol; "Debugging with GDB", appendix E, is the
// specification, and every answer of a server is taken as a claim.
//
//	$qSupported#37 ─►
//	             ◄─ +$PacketSize=1000;qXfer:features:read+#..
//
// Nothing is written to the target's memory, and no breakpoint is set.
package gdbremote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight/cpu"
)

// DefaultPatience is how long a server may take for an answer.
const DefaultPatience = 10 * time.Second

// Client is a connection to a GDB server that has one program stopped.
type Client struct {
	// Patience bounds the wait for an answer.
	Patience time.Duration

	c *conn
	// arch is nil until it is known.
	arch *cpu.Arch
	// description is what the server says of registers; layout says by it where the g packet has each.
	description description
	layout      layout
	// features are what the server said that it can do.
	features map[string]string
	// block is how many bytes of memory are asked for at a time.
	block int
	// broken is why nothing is asked any more, nil for nothing.
	broken error
	// ctx ends waits, nil: only patience does.
	ctx context.Context

	mu sync.Mutex // of who reads memory while others do
	attachment
}

// attachment is what the server and its target were found like.
type attachment struct {
	kind kind
	// found: the target stood already.
	found bool
	// physical: memory is read as it lies in the machine.
	physical bool
	// process is the attached process as the server names it, "" where it names none.
	process string
}

// New speaks over an open connection. arch is the program's, nil where it is not known yet. ctx ends New.
func New(ctx context.Context, rw Transport, arch *cpu.Arch) (*Client, error) {
	return patient(ctx, rw, arch, DefaultPatience)
}

func patient(ctx context.Context, rw Transport, arch *cpu.Arch, patience time.Duration) (*Client, error) {
	c := &Client{Patience: patience, c: newConn(rw), features: map[string]string{}}
	defer c.until(ctx)()
	if err := c.start(arch); err != nil {
		rw.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection. What the program does then is up to the server.
func (c *Client) Close() error { return c.c.rw.Close() }

// Traffic is what went over the wire so far.
func (c *Client) Traffic() Traffic { return c.c.traffic }

func (c *Client) start(arch *cpu.Arch) error {
	if err := c.supported(); err != nil {
		return err
	}
	if c.has("QStartNoAckMode") && c.Command("QStartNoAckMode") == nil {
		c.c.quiet = true
	}
	anyone := "Hg0"
	if c.has("multiprocess") {
		anyone = "Hgp0.0"
	}
	if _, err := c.Ask(anyone); err != nil { // without a thread gdbserver has no description
		return err
	}
	c.block = min(c.packetSize(), 2*maxBlock) / 2 // two hex digits a byte
	if c.has("qXfer:features:read") {
		if err := c.describe(); err != nil {
			return err
		}
	}
	if arch != nil {
		c.use(arch)
	}
	return nil
}

// Bounds of a packet: what every server takes, as GDB has it, and what is asked for at a time.
const (
	leastPacket = 400
	maxBlock    = 1 << 14
)

// packetSize is how long a packet may be.
func (c *Client) packetSize() int {
	n, err := strconv.ParseUint(c.features["PacketSize"], 16, 31)
	if err != nil {
		return leastPacket
	}
	return int(min(max(n, 64), maxPacket))
}

// supported tells the server what is known, and asks what the server knows. A kernel or a machine that
// runs does not answer (kgdb): a break stops it.
func (c *Client) supported() error {
	const request = "qSupported:multiprocess+;swbreak+;hwbreak+;xmlRegisters=i386,arm,mips,riscv"
	patience := c.Patience
	c.Patience = min(patience, deaf)
	if err := c.wait(); err != nil {
		return err
	}
	if err := c.c.write([]byte{'+'}); err != nil {
		return c.failed(request, err)
	}
	reply, err := c.Ask(request)
	c.Patience = patience
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if c.broken = nil; c.interrupt() != nil {
			return err
		}
		reply, err = c.Ask(request)
	}
	for range maxResent { // QEMU tells first that the machine was stopped by who connects
		if _, stop := ParseStop(reply); !stop || err != nil {
			break
		}
		reply, err = c.Next()
	}
	if err != nil {
		return err
	}
	for f := range strings.SplitSeq(string(reply), ";") {
		name, value, ok := strings.Cut(f, "=")
		if !ok {
			name, value = strings.TrimRight(f, "+-?"), f[len(strings.TrimRight(f, "+-?")):]
		}
		c.features[name] = value
	}
	return nil
}

// deaf is after which time without an answer a server is taken for one whose target runs.
const deaf = 2 * time.Second

// interrupt sends a break, and takes the reply that tells of the stop.
func (c *Client) interrupt() error {
	if err := c.wait(); err != nil {
		return err
	}
	if err := c.c.write([]byte{3}); err != nil {
		return err
	}
	_, err := c.Next()
	return err
}

// has tells whether the server announced a feature.
func (c *Client) has(feature string) bool { return c.features[feature] == "+" }

// Refused is a server's error reply.
type Refused struct{ Request, Reply string }

func (r *Refused) Error() string {
	if r.Reply == "" {
		return fmt.Sprintf("the GDB server does not know %.40q", r.Request)
	}
	return fmt.Sprintf("the GDB server answers %.40q to %.40q", r.Reply, r.Request)
}

// Ask sends a packet and returns the reply, valid until the next. A server that did not answer once
// is not asked again.
func (c *Client) Ask(packet string) ([]byte, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	if err := c.wait(); err != nil {
		return nil, err
	}
	if err := c.c.send([]byte(packet)); err != nil {
		return nil, c.failed(packet, err)
	}
	reply, err := c.c.receive()
	return reply, c.failed(packet, err)
}

// Next is the next reply to the last packet.
func (c *Client) Next() ([]byte, error) {
	if err := c.wait(); err != nil {
		return nil, err
	}
	reply, err := c.c.receive()
	return reply, c.failed("another reply", err)
}

// wait begins a wait, which patience bounds.
func (c *Client) wait() error {
	err := c.c.rw.SetDeadline(time.Now().Add(c.Patience))
	if err == nil && c.ctx != nil {
		err = c.ctx.Err()
	}
	return c.failed("nothing", err)
}

// until has ctx end waits until stop is called.
func (c *Client) until(ctx context.Context) (stop func()) {
	c.ctx = ctx
	done := context.AfterFunc(ctx, func() { _ = c.c.rw.SetDeadline(time.Unix(1, 0)) })
	return func() {
		done()
		c.ctx = nil
	}
}

// failed names what was asked for.
func (c *Client) failed(packet string, err error) error {
	switch {
	case err == nil:
		return nil
	case c.ctx != nil && c.ctx.Err() != nil:
		err = c.ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("the GDB server does not answer %.40q within %v: %w", packet, c.Patience, os.ErrDeadlineExceeded)
	default:
		err = fmt.Errorf("the GDB server, asked for %.40q: %w", packet, err)
	}
	c.broken = err
	return err
}

// must asks for what cannot be left out: an empty reply and errors are errors.
func (c *Client) must(packet string) ([]byte, error) {
	reply, err := c.Ask(packet)
	if err == nil && (len(reply) == 0 || refusal(reply)) {
		err = &Refused{packet, string(reply[:min(len(reply), 80)])}
	}
	return reply, err
}

// refusal tells an error reply: E and two digits, or E. and a text.
func refusal(reply []byte) bool {
	return len(reply) == 3 && reply[0] == 'E' || len(reply) > 1 && reply[0] == 'E' && reply[1] == '.'
}

// Command sends a packet that is answered by OK.
func (c *Client) Command(packet string) error {
	reply, err := c.must(packet)
	if err == nil && string(reply) != "OK" {
		err = &Refused{packet, string(reply[:min(len(reply), 80)])}
	}
	return err
}
