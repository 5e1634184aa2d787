package minidump

import (
	"iter"
	"unicode/utf16"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/target"
)

// Types of streams.
const (
	threadList     = 3
	moduleList     = 4
	memoryList     = 5
	exception      = 6
	systemInfo     = 7
	memory64List   = 9
	miscInfo       = 15
	threadNames    = 24
	linuxStatus    = 0x4767_0004 // /proc/PID/status
	linuxCmdLine   = 0x4767_0006
	linuxMaps      = 0x4767_0009
	headerSize     = 32
	directoryEntry = 12
	// maxStreams bounds the directory; writers know some thirty types.
	maxStreams = 1 << 10
)

// location is where something lies in a dump.
type location struct{ size, rva uint32 }

// dump is an open minidump.
type dump struct {
	name    string
	data    []byte
	big     bool
	time    uint32              // seconds since 1970
	streams map[uint32]location // by type: the first of each
	issues  []target.Issue
	room    room
}

// room is how much of a dump is kept: 48 bytes of the file make a thread of five hundred, 16 a run of memory, 12 a name of
// eight thousand. Programs have some thousand threads.
type room struct{ threads, ranges, names, code budget.Budget }

func newRoom(size int) room {
	n := uint64(size)
	return room{
		threads: budget.New("threads", 1<<14, n/512),
		ranges:  budget.New("runs of memory", 1<<15, n/256),
		names:   budget.New("bytes of names", 1<<20, n),
		code:    budget.New("pieces of missing binaries' code", 1<<14, n/512), // modules may overlap, and so may mappings
	}
}

// leftOut says what there was no room for.
func (d *dump) leftOut() {
	for _, b := range []*budget.Budget{&d.room.threads, &d.room.ranges, &d.room.names, &d.room.code} {
		if err := b.Err(); err != nil {
			d.issue("%v; the others are left out", err)
		}
	}
}

// newDump reads the header and the directory of streams.
func newDump(name string, data []byte) (*dump, error) {
	d := &dump{name: name, data: data, big: len(data) >= 4 && string(data[:4]) == big, streams: map[uint32]location{}, room: newRoom(len(data))}
	r := bin.New(data, d.big)
	r.Skip(8) // signature, version
	n, at := r.U32(), r.U32()
	r.Skip(4) // checksum
	d.time = r.U32()
	if r.Err() != nil {
		return nil, d.errorf(0, "a minidump that ends within its header")
	}
	if n > maxStreams {
		d.issue("offset 0x8: %d streams are claimed; the first %d are read", n, maxStreams)
	}
	r = bin.NewAt(data, uint64(at), d.big)
	for range min(n, maxStreams) {
		typ, l := r.U32(), location{r.U32(), r.U32()}
		if r.Err() != nil {
			d.issue("offset %#x: the directory of streams ends early", at)
			break
		}
		if _, known := d.streams[typ]; !known {
			d.streams[typ] = l
		}
	}
	for typ, what := range map[uint32]string{threadList: "threads", memoryList: "memory"} {
		if l := d.streams[typ]; uint64(l.rva)+uint64(l.size) > uint64(len(data)) {
			d.issue("offset %#x: the list of %s lies behind the end of the file, which was cut", l.rva, what)
		}
	}
	return d, nil
}

// at is what the file has at a location, cut where the file ends.
func (d *dump) at(l location) []byte {
	if uint64(l.rva) >= uint64(len(d.data)) {
		return nil
	}
	b := d.data[l.rva:]
	return b[:bin.Limit(uint64(l.size), len(b))]
}

// stream is what the file has of a stream, nil where there is none.
func (d *dump) stream(typ uint32) []byte { return d.at(d.streams[typ]) }

// entries are the elements of a list stream, size bytes each, behind their number. Some writers pad the number to eight
// bytes, which the size of the stream tells.
func (d *dump) entries(typ uint32, size int) iter.Seq[bin.Reader] {
	b := d.stream(typ)
	r := bin.New(b, d.big)
	n := uint64(r.U32())
	from := 4
	if uint64(d.streams[typ].size) == 8+n*uint64(size) {
		from = 8
	}
	return func(yield func(bin.Reader) bool) {
		for at := from; n > 0 && len(b)-at >= size && yield(bin.New(b[at:at+size], d.big)); at += size {
			n--
		}
	}
}

// readLocation reads where something lies.
func readLocation(r *bin.Reader) location { return location{r.U32(), r.U32()} }

// maxString bounds a name in bytes of UTF-16.
const maxString = 8192

// text is the MINIDUMP_STRING at an offset: a number of bytes, then UTF-16; "" for none.
func (d *dump) text(rva uint32) string {
	r := bin.NewAt(d.data, uint64(rva), d.big)
	n := r.U32()
	if rva == 0 || r.Err() != nil {
		return ""
	}
	b := r.Bytes(uint64(bin.Limit(uint64(n), min(r.Len(), maxString)) &^ 1))
	if !d.room.names.Draw(len(b)) {
		return ""
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = bin.Order(d.big).U16(b[2*i:])
	}
	return string(utf16.Decode(units))
}
