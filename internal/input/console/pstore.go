package console

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/backsight/backsight/input"
)

// A kernel that dies keeps the end of its log where the machine has room that outlives it, in pieces of a kilobyte on many
// (fs/pstore/platform.c, pstore_dump). Each piece is a file, such as /sys/fs/pstore/dmesg-efi_pstore-179500000001001, and
// begins with a line that numbers it. The first piece has the last lines:
//
//	Panic#2 Part1
//	Panic#2 Part2     the lines before these

// piece is a piece of the log of one dump.
type piece struct {
	dump      string // "Panic#2"
	part      int
	boot      int // how often this piece was there before: dumps are counted anew after each boot
	from, end int // of its lines
}

// pieceOf reads the line that numbers a piece.
func pieceOf(line []byte) (p piece, ok bool) {
	dump, number, ok := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(" Part"))
	reason, count, counted := bytes.Cut(dump, []byte("#"))
	part, err := strconv.ParseUint(string(number[:min(len(number), maxTag)]), 10, 31)
	isWord := len(reason) > 0 && len(reason) < maxTag && !bytes.ContainsFunc(reason, func(r rune) bool { return r < 'A' || r > 'z' })
	return piece{dump: string(dump), part: int(part)}, ok && counted && isWord && digits(string(count)) && err == nil
}

// maxPieces bounds the pieces of a log: firmware has room for some hundred.
const maxPieces = 1 << 14

// pieces are the pieces that text consists of, none where text is something else.
func pieces(text []byte) (list []piece) {
	seen := map[string]int{}
	at := 0
	for line := range bytes.Lines(text) {
		at += len(line)
		switch p, ok := pieceOf(line); {
		case len(list) == 0 && !ok, len(list) > maxPieces:
			return nil
		case ok:
			key := string(bytes.TrimSpace(line))
			p.boot, p.from, p.end = seen[key], at, at
			seen[key]++
			list = append(list, p)
		default:
			list[len(list)-1].end = at
		}
	}
	return list
}

// rejoined is the log whose pieces text consists of, or else text.
func rejoined(text []byte) []byte {
	list := pieces(text)
	if len(list) < 2 {
		return text
	}
	first := map[string]int{} // where a dump's first piece stood
	for _, p := range slices.Backward(list) {
		first[p.dump] = p.from
	}
	slices.SortStableFunc(list, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.boot, b.boot), cmp.Compare(first[a.dump], first[b.dump]), cmp.Compare(b.part, a.part))
	})
	log := make([]byte, 0, len(text))
	for _, p := range list {
		log = append(log, text[p.from:p.end]...)
	}
	return log
}

// together are the bytes of a capture of several files, each of which ends with a line.
func together(ctx context.Context, c *input.Capture) (data []byte, broken error) {
	data, broken = c.Bytes(ctx)
	if len(c.Others) > 0 {
		data = slices.Clone(data)
	}
	for _, o := range c.Others {
		if n := len(data); n > 0 && data[n-1] != '\n' {
			data = append(data, '\n')
		}
		more, err := o.Bytes(ctx)
		data, broken = append(data, more...), cmp.Or(broken, err)
	}
	return data, broken
}

// dumpOf is the dump of which a file is a piece, "" for none: the pieces that a user names are one capture.
func dumpOf(file io.ReaderAt) string {
	head := make([]byte, maxTag)
	n, _ := file.ReadAt(head, 0)
	line, _, ended := bytes.Cut(head[:n], []byte("\n"))
	p, ok := pieceOf(line)
	if !ok || !ended {
		return ""
	}
	return "pstore " + p.dump
}
