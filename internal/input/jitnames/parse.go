package jitnames

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// maxName is how much of a name is kept, in bytes.
const maxName = 1 << 10

// parseMap reads lines of START SIZE NAME, both numbers in hexadecimal. A name may have spaces. Other lines are left out; the last may
// be half written.
func parseMap(ctx context.Context, text []byte) (list []*function) {
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
			list = append(list, &function{addr: addr, size: n, name: nameOf(name)})
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
	magic         = 0x4a695444
	codeLoad      = 0
	codeMove      = 1
	codeDebug     = 2
	codeUnwinding = 4
)

// archTimestamp is the flag of a log whose times are the processor's (JITDUMP_FLAGS_ARCH_TIMESTAMP); others are of CLOCK_MONOTONIC.
const archTimestamp = 1

// log is a binary log.
type log struct {
	path string
	big  bool
	// skew is by how much lines lie behind their code. V8 adds the ELF header that perf inject writes in front of the code
	// (PerfJitLogger::LogWriteDebugInfo): of all its functions the first line lies there, and in none before.
	skew uint64
}

// part is a part of a log.
type part struct{ off, size uint64 }

// record is what a log has of a function beside its name.
type record struct {
	log                 *log
	time                uint64 // when it was made; never: not known
	made                uint64 // the address that frames and lines are meant for: where it was before it was moved
	code, frames, lines part   // frames are .eh_frame
	now                 *target.Module
	tried               bool // now is what it is, nil if the code cannot be had
}

// never is later than all times.
const never = math.MaxUint64

// dumpReader reads a log.
type dumpReader struct {
	*log
	timed         bool
	list          []*function
	known         map[uint64]*function // by their numbers
	frames, lines part                 // what was told of the next function
}

// parseDump reads a binary log: its header, and records until the first that is not whole. A function that was moved lies at both
// places, the later one counts. ok is false for bytes that are no such log.
func parseDump(ctx context.Context, path string, data []byte) (list []*function, ok bool) {
	r := dumpReader{log: &log{path: path, big: bytes.HasPrefix(data, []byte("JiTD")), skew: never}, known: map[uint64]*function{}}
	in := bin.New(data, r.big)
	if in.U32() != magic {
		return nil, false
	}
	in.Skip(4)
	behind := in.U32()
	in.Skip(4*3 + 8) // processor, padding, process, time
	r.timed = in.U64()&archTimestamp == 0
	in.Seek(uint64(behind))
	for ctx.Err() == nil {
		const head = 16
		kind, size := in.U32(), in.U32()
		time := in.U64()
		at := uint64(in.Offset())
		body := bin.New(in.Bytes(uint64(max(size, head)-head)), r.big)
		if in.Err() != nil {
			break
		}
		if !r.timed {
			time = never
		}
		r.record(kind, &body, at, time)
	}
	if r.skew != elfHeader {
		r.skew = 0
	}
	return r.list, true
}

// elfHeader is the size of an ELF file's header.
const elfHeader = 0x40

// record takes a record, whose body lies at an offset of the log.
func (r *dumpReader) record(kind uint32, body *bin.Reader, at, time uint64) {
	switch kind {
	case codeLoad:
		r.load(body, at, time)
	case codeMove:
		r.move(body, time)
	case codeDebug:
		r.lines = part{at, uint64(body.Len())}
		addr, n := body.U64(), body.U64()
		if first := body.U64(); n > 0 && body.Err() == nil {
			r.skew = min(r.skew, first-addr)
		}
	case codeUnwinding: // size, size of .eh_frame_hdr behind .eh_frame, size that is mapped
		size, header := body.U64(), body.U64()
		body.Skip(8)
		r.frames = part{}
		if body.Err() == nil && header < size && size <= uint64(body.Len()) {
			r.frames = part{at + uint64(body.Offset()), size - header}
		}
	}
}

// load reads the record of a function that was made: process, thread, virtual address, address, size, number, name, code.
func (r *dumpReader) load(in *bin.Reader, at, time uint64) {
	in.Skip(4 + 4 + 8)
	f := &function{addr: in.U64(), size: in.U64(), record: &record{log: r.log, time: time, frames: r.frames, lines: r.lines}}
	number := in.U64()
	f.name = nameOf(in.CBytes())
	r.frames, r.lines = part{}, part{}
	if in.Err() != nil || f.size == math.MaxUint64 {
		return
	}
	if f.made = f.addr; f.size <= uint64(in.Len()) {
		f.code = part{at + uint64(in.Offset()), f.size}
	}
	r.list, r.known[number] = append(r.list, f), f
}

// move reads that a function was moved: process, thread, virtual address, old address, new address, size, number.
func (r *dumpReader) move(in *bin.Reader, time uint64) {
	in.Skip(8 + 8 + 8)
	addr, size := in.U64(), in.U64()
	old := r.known[in.U64()]
	if old == nil || in.Err() != nil {
		return
	}
	now, where := *old.record, *old
	now.time = time
	if where.addr, where.size, where.record = addr, size, &now; size != now.code.size {
		now.code = part{}
	}
	r.list = append(r.list, &where)
}
