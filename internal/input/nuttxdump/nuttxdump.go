// Package nuttxdump reads the core dumps that NuttX prints on a console (sched/misc/coredump.c): an ELF core file in hexadecimal,
// packed in blocks by LZF where the kernel was built so.
//
//	[CPU0] [ 6] Start coredump:
//	[CPU0] [ 6] 5A5601013D03FF077F454C46010101…
//	[CPU0] [ 6] Finish coredump (Compression Enabled).
package nuttxdump

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/input/elfcore"
)

// Reader knows such dumps in logs.
func Reader() console.Reader {
	return console.Reader{Name: "NuttX core dump", Read: read, Signs: console.Phrases(start), Beside: true}
}

// The words around a dump. Between its lines maxSkipped of others may stand; maxDump bounds a dump in bytes.
const (
	start, finish       = "Start coredump:", "Finish coredump"
	maxSkipped, maxDump = 64, 64 << 20
)

func read(ctx context.Context, log *console.Log, at int, env *input.Env) (*console.Report, int) {
	const title = "core dump of NuttX"
	if !strings.Contains(log.Line(at), start) {
		return nil, at + 1
	}
	var data []byte
	next := at + 1
	for i := next; i < log.Len() && i-next <= maxSkipped && len(data) < maxDump; i++ {
		line := log.Line(i)
		if strings.Contains(line, start) {
			break
		}
		if strings.Contains(line, finish) {
			next = i + 1
			break
		}
		word := line[strings.LastIndexByte(line, ' ')+1:]
		if b, err := hex.DecodeString(word); err == nil && len(b) >= leastLine {
			data, next = append(data, b...), i+1
		}
	}
	if len(data) == 0 {
		return nil, at + 1
	}
	core, whole := unpacked(data)
	form := elfcore.Format()
	if !form.Sniff(core) {
		return console.Refused(title, "a core dump of NuttX without an ELF core file in it"), next
	}
	s, err := form.Open(ctx, input.NewCapture(title, core), env)
	if err != nil {
		return console.Refused(title, err.Error()), next
	}
	snap, err := s.Next(ctx)
	if err != nil {
		return console.Refused(title, err.Error()), next
	}
	snap.OS = "NuttX"
	r := console.Whole(snap)
	if !whole {
		r.Issues = append(r.Issues, console.Refused(title, "a block of the core dump is damaged; what is behind is not read").Issues...)
	}
	return r, next
}

// leastLine is how many bytes a line of the dump has at least: 1A is a word of a log.
const leastLine = 4

// unpacked is a dump without its compression: blocks, each with a head, in which 1 says that it is packed. whole is false where
// a block is not.
//
//	'Z' 'V' 0, length 2                      then the bytes
//	'Z' 'V' 1, length 2, unpacked length 2   then LZF
func unpacked(data []byte) (out []byte, whole bool) {
	const plain, packed, headPlain, headPacked = 0, 1, 5, 7
	if len(data) < headPlain || data[0] != 'Z' || data[1] != 'V' {
		return data, true
	}
	for len(data) > 0 && len(out) < maxDump {
		if len(data) < headPacked || data[0] != 'Z' || data[1] != 'V' || data[2] > packed {
			return out, false
		}
		n := int(data[3])<<8 | int(data[4])
		if data[2] == plain {
			body := data[headPlain:min(len(data), headPlain+n)]
			out, data = append(out, body...), data[headPlain+len(body):]
			continue
		}
		body := data[headPacked:min(len(data), headPacked+n)]
		var ok bool
		out, ok = lzf(out, body, int(data[5])<<8|int(data[6]))
		if data = data[headPacked+len(body):]; !ok {
			return out, false
		}
	}
	return out, true
}

// lzf appends what a block of LibLZF unpacks to, n bytes at most: a byte below 32 is how many bytes follow, less one; in others
// the upper three bits are the length of a repetition, less two, and the rest, with the next byte, how far back it begins.
func lzf(out, src []byte, n int) (_ []byte, ok bool) {
	const literals, long = 32, 7
	from, end := len(out), len(out)+n
	for at := 0; at < len(src); {
		c := int(src[at])
		at++
		if c < literals {
			if at+c+1 > len(src) || len(out)+c+1 > end {
				return out, false
			}
			out, at = append(out, src[at:at+c+1]...), at+c+1
			continue
		}
		length, back := c>>5, c&31<<8
		if length == long && at < len(src) {
			length, at = length+int(src[at]), at+1
		}
		if at == len(src) {
			return out, false
		}
		back += int(src[at]) + 1
		at++
		if back > len(out)-from || len(out)+length+2 > end {
			return out, false
		}
		for range length + 2 {
			out = append(out, out[len(out)-back])
		}
	}
	return out, len(out) == end
}
