package render

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"

	"github.com/backsight/backsight/report"
)

// Fields of pprof's messages (github.com/google/pprof, proto/profile.proto).
const (
	profileSampleType, profileSample, profileMapping, profileLocation, profileFunction, profileStrings = 1, 2, 3, 4, 5, 6

	valueType, valueUnit                                                         = 1, 2
	sampleLocation, sampleValue                                                  = 1, 2
	mappingID, mappingStart, mappingLimit, mappingFile, mappingBuildID           = 1, 2, 3, 5, 6
	mappingHasFunctions, mappingHasFilenames, mappingHasLines, mappingHasInlines = 7, 8, 9, 10

	locationID, locationMapping, locationAddress, locationLine               = 1, 2, 3, 4
	lineFunction, lineNumber                                                 = 1, 2
	functionID, functionNameField, functionSystemName, functionFileNameField = 1, 2, 3, 4
)

// AppendPprof appends the stacks as a profile that pprof reads: one sample for each stack,
// with how many threads had it. It is compressed by gzip.
func (s *Stacks) AppendPprof(dst []byte) ([]byte, error) {
	p := profile{strings: ids[string]{}, functions: ids[stackFunction]{}, modules: ids[stackModule]{}, places: ids[stackPlace]{}}
	p.strings.of("") // number 0 by the format
	p.value(profileSampleType, valueType, p.text("threads"), valueUnit, p.text("count"))
	for _, st := range s.list {
		var at []byte
		for i := len(st.places) - 1; i >= 0; i-- { // innermost first
			at = binary.AppendUvarint(at, p.location(st.places[i]))
		}
		b := appendField(nil, sampleLocation, at)
		b = appendField(b, sampleValue, binary.AppendUvarint(nil, uint64(st.count)))
		p.b = appendField(p.b, profileSample, b)
	}
	for _, text := range p.strings.inOrder() {
		p.b = appendField(p.b, profileStrings, text)
	}
	out := bytes.NewBuffer(dst)
	z := gzip.NewWriter(out)
	if _, err := z.Write(p.b); err != nil {
		return nil, err
	}
	err := z.Close()
	return out.Bytes(), err
}

// ids numbers things, from 0, in the order in which they come.
type ids[T comparable] map[T]uint64

func (n ids[T]) of(x T) (id uint64, isNew bool) {
	id, ok := n[x]
	if !ok {
		id = uint64(len(n))
		n[x] = id
	}
	return id, !ok
}

func (n ids[T]) inOrder() []T {
	out := make([]T, len(n))
	for x, i := range n {
		out[i] = x
	}
	return out
}

// stackFunction is a function of a file.
type stackFunction struct{ name, file string }

// profile is a Profile message that is being written.
type profile struct {
	b         []byte
	strings   ids[string]
	functions ids[stackFunction]
	modules   ids[stackModule]
	places    ids[stackPlace]
}

func (p *profile) text(s string) uint64 { id, _ := p.strings.of(s); return id }

// value appends a message of numbers: field, value, field, value, …
func (p *profile) value(field uint64, numbers ...uint64) {
	p.b = appendField(p.b, field, message(numbers...))
}

// Wire types of protobuf (protobuf.dev, "Encoding"), and the bits of a tag that they take.
const wireVarint, wireBytes, wireBits = 0, 2, 3

// appendField appends a field of bytes.
func appendField[T []byte | string](dst []byte, field uint64, b T) []byte {
	dst = binary.AppendUvarint(dst, field<<wireBits|wireBytes)
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func message(numbers ...uint64) (b []byte) {
	for i := 0; i < len(numbers); i += 2 {
		b = binary.AppendUvarint(b, numbers[i]<<wireBits|wireVarint)
		b = binary.AppendUvarint(b, numbers[i+1])
	}
	return b
}

// location is the number of a place, whose message is written when it comes first. Numbers of
// locations, functions and mappings begin at 1.
func (p *profile) location(at stackPlace) uint64 {
	id, isNew := p.places.of(at)
	if !isNew {
		return id + 1
	}
	f, newFunction := p.functions.of(stackFunction{at.name, at.file})
	if newFunction {
		p.value(profileFunction, functionID, f+1, functionNameField, p.text(at.name),
			functionSystemName, p.text(at.name), functionFileNameField, p.text(Text(at.file)))
	}
	b := message(locationID, id+1, locationMapping, p.mapping(at.module), locationAddress, at.address)
	line := message(lineFunction, f+1, lineNumber, uint64(max(0, at.line)))
	p.b = appendField(p.b, profileLocation, appendField(b, locationLine, line))
	return id + 1
}

// mapping is the number of a module, 0 where a place lies in none.
func (p *profile) mapping(m stackModule) uint64 {
	if m.hi == 0 {
		return 0
	}
	id, isNew := p.modules.of(m)
	if isNew {
		p.value(profileMapping, mappingID, id+1, mappingStart, m.lo, mappingLimit, m.hi, mappingFile, p.text(Text(m.name)), mappingBuildID, p.text(m.buildID),
			mappingHasFunctions, 1, mappingHasFilenames, 1, mappingHasLines, 1, mappingHasInlines, 1)
	}
	return id + 1
}

func moduleOf(f *report.Frame) stackModule {
	m := f.Module
	if m == nil {
		return stackModule{}
	}
	id := m.BuildID
	if m.Image != nil {
		id = m.Image.BuildID
	}
	return stackModule{m.Name, hex.EncodeToString(id), m.Lo, m.Hi}
}
