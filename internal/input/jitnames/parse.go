package jitnames

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/bin"
)

// maxName is how much of a name is kept, in bytes.
const maxName = 1 << 10

// parseMap reads lines of START SIZE NAME, both numbers in hexadecimal. A name may have spaces. Other lines are left out; the last may
// be half written.
func parseMap(ctx context.Context, text []byte) (list []function) {
	for line := range bytes.Lines(text) {
		if ctx.Err() != nil {
			break
		}
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		start, rest, _ := bytes.Cut(line, []byte(" "))
		size, name, ok := bytes.Cut(rest, []byte(" "))
		addr, isAddr := hexOf(start)
		n, isSize := hexOf(size)
		if whole && ok && isAddr && isSize {
			list = append(list, function{addr, n, nameOf(name)})
		}
	}
	return list
}

func hexOf(text []byte) (uint64, bool) {
	v, err := strconv.ParseUint(strings.TrimPrefix(string(text[:min(len(text), len("0x0123456789abcdef"))]), "0x"), 16, 64)
	return v, err == nil
}

func nameOf(name []byte) string { return string(name[:min(len(name), maxName)]) }

// A log's first word, in its byte order, and the kinds of its records.
const (
	magic    = 0x4a695444
	codeLoad = 0
	codeMove = 1
)

// parseDump reads a binary log: its header, and records until the first that is not whole. A function that was moved lies at both
// places, the later one counts. ok is false for bytes that are no such log.
func parseDump(ctx context.Context, data []byte) (list []function, ok bool) {
	big := bytes.HasPrefix(data, []byte("JiTD"))
	in := bin.New(data, big)
	if in.U32() != magic {
		return nil, false
	}
	in.Skip(4)
	in.Seek(uint64(in.U32()))
	moved := map[uint64]string{} // names by a function's number
	for ctx.Err() == nil {
		const head = 16
		kind, size := in.U32(), in.U32()
		in.Skip(8)
		body := bin.New(in.Bytes(uint64(max(size, head)-head)), big)
		if in.Err() != nil {
			break
		}
		switch kind {
		case codeLoad:
			list = append(list, loaded(&body, moved))
		case codeMove:
			body.Skip(8 + 8 + 8)
			f := function{addr: body.U64(), size: body.U64()}
			if f.name = moved[body.U64()]; f.name != "" {
				list = append(list, f)
			}
		}
	}
	return list, true
}

// loaded reads the record of a function that was made: process, thread, virtual address, address, size, number, name, code.
func loaded(in *bin.Reader, known map[uint64]string) (f function) {
	in.Skip(4 + 4 + 8)
	f.addr, f.size = in.U64(), in.U64()
	number := in.U64()
	f.name = nameOf(in.CBytes())
	if in.Err() != nil || f.size == math.MaxUint64 {
		return function{}
	}
	known[number] = f.name
	return f
}
