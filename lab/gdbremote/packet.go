// Package gdbremote talks to a GDB server (gdbserver, QEMU, OpenOCD, a probe) over
// its remote serial protocol: registers, memory, threads, target description. It
// is GDB's side of the protocol; "Debugging with GDB", appendix E, is the
// specification, and every answer of a server is taken as a claim.
//
//	$qSupported#37 ─►
//	             ◄─ +$PacketSize=1000;qXfer:features:read+#..
package gdbremote

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxPacket bounds what a server may answer: the largest useful reply is a memory
// block of the size that we ask for, or a target description.
const maxPacket = 1 << 20

// conn frames packets.
type conn struct {
	rw io.ReadWriteCloser
	r  *bufio.Reader
	// out holds the packet being written, in the reply being read.
	out, in []byte
	// quiet: the server agreed to leave acknowledgements out.
	quiet bool
}

func newConn(rw io.ReadWriteCloser) *conn { return &conn{rw: rw, r: bufio.NewReader(rw)} }

// send writes $payload#checksum, escaping what the framing uses.
func (c *conn) send(payload []byte) error {
	c.out = append(c.out[:0], '$')
	for _, b := range payload {
		if b == '$' || b == '#' || b == '}' || b == '*' {
			c.out = append(c.out, '}')
			b ^= 0x20
		}
		c.out = append(c.out, b)
	}
	c.out = fmt.Appendf(c.out, "#%02x", checksum(c.out[1:]))
	_, err := c.rw.Write(c.out)
	return err
}

func checksum(b []byte) (sum byte) {
	for _, x := range b {
		sum += x
	}
	return sum
}

var errLong = errors.New("gdbremote: the reply is longer than any can be")

// receive reads the next packet, past acknowledgements and notifications, undoes
// escapes and run lengths, and acknowledges it. The slice is valid until the next
// call.
func (c *conn) receive() ([]byte, error) {
	if err := c.start(); err != nil {
		return nil, err
	}
	c.in = c.in[:0]
	var sum byte
	for {
		b, err := c.r.ReadByte()
		if err != nil {
			return nil, err
		}
		if b == '#' {
			break
		}
		sum += b
		if b == '}' || b == '*' {
			second, err := c.r.ReadByte()
			if err != nil {
				return nil, err
			}
			sum += second
			if b == '}' {
				c.in = append(c.in, second^0x20)
			} else if err := c.repeat(second); err != nil {
				return nil, err
			}
			continue
		}
		if len(c.in) >= maxPacket {
			return nil, errLong
		}
		c.in = append(c.in, b)
	}
	return c.in, c.finish(sum)
}

// start skips to the packet: '+' and '-' acknowledge ours, '%' begins a
// notification, which ends like a packet.
func (c *conn) start() error {
	for skipped := 0; skipped < maxPacket; skipped++ {
		b, err := c.r.ReadByte()
		if err != nil || b == '$' {
			return err
		}
	}
	return errLong
}

// repeat appends the last byte again: n−29 times, n printable (appendix E.1).
func (c *conn) repeat(n byte) error {
	if len(c.in) == 0 || n < 29 || len(c.in)+int(n) > maxPacket {
		return errors.New("gdbremote: a run length that repeats nothing")
	}
	last := c.in[len(c.in)-1]
	for range n - 29 {
		c.in = append(c.in, last)
	}
	return nil
}

// finish checks the sum and acknowledges.
func (c *conn) finish(sum byte) error {
	var digits [2]byte
	if _, err := io.ReadFull(c.r, digits[:]); err != nil {
		return err
	}
	if want, ok := hexByte(digits[0], digits[1]); !ok || want != sum {
		return fmt.Errorf("gdbremote: checksum %.2s, computed %02x", digits[:], sum)
	}
	if c.quiet {
		return nil
	}
	_, err := c.rw.Write([]byte{'+'})
	return err
}

func hexByte(hi, lo byte) (byte, bool) {
	h, ok1 := nibble(hi)
	l, ok2 := nibble(lo)
	return h<<4 | l, ok1 && ok2
}

func nibble(b byte) (byte, bool) {
	switch {
	case '0' <= b && b <= '9':
		return b - '0', true
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10, true
	case 'A' <= b && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}
