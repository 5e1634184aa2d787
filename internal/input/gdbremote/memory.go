package gdbremote

import (
	"fmt"
)

// leastPart is how many bytes are asked for at least where memory ends.
const leastPart = 256

// Memory reads up to len(dst) bytes at addr and returns how many there were. Servers refuse what is not there
// as a whole: smaller parts tell where memory ends.
func (c *Client) Memory(addr uint64, dst []byte) (n int, err error) {
	most := c.block
	for n < len(dst) {
		want := min(most, len(dst)-n)
		got, err := c.part(addr+uint64(n), dst[n:n+want])
		switch n += got; {
		case err != nil:
			return n, err
		case got == 0 && want > leastPart:
			most = want / 2
		case got < want:
			return n, nil
		}
	}
	return n, nil
}

// part reads what one packet holds: as bytes where the server announced that (binary-upload), else in
// hex digits.
func (c *Client) part(addr uint64, dst []byte) (int, error) {
	if c.has("binary-upload") {
		reply, err := c.Ask(fmt.Sprintf("x%x,%x", addr, len(dst)))
		if err != nil || len(reply) == 0 || reply[0] != 'b' {
			return 0, err
		}
		return copy(dst, reply[1:]), nil
	}
	reply, err := c.Ask(fmt.Sprintf("m%x,%x", addr, len(dst)))
	if err != nil || refusal(reply) {
		return 0, err
	}
	n := min(len(reply)/2, len(dst))
	for i := range n {
		b, ok := hexByte(reply[2*i], reply[2*i+1])
		if !ok {
			return i, nil
		}
		dst[i] = b
	}
	return n, nil
}
