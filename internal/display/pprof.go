//go:build !small

package display

import (
	"bytes"
	"slices"

	"github.com/backsight/backsight/internal/typeset"
	pprof "github.com/google/pprof/profile"
)

// AppendPprof appends the stacks as a profile that pprof reads: one sample for each stack,
// with how many threads had it. It is compressed by gzip.
func (s *Stacks) AppendPprof(dst []byte) ([]byte, error) {
	p := profile{functions: map[stackFunction]*pprof.Function{}, modules: map[*stackModule]*pprof.Mapping{}, places: map[stackPlace]*pprof.Location{}}
	p.SampleType = []*pprof.ValueType{{Type: "threads", Unit: "count"}}
	for i := range s.list {
		st := &s.list[i]
		sample := &pprof.Sample{Value: []int64{int64(st.count)}}
		for _, n := range slices.Backward(s.framesOf(st)) { // innermost first
			f := &s.frames[n-1]
			for _, at := range slices.Backward(s.parts[f.first:f.end]) {
				sample.Location = append(sample.Location, p.location(at))
			}
		}
		p.Sample = append(p.Sample, sample)
	}
	out := bytes.NewBuffer(dst)
	err := p.Write(out)
	return out.Bytes(), err
}

// stackFunction is a function of a file.
type stackFunction struct{ name, file string }

// profile is a profile that is being made, with what it has of each kind.
type profile struct {
	pprof.Profile
	functions map[stackFunction]*pprof.Function
	modules   map[*stackModule]*pprof.Mapping
	places    map[stackPlace]*pprof.Location
}

// location is the profile's location of a place, made when the place comes first. Numbers of locations, functions and
// mappings begin at 1.
func (p *profile) location(at stackPlace) *pprof.Location {
	l := p.places[at]
	if l == nil {
		l = &pprof.Location{ID: uint64(len(p.Location) + 1), Mapping: p.mapping(at.module), Address: at.address,
			Line: []pprof.Line{{Function: p.function(stackFunction{at.name, at.file}), Line: int64(max(0, at.line))}}}
		p.places[at], p.Location = l, append(p.Location, l)
	}
	return l
}

func (p *profile) function(of stackFunction) *pprof.Function {
	f := p.functions[of]
	if f == nil {
		f = &pprof.Function{ID: uint64(len(p.Function) + 1), Name: of.name, SystemName: of.name, Filename: typeset.Text(of.file)}
		p.functions[of], p.Function = f, append(p.Function, f)
	}
	return f
}

// mapping is that of a module, nil where a place lies in none.
func (p *profile) mapping(of *stackModule) *pprof.Mapping {
	m := p.modules[of]
	if m == nil && of.hi != 0 {
		m = &pprof.Mapping{ID: uint64(len(p.Mapping) + 1), Start: of.lo, Limit: of.hi, File: typeset.Text(of.name), BuildID: of.buildID,
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
		p.modules[of], p.Mapping = m, append(p.Mapping, m)
	}
	return m
}
