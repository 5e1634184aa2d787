package gdbremote

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/backsight/backsight/cpu"
)

// Client is a connection to a GDB server that has one program stopped.
type Client struct {
	c    *conn
	arch *cpu.Arch
	// layout says where the g packet has each register.
	layout cpu.Layout
	block  []byte
	// features are what the server said that it can do.
	features map[string]string
}

// Dial connects to a server: host:port, or unix:PATH. It retries for as long as ctx
// lives while the server is starting.
func Dial(ctx context.Context, addr string, arch *cpu.Arch) (*Client, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	}
	var d net.Dialer
	for {
		nc, err := d.DialContext(ctx, network, addr)
		if err == nil {
			return New(nc, arch)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("gdbremote: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// New speaks over an open connection. arch is the program's; its registers are
// found by the server's target description, or by arch's own layout of the g packet
// where the server has none.
func New(nc net.Conn, arch *cpu.Arch) (*Client, error) {
	c := &Client{c: newConn(nc), arch: arch, layout: arch.Layouts[cpu.GDBPacket]}
	if err := c.start(); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection. What the program does then is up to the server.
func (c *Client) Close() error { return c.c.rw.Close() }

func (c *Client) start() error {
	if _, err := c.c.rw.Write([]byte{'+'}); err != nil {
		return err
	}
	reply, err := c.ask("qSupported:swbreak+;xmlRegisters=i386,arm,mips,riscv")
	if err != nil {
		return err
	}
	c.features = map[string]string{}
	for f := range strings.SplitSeq(string(reply), ";") {
		name, value, ok := strings.Cut(f, "=")
		if !ok {
			name, value = strings.TrimSuffix(f, "+"), "+"
		}
		c.features[name] = value
	}
	if _, ok := c.features["QStartNoAckMode"]; ok {
		if reply, err := c.ask("QStartNoAckMode"); err == nil && string(reply) == "OK" {
			c.c.quiet = true
		}
	}
	if _, ok := c.features["qXfer:features:read"]; ok {
		return c.describe()
	}
	return nil
}

// Refused is a server's error reply.
type Refused struct{ Request, Reply string }

func (r *Refused) Error() string {
	if r.Reply == "" {
		return fmt.Sprintf("gdbremote: the server does not know %.40q", r.Request)
	}
	return fmt.Sprintf("gdbremote: %.40q: %s", r.Request, r.Reply)
}

// ask sends a packet and returns the reply, valid until the next.
func (c *Client) ask(packet string) ([]byte, error) {
	if err := c.c.send([]byte(packet)); err != nil {
		return nil, err
	}
	return c.c.receive()
}

// must asks for what cannot be left out: an empty reply and E.. are errors.
func (c *Client) must(packet string) ([]byte, error) {
	reply, err := c.ask(packet)
	if err == nil && (len(reply) == 0 || reply[0] == 'E' && len(reply) == 3) {
		err = &Refused{packet, string(reply)}
	}
	return reply, err
}

// Command sends a packet that is answered by OK.
func (c *Client) Command(packet string) error {
	reply, err := c.must(packet)
	if err == nil && string(reply) != "OK" {
		err = &Refused{packet, string(reply)}
	}
	return err
}

// Registers reads the register file of the current thread. Those that the server
// has no value for (x digits) stay unknown.
func (c *Client) Registers(out *cpu.Registers) error {
	reply, err := c.must("g")
	if err != nil {
		return err
	}
	out.Known = 0
	n := len(reply) / 2
	c.block = append(c.block[:0], make([]byte, n)...)
	for i := range n {
		c.block[i], _ = hexByte(reply[2*i], reply[2*i+1])
	}
	regs := c.arch.Read(c.layout, c.block)
	for _, s := range c.layout.Slots {
		if v, ok := regs.Lookup(s.Reg); ok && 2*s.Offset < len(reply) && reply[2*s.Offset] != 'x' {
			out.Set(s.Reg, v)
		}
	}
	return nil
}

// Memory reads up to len(dst) bytes at addr and returns how many there were.
func (c *Client) Memory(addr uint64, dst []byte) (int, error) {
	const block = 1024
	n := 0
	for n < len(dst) {
		want := min(block, len(dst)-n)
		reply, err := c.ask(fmt.Sprintf("m%x,%x", addr+uint64(n), want))
		if err != nil {
			return n, err
		}
		if len(reply) == 0 || reply[0] == 'E' && len(reply)%2 == 1 {
			return n, nil
		}
		got := min(len(reply)/2, want)
		for i := range got {
			b, ok := hexByte(reply[2*i], reply[2*i+1])
			if !ok {
				return n + i, nil
			}
			dst[n+i] = b
		}
		if n += got; got == 0 || got < want {
			return n, nil
		}
	}
	return n, nil
}

// Stop is why the program stopped.
type Stop struct {
	// Signal by GDB's numbers (5: a step or a breakpoint).
	Signal int
	// Exited: the program is gone.
	Exited bool
}

// Trap is SIGTRAP.
const Trap = 5

// Step executes one instruction and delivers signal, if not 0.
func (c *Client) Step(signal int) (Stop, error) {
	if signal != 0 {
		return c.stop(fmt.Sprintf("vCont;S%02x", signal))
	}
	return c.stop("s")
}

// Continue runs on, delivering signal, if not 0.
func (c *Client) Continue(signal int) (Stop, error) {
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

func (c *Client) stop(packet string) (Stop, error) {
	reply, err := c.must(packet)
	for err == nil && reply[0] == 'O' { // what the program prints
		reply, err = c.c.receive()
		if err == nil && len(reply) == 0 {
			err = &Refused{packet, ""}
		}
	}
	if err != nil {
		return Stop{}, err
	}
	switch reply[0] {
	case 'T', 'S':
		if len(reply) < 3 {
			break
		}
		n, err := strconv.ParseUint(string(reply[1:3]), 16, 8)
		return Stop{Signal: int(n)}, err
	case 'W', 'X':
		return Stop{Exited: true}, nil
	}
	return Stop{}, &Refused{packet, string(reply)}
}
