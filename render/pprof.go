package render

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/backsight/backsight/internal/protobuf"
	"github.com/backsight/backsight/target"
)

// Numbers of fields of the message Profile (google/pprof, profile.proto).
const (
	pprofSampleType = 1
	pprofSample     = 2
	pprofMapping    = 3
	pprofLocation   = 4
	pprofFunction   = 5
	pprofTexts      = 6
)

// AppendPprof appends the stacks as a profile that pprof reads: one sample for each stack,
// with how many threads had it. It is compressed by gzip.
func (s *Stacks) AppendPprof(dst []byte) ([]byte, error) {
	p := profile{texts: map[string]uint64{}, functions: map[stackFunction]uint64{}, modules: map[stackModule]uint64{}, places: map[stackPlace]uint64{}}
	p.text("") // number 0 by definition
	p.field(pprofSampleType, numbers{p.text("threads"), p.text("count")})
	for i := range s.list {
		p.sample(s, &s.list[i])
	}
	out := bytes.NewBuffer(dst)
	w := gzip.NewWriter(out)
	_, err := w.Write(p.out)
	if end := w.Close(); err == nil {
		err = end
	}
	return out.Bytes(), err
}

// stackFunction is a function of a file.
type stackFunction struct{ name, file string }

// profile is a profile that is being made, with the numbers of what it has of each kind. Those of locations, functions and
// mappings begin at 1.
type profile struct {
	out       []byte
	texts     map[string]uint64
	functions map[stackFunction]uint64
	modules   map[stackModule]uint64
	places    map[stackPlace]uint64
}

// numbers are the fields 1, 2 and so on of a message.
type numbers []uint64

func (n numbers) append(dst []byte) []byte {
	for i, v := range n {
		dst = protobuf.Number(dst, i+1, v)
	}
	return dst
}

// field appends a message of numbers to the profile.
func (p *profile) field(num int, n numbers) { p.out = protobuf.Bytes(p.out, num, n.append(nil)) }

// text is the number of a text.
func (p *profile) text(s string) uint64 {
	n, ok := p.texts[s]
	if !ok {
		n = uint64(len(p.texts))
		p.texts[s] = n
		p.out = protobuf.Bytes(p.out, pprofTexts, s)
	}
	return n
}

// sample appends a stack.
func (p *profile) sample(s *Stacks, st *stack) {
	var locations []byte
	for _, n := range slices.Backward(s.called[st.first:st.end]) { // innermost first
		for _, at := range slices.Backward(s.frames[n].places) {
			locations = binary.AppendUvarint(locations, p.location(at))
		}
	}
	count := binary.AppendUvarint(nil, uint64(st.count))
	p.out = protobuf.Bytes(p.out, pprofSample, protobuf.Bytes(protobuf.Bytes(nil, 1, locations), 2, count))
}

// location is the number of a place's location, which is appended when the place comes first.
func (p *profile) location(at stackPlace) uint64 {
	n := p.places[at]
	if n == 0 {
		n = uint64(len(p.places) + 1)
		p.places[at] = n
		line := numbers{p.function(stackFunction{at.name, at.file}), uint64(max(0, at.line))}.append(nil)
		p.out = protobuf.Bytes(p.out, pprofLocation, protobuf.Bytes(numbers{n, p.mapping(*at.module), at.address}.append(nil), 4, line))
	}
	return n
}

func (p *profile) function(of stackFunction) uint64 {
	n := p.functions[of]
	if n == 0 {
		n = uint64(len(p.functions) + 1)
		p.functions[of] = n
		name := p.text(of.name)
		p.field(pprofFunction, numbers{n, name, name, p.text(Text(of.file))})
	}
	return n
}

// mapping is the number of a module's mapping, 0 where a place lies in none.
func (p *profile) mapping(of stackModule) uint64 {
	n := p.modules[of]
	if n == 0 && of.hi != 0 {
		n = uint64(len(p.modules) + 1)
		p.modules[of] = n
		const fileOffset, named = 0, 1 // functions, files, lines and inlined calls have their names
		p.field(pprofMapping, numbers{n, of.lo, of.hi, fileOffset, p.text(Text(of.name)), p.text(of.buildID), named, named, named, named})
	}
	return n
}

func moduleOf(m *target.Module) stackModule {
	if m == nil {
		return stackModule{}
	}
	id := m.BuildID
	if m.Image != nil {
		id = m.Image.BuildID
	}
	return stackModule{m.Name, hex.EncodeToString(id), m.Lo, m.Hi}
}
