package faultlog

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
)

// Stored is the format of a record that a device kept in memory, a page of flash or a file (bs_store of
// device/dump.c). Behind the record other bytes may follow, as in a dump of the whole page.
func Stored() input.Format {
	return input.Format{
		Name: "record",
		Sniff: func(head []byte) bool {
			if len(head) <= recordHead || string(head[:4]) != "bsR1" && string(head[:4]) != "1Rsb" {
				return false
			}
			return (head[10] == 4 || head[10] == 8) && head[11] <= 3 // a record as text begins so as well
		},
		Open: func(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
			data, err := c.Bytes(ctx)
			if err != nil {
				return nil, err
			}
			data = data[:min(len(data), maxRecord)]
			whole := record{pieces: []piece{{0, data}}}
			o, _ := whole.open()
			if o.record != nil && o.total() <= len(data) {
				data = data[:o.total()]
			}
			return console.Format(Reader()).Open(ctx, input.NewCapture(c.Name, recordText(data)), env)
		},
	}
}

// maxRecord bounds a record in bytes: offsets have four digits.
const maxRecord = 1 << 16

// recordText is a record as a device prints it.
func recordText(data []byte) (text []byte) {
	tag := uint32(0)
	if len(data) > recordHead {
		if tag = binary.LittleEndian.Uint32(data[4:]); string(data[:4]) == "1Rsb" {
			tag = binary.BigEndian.Uint32(data[4:])
		}
	}
	for at := 0; at < len(data); at += recordLine {
		line := fmt.Sprintf("%s%04x %04x %s ", recordMark, tag&0xffff, at, base64.RawStdEncoding.EncodeToString(data[at:min(len(data), at+recordLine)]))
		text = fmt.Appendf(text, "%s%08x\n", line, crc32.ChecksumIEEE([]byte(line)))
	}
	return text
}
