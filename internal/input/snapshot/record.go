package snapshot

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
)

// record is a snapshot's text, before its processor is known. Nothing in it refers to the text.
type record struct {
	arch, abi, endian, os string

	regs    []namedValue // of all threads
	threads []thread
	memory  []chunk
	images  []imageRef
	fault   fault

	codeMask, pacMask uint64
	issues            []string
	room              limits
	names             map[string]string // of registers, as all texts have them
}

// maxNames bounds the names of registers that are told apart: a processor has some hundred.
const maxNames = 1 << 12

// namedValue is a register by its name as the text has it, "" for one more than maxNames.
type namedValue struct {
	name  string
	value uint64
}

// thread has regs[from:to] of its record.
type thread struct {
	id       uint64
	name     string
	crashed  bool
	from, to int
}

type chunk struct {
	base  uint64
	bytes []byte
}

// imageRef is a binary that the snapshot names. It is comparable.
type imageRef struct {
	path    string
	bias    uint64
	buildID string // hex
	// direct: path is of this machine, as the user gave it.
	direct bool
}

type fault struct {
	present    bool
	signal     uint64
	code       int64
	name       string
	address    uint64
	hasAddress bool
}

// reset empties r, for a text of size bytes. It keeps what r allocated, except memory,
// which snapshots own.
func (r *record) reset(size int) {
	*r = record{regs: r.regs[:0], threads: r.threads[:0], memory: r.memory[:0], images: r.images[:0], room: limitsOf(size), names: r.names}
}

// read fills r from one JSON object. What is wrong is left in s.
func (r *record) read(s *scanner) {
	var top thread
	for more := s.open('{', '}'); more; more = s.next('}') {
		switch string(s.key()) {
		case "arch":
			r.arch = s.text()
		case "abi":
			r.abi = s.text()
		case "endian":
			r.endian = s.text()
		case "os":
			r.os = s.text()
		case "regs":
			r.readRegs(s, &top)
		case "threads":
			r.readList(s, r.readThread)
		case "memory", "stack", "extra":
			// The recorded truth of this project also had the two latter.
			r.readList(s, r.readChunk)
		case "images":
			r.readList(s, r.readImage)
		case "signal":
			r.fault.present = true
			r.readSignal(s)
		case "fault":
			r.fault.present = true
			r.readFault(s)
		case "code_mask":
			r.codeMask, _ = s.number()
		case "pac_mask":
			r.pacMask, _ = s.number()
		default:
			s.skip(0)
		}
	}
	if top.to > top.from || len(r.threads) == 0 {
		top.id, top.crashed = 1, true
		r.threads = slices.Insert(r.threads, 0, top)
	}
	if s.peek() != 0 || s.pos < len(s.b) {
		s.fail("something follows the object")
	}
	r.issues = append(r.issues, r.room.leftOut()...)
}

// readList reads an array of objects, a single object, or null.
func (r *record) readList(s *scanner, element func(*scanner)) {
	switch s.peek() {
	case '[':
		for more := s.open('[', ']'); more; more = s.next(']') {
			element(s)
		}
	case '{':
		element(s)
	default:
		if string(s.word()) != "null" {
			s.fail("expected an array")
		}
	}
}

func (r *record) readRegs(s *scanner, t *thread) {
	t.from = len(r.regs)
	for more := s.open('{', '}'); more; more = s.next('}') {
		name := s.key()
		if v, ok := s.number(); ok && r.room.regs.Draw(1) {
			r.regs = append(r.regs, namedValue{r.nameOf(name), v})
		}
	}
	t.to = len(r.regs)
}

// nameOf is a register's name, one string for all of that name.
func (r *record) nameOf(text []byte) string {
	name, known := r.names[string(text)]
	if !known && len(r.names) < maxNames {
		if r.names == nil {
			r.names = make(map[string]string)
		}
		name = string(text)
		r.names[name] = name
	}
	return name
}

func (r *record) readThread(s *scanner) {
	t := thread{id: uint64(len(r.threads) + 1)}
	for more := s.open('{', '}'); more; more = s.next('}') {
		switch string(s.key()) {
		case "id":
			t.id, _ = s.number()
		case "name":
			t.name = s.text()
		case "crashed":
			t.crashed = s.truth()
		case "regs":
			r.readRegs(s, &t)
		default:
			s.skip(0)
		}
	}
	if r.room.threads.Draw(1) {
		r.threads = append(r.threads, t)
	}
}

func (r *record) readChunk(s *scanner) {
	var c chunk
	placed := false
	for more := s.open('{', '}'); more; more = s.next('}') {
		switch string(s.key()) {
		case "base":
			c.base, placed = s.number()
		case "bytes":
			c.bytes = r.decode(s.str())
		default:
			s.skip(0)
		}
	}
	if !placed && !s.failed() {
		s.fail("memory without a base")
		return
	}
	if r.room.chunks.Draw(1) {
		r.memory = append(r.memory, c)
	}
}

// decode decodes base64 (RFC 4648 §4), padded or not. Where it is damaged, what
// comes before is kept.
func (r *record) decode(text []byte) []byte {
	enc := base64.StdEncoding
	if len(text)%4 != 0 && len(text) > 0 && text[len(text)-1] != '=' {
		enc = base64.RawStdEncoding
	}
	out := make([]byte, enc.DecodedLen(len(text)))
	n, err := enc.Decode(out, text)
	if err != nil {
		r.issues = append(r.issues, fmt.Sprintf("memory: %v; %d bytes before it are used", err, n))
	}
	return out[:n]
}

func (r *record) readImage(s *scanner) {
	var i imageRef
	for more := s.open('{', '}'); more; more = s.next('}') {
		switch string(s.key()) {
		case "path":
			i.path = s.text()
		case "bias":
			i.bias, _ = s.number()
		case "build_id":
			i.buildID = s.text()
		default:
			s.skip(0)
		}
	}
	if r.room.images.Draw(1) {
		r.images = append(r.images, i)
	}
}

// readSignal reads a signal's name or its number, which in a string is decimal.
func (r *record) readSignal(s *scanner) {
	t := s.text()
	if n, err := strconv.ParseUint(t, 10, 16); err == nil {
		r.fault.signal = n
		return
	}
	r.fault.name = t
}

// readFault reads {"signal", "name", "code", "address"}, or an address alone.
func (r *record) readFault(s *scanner) {
	f := &r.fault
	if s.peek() != '{' {
		f.address, f.hasAddress = s.number()
		return
	}
	for more := s.open('{', '}'); more; more = s.next('}') {
		switch string(s.key()) {
		case "signal":
			r.readSignal(s)
		case "name":
			f.name = s.text()
		case "code":
			v, _ := s.number()
			f.code = int64(v)
		case "address":
			f.address, f.hasAddress = s.number()
		default:
			s.skip(0)
		}
	}
}
