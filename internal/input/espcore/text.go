package espcore

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
)

// A dump in a log are lines of base64, each complete by itself, of which the first is the header (core_dump_uart.c). Lines of
// other tasks may stand between, and a terminal's time in front:
//
//	================= CORE DUMP START =================
//	mAwAAAIBBQAAAAAAAAAAAAAAAAADAAAA
//	f0VMRgEBAQAAAAAAAAAAAAQA8wABAAAAAAAAADQAAAAAAAAAAAAAADQAIAAIACgA
//	I (4711) wifi: connected
//	================= CORE DUMP END =================

const dumpEnd = "CORE DUMP END"

// Reader knows such dumps in logs.
func Reader() console.Reader {
	return console.Reader{Name: "ESP-IDF core dump", Read: readText, Signs: func(*input.Env) console.Signs { return console.Signs{Ends: isHeader} }, Beside: true}
}

func readText(_ context.Context, log *console.Log, at int, env *input.Env) (*console.Report, int) {
	line := strings.TrimRight(log.Line(at), " ")
	if !isHeader([]byte(line)) {
		return nil, at + 1
	}
	first := decode(line)
	h := headerAlone(first)
	if h == nil {
		return nil, at + 1
	}
	t := textDump{header: *h}
	t.add(first)
	next := t.take(log, at+1)
	if t.size < elfHead { // a line that looks so
		return nil, at + 1
	}
	return t.report(env), next
}

// isHeader tells whether the last word of a line is as long as a header in base64.
func isHeader(line []byte) bool {
	n := len(line) - 1 - bytes.LastIndexByte(line, ' ')
	return n == 16 || n == 28 || n == 32
}

// headerAlone is the header that b is, nil where b is something else.
func headerAlone(b []byte) *header {
	if len(b) != 12 && len(b) != 20 && len(b) != 24 {
		return nil
	}
	if h, _, ok := headerOf(append(slices.Clip(b), "\x7fELF"...)); ok {
		return &h
	}
	return nil
}

// decode is what the last word of a line is in base64, nil where that is none. In front of it only a time may stand.
func decode(line string) []byte {
	line = strings.TrimSpace(line)
	word := line[strings.LastIndexByte(line, ' ')+1:]
	if before := strings.TrimRight(line[:len(line)-len(word)], " "); before != "" && strings.Trim(before, "0123456789:.-[]TZ+> ") != "" {
		return nil
	}
	if len(word)%4 != 0 || len(word) > maxLine {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(word)
	if err != nil {
		return nil
	}
	return b
}

// maxLine bounds a line of base64: the device writes 48 bytes of the dump in each. maxSkipped is how many lines of others may
// follow each other.
const maxLine, maxSkipped = 256, 64

// textDump is a dump out of a log.
type textDump struct {
	header
	pieces [][]byte
	size   int
}

func (t *textDump) add(b []byte) {
	t.pieces = append(t.pieces, b)
	t.size += len(b)
}

// take takes the lines from line i on, and returns the line behind the dump.
func (t *textDump) take(log *console.Log, i int) (next int) {
	next = i
	for ; i < log.Len() && i-next <= maxSkipped && uint32(t.size) < t.length+maxExtra; i++ {
		line := log.Line(i)
		if strings.Contains(line, dumpEnd) {
			return i + 1
		}
		if b := decode(line); len(b) > 0 {
			t.add(b)
			next = i + 1
		}
	}
	return next
}

// maxExtra is how many bytes words of other lines may add that look like base64.
const maxExtra = 1 << 10

// bytes are the dump's. Where there are too many, one line is of another task, and looks like base64: the one without which
// the checksum is right.
func (t *textDump) bytes() []byte {
	all := slices.Concat(t.pieces...)
	extra := len(all) - int(t.length)
	if extra <= 0 {
		return all
	}
	at := 0
	for tries, p := range t.pieces {
		if tries < maxTries && len(p) == extra {
			if without := slices.Concat(all[:at], all[at+len(p):]); sound(without) {
				return without
			}
		}
		at += len(p)
	}
	return all
}

// maxTries bounds the lines of which the dump is tried without.
const maxTries = 1 << 10

// report makes a report of a dump.
func (t *textDump) report(env *input.Env) *console.Report {
	const title = "core dump of ESP-IDF"
	d, why := read(t.bytes())
	if why != "" {
		return console.Refused(title, why)
	}
	snap, why := d.snapshot(env)
	if why != "" {
		return console.Refused(title, why)
	}
	return console.Whole(snap)
}
