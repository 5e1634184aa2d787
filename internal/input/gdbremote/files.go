package gdbremote

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
)

// File reads a file of the machine that the server runs on (vFile, appendix E, "File-I/O"), limit bytes at
// most; the error is a *Refused where the server has no files, or not this one.
func (c *Client) File(path string, limit int) (data []byte, err error) {
	fd, _, err := c.host("open:" + hex.EncodeToString([]byte(path)) + ",0,0") // O_RDONLY
	if err != nil {
		return nil, err
	}
	defer func() { _, _, _ = c.host(fmt.Sprintf("close:%x", fd)) }() // nothing was written
	for len(data) < limit {
		n, part, err := c.host(fmt.Sprintf("pread:%x,%x,%x", fd, min(c.block, limit-len(data)), len(data)))
		if err != nil {
			return nil, err
		}
		data = append(data, part...)
		if n <= 0 || len(part) == 0 {
			break
		}
	}
	return data, nil
}

// host is a request for a file: "F" and a number, negative where it failed, and the bytes behind ";".
func (c *Client) host(operation string) (n int, data []byte, err error) {
	request := "vFile:" + operation
	reply, err := c.must(request)
	if err != nil {
		return 0, nil, err
	}
	result, data, _ := bytes.Cut(reply, []byte(";"))
	v, err := strconv.ParseInt(string(bytes.TrimPrefix(result, []byte("F"))), 16, 32)
	if err != nil || v < 0 || reply[0] != 'F' {
		return 0, nil, &Refused{request, string(reply[:min(len(reply), 80)])}
	}
	return int(v), data, nil
}
