//go:build !small

package display

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/protobuf"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/target"
)

// WritePprof writes the stacks as a profile that pprof reads: one sample for each stack of places, with how many threads had it, of a
// recording with how many samples of each event. It is compressed by gzip.
func (s *Stacks) WritePprof(w io.Writer) error {
	p := profile{functions: map[stackFunction]uint64{}, places: map[stackPlace]uint64{}, modules: map[*stackModule]uint64{}}
	p.text("") // is the first text
	kinds := s.events()
	if len(kinds) == 0 {
		kinds = []string{"threads"}
	}
	for _, kind := range slices.Backward(kinds) { // pprof shows the last unless it is asked for another
		p.add(profileSampleType, protobuf.Numbers(p.text(kind), p.text("count")))
	}
	p.mapProgram(s)
	locations := make([]string, len(s.frames))
	merged := mergedBy(s, func(n uint32) string {
		locations[n-1] = string(p.locations(s.partsOf(n)))
		return locations[n-1]
	})
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	var packed []byte
	for stack, count := range merged.stacks() {
		packed = packed[:0]
		for _, n := range slices.Backward(stack[1:]) { // innermost first
			packed = append(packed, locations[n-1]...)
		}
		values := make([]uint64, len(kinds))
		values[len(kinds)-1-max(0, slices.Index(kinds, s.origins.list[stack[0]].event))] = uint64(count)
		sample := protobuf.AppendPacked(protobuf.AppendBytes(nil, 1, packed), 2, values...)
		if _, err := zip.Write(protobuf.AppendBytes(nil, profileSample, sample)); err != nil {
			return err
		}
	}
	for _, text := range p.texts.list {
		p.add(profileText, []byte(text))
	}
	for _, field := range p.fields {
		if _, err := zip.Write(field); err != nil {
			return err
		}
	}
	return zip.Close()
}

// mapProgram adds the mapping of the first stacks' program before all others: pprof takes the first one for the program's own. A process is
// called as its file, or as a link to that (python3, of python3.11).
func (p *profile) mapProgram(s *Stacks) {
	if len(s.origins.list) == 0 {
		return
	}
	program := s.origins.list[0].program
	for _, is := range []func(file, program string) bool{func(file, program string) bool { return file == program }, strings.HasPrefix} {
		for i := range s.parts {
			if m := s.parts[i].module; is(target.BaseName(m.name), program) {
				p.mapping(m)
				return
			}
		}
	}
}

// Fields of a Profile (proto/profile.proto of github.com/google/pprof).
const (
	profileSampleType = 1 + iota
	profileSample
	profileMapping
	profileLocation
	profileFunction
	profileText
	profileFields
)

// profile is a profile that is being made: its fields' values by the fields' numbers, but for samples, which are written as they come, and
// the numbers of those that others refer to, which begin at 1.
type profile struct {
	fields [profileFields][]byte
	count  [profileFields]uint64

	texts     texts
	functions map[stackFunction]uint64
	places    map[stackPlace]uint64
	modules   map[*stackModule]uint64
}

// stackFunction is a function of a file.
type stackFunction struct{ name, file string }

func (p *profile) add(field uint64, value []byte) {
	p.fields[field] = protobuf.AppendBytes(p.fields[field], field, value)
	p.count[field]++
}

// profileNumber is that of a value of a field; what comes first is made and added.
func profileNumber[V comparable](p *profile, known map[V]uint64, field uint64, value V, made func(number uint64) []byte) uint64 {
	n := known[value]
	if n == 0 {
		n = p.count[field] + 1
		known[value] = n
		p.add(field, made(n))
	}
	return n
}

// text is the number of a text. Those of texts begin at 0.
func (p *profile) text(s string) uint64 { return uint64(p.texts.number(s)) }

// locations are those of a frame, packed, innermost first.
func (p *profile) locations(parts []stackPlace) (packed []byte) {
	for _, at := range slices.Backward(parts) {
		packed = binary.AppendUvarint(packed, p.location(at))
	}
	return packed
}

func (p *profile) location(at stackPlace) uint64 {
	return profileNumber(p, p.places, profileLocation, at, func(n uint64) []byte {
		line := protobuf.Numbers(p.function(stackFunction{at.name, at.file}), uint64(max(0, at.line)))
		return protobuf.AppendBytes(protobuf.Numbers(n, p.mapping(at.module), at.address), 4, line)
	})
}

func (p *profile) function(of stackFunction) uint64 {
	return profileNumber(p, p.functions, profileFunction, of, func(n uint64) []byte {
		return protobuf.Numbers(n, p.text(of.name), p.text(of.name), p.text(typeset.Text(of.file)))
	})
}

// mapping is that of a module, 0 where a place lies in none. Its functions, files, lines and inlined functions are known.
func (p *profile) mapping(of *stackModule) uint64 {
	if of.hi == 0 {
		return 0
	}
	return profileNumber(p, p.modules, profileMapping, of, func(n uint64) []byte {
		return protobuf.Numbers(n, of.lo, of.hi, 0, p.text(typeset.Text(of.name)), p.text(of.buildID), 1, 1, 1, 1)
	})
}
