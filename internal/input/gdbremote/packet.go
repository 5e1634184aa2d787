package gdbremote

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxPacket bounds what a server may answer: the largest useful reply is a memory
// block of the size that we ask for, or a target description.
const maxPacket = 1 << 20

// maxResent bounds how often a packet is sent again that arrived damaged, on either side.
const maxResent = 3

// Transport is what a server is reached over.
type Transport interface {
	io.ReadWriteCloser
	// SetDeadline is until when reads and writes wait.
	SetDeadline(time.Time) error
}

// conn frames packets.
type conn struct {
	rw Transport
	r  *bufio.Reader
	// out holds the packet being written, in the reply being read.
	out, in []byte
	// quiet: the server agreed to leave acknowledgements out.
	quiet bool
	// resent counts how often the packet in out was sent again.
	resent int
	// traffic is what went over the wire.
	traffic Traffic
}

// Traffic is what went over the wire: packets with their replies, and bytes of both.
type Traffic struct{ Trips, Bytes int }

func newConn(rw Transport) *conn { return &conn{rw: rw, r: bufio.NewReader(rw)} }

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
	c.resent = 0
	c.traffic.Trips++
	return c.write(c.out)
}

func (c *conn) write(b []byte) error {
	n, err := c.rw.Write(b)
	c.traffic.Bytes += n
	return err
}

func checksum(b []byte) (sum byte) {
	for _, x := range b {
		sum += x
	}
	return sum
}

var (
	errLong    = errors.New("the reply is longer than any can be")
	errRun     = errors.New("a run length that repeats nothing")
	errDamaged = errors.New("the reply arrives damaged each time")
	errUnheard = errors.New("the server does not receive what is sent")
)

// receive reads the next packet, past acknowledgements and notifications, undoes
// escapes and run lengths, and acknowledges it. One that is damaged is asked for again, where
// packets are acknowledged. The slice is valid until the next call.
func (c *conn) receive() ([]byte, error) {
	for range maxResent {
		if err := c.start(); err != nil {
			return nil, err
		}
		sum, err := c.body()
		if err != nil {
			return nil, err
		}
		var digits [2]byte
		if _, err := io.ReadFull(c.r, digits[:]); err != nil {
			return nil, err
		}
		c.traffic.Bytes += len(digits)
		want, ok := hexByte(digits[0], digits[1])
		switch {
		case ok && want == sum && c.quiet:
			return c.in, nil
		case ok && want == sum:
			return c.in, c.write([]byte{'+'})
		case c.quiet:
			return nil, fmt.Errorf("checksum %.4q, computed %02x", digits[:], sum)
		}
		if err := c.write([]byte{'-'}); err != nil {
			return nil, err
		}
	}
	return nil, errDamaged
}

// start skips to the packet. '+' acknowledges ours, '-' asks for it again; '%' begins a
// notification, which ends like a packet.
func (c *conn) start() error {
	for skipped := 0; skipped < maxPacket; skipped++ {
		b, err := c.next()
		switch {
		case err != nil || b == '$':
			return err
		case b != '-' || c.quiet:
			continue
		}
		if c.resent++; c.resent > maxResent {
			return errUnheard
		}
		if err := c.write(c.out); err != nil {
			return err
		}
	}
	return errLong
}

func (c *conn) next() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.traffic.Bytes++
	}
	return b, err
}

// body reads up to the packet's end, and sums it up.
func (c *conn) body() (sum byte, err error) {
	c.in = c.in[:0]
	for {
		b, err := c.next()
		if err != nil || b == '#' {
			return sum, err
		}
		sum += b
		if len(c.in) >= maxPacket {
			return sum, errLong
		}
		if b != '}' && b != '*' {
			c.in = append(c.in, b)
			continue
		}
		second, err := c.next()
		if err != nil {
			return sum, err
		}
		sum += second
		if b == '}' {
			c.in = append(c.in, second^0x20)
		} else if err := c.repeat(second); err != nil {
			return sum, err
		}
	}
}

// repeat appends the last byte again: n−29 times, n printable (appendix E.1).
func (c *conn) repeat(n byte) error {
	const least = 29
	if len(c.in) == 0 || n < least || len(c.in)+int(n) > maxPacket {
		return errRun
	}
	last := c.in[len(c.in)-1]
	for range n - least {
		c.in = append(c.in, last)
	}
	return nil
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
