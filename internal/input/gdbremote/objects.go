package gdbremote

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/backsight/backsight/target"
)

// Transfer reads a whole object by qXfer.
func (c *Client) Transfer(object, annex string) ([]byte, error) {
	var all []byte
	for len(all) < maxPacket {
		request := fmt.Sprintf("qXfer:%s:read:%s:%x,%x", object, annex, len(all), c.block)
		reply, err := c.must(request)
		if err != nil {
			return nil, err
		}
		if reply[0] != 'l' && reply[0] != 'm' {
			return nil, &Refused{request, string(reply[:min(len(reply), 80)])}
		}
		all = append(all, reply[1:]...)
		if reply[0] == 'l' || len(reply) == 1 {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", object, errLong)
}

// object is Transfer of what the server announced, nil where it has none.
func (c *Client) object(object string) []byte {
	if !c.has("qXfer:" + object + ":read") {
		return nil
	}
	data, _ := c.Transfer(object, "")
	return data
}

// regions are the ranges of memory that the server tells of, all or those of "ram". What
// lies elsewhere may be registers of devices, which are not to be read; and so may what lies in larger ranges: OpenOCD
// calls all ram that is no flash.
func (c *Client) regions(all bool) (list []target.Range) {
	_ = eachElement(c.object("memory-map"), func(name, _ string, attr func(string) string) {
		lo, ok := number(attr("start"), 0)
		size, ok2 := number(attr("length"), 0)
		if name == "memory" && ok && ok2 && size > 0 && size <= maxRegion && (all || attr("type") == "ram") && len(list) < maxRegions {
			list = append(list, target.RangeOf(lo, size))
		}
	})
	return list
}

// maxRegions bounds the ranges of memory that a server tells of, maxRegion each of them.
const (
	maxRegions = 256
	maxRegion  = 256 << 20
)

// monitor has the server execute a command of its own, and returns what that prints, maxPrinted bytes at most; "" where
// the server has none.
func (c *Client) monitor(command string) string {
	var printed []byte
	reply, err := c.Ask("qRcmd," + hex.EncodeToString([]byte(command)))
	for err == nil && len(reply) > 0 && string(reply) != "OK" && !refusal(reply) && len(printed) < maxPrinted {
		digits := reply
		last := reply[0] != 'O'
		if !last {
			digits = reply[1:]
		}
		text := make([]byte, hex.DecodedLen(len(digits)))
		n, _ := hex.Decode(text, digits)
		if printed = append(printed, text[:n]...); last {
			break
		}
		reply, err = c.Next()
	}
	return string(printed)
}

const maxPrinted = 1 << 20

// number is an unsigned number, of a base as strconv has it.
func number(text string, base int) (uint64, bool) {
	v, err := strconv.ParseUint(strings.TrimSpace(text), base, 64)
	return v, err == nil
}
