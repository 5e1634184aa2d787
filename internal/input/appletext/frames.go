package appletext

import (
	"path"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/input/darwin"
	"github.com/backsight/backsight/target"
)

// frame reads a frame: its number, the binary, the address, and what the reporter knew:
// "symbol + 12 (file.m:3)", or "0x1000 + 12" where it knew none.
func (r *textReport) frame(line string) bool {
	m := frameLine.compiled().FindStringSubmatch(line)
	if m == nil {
		if line == "" {
			r.end()
		}
		return false
	}
	pc, _ := hexNumber(m[2])
	l := target.Listed{PC: pc, Module: m[1], Exact: len(r.frames.List) == 0 && r.out.Threads[r.at].ID >= 0}
	known, inlined := strings.CutSuffix(m[3], " [inlined]")
	known = placeIn(known, &l)
	if i := strings.LastIndex(known, " + "); i >= 0 && !strings.HasPrefix(known, "0x") {
		digits, _, _ := strings.Cut(known[i+3:], " ")
		if off, err := strconv.ParseUint(digits, 10, 64); err == nil {
			l.Symbol, l.Offset = known[:i], off
		}
	} else if inlined {
		l.Symbol = known
	}
	l.Outermost = darwin.Outermost(l.Symbol)
	if r.room.Frames.Draw(1) {
		r.frames.Add(l, inlined)
	}
	return true
}

// sourcePlace is the place in the source at the end of a line: (file.m:3).
var sourcePlace = pattern{expr: ` \(([^()]+):(\d+)\)$`}

// placeIn takes the place in the source off what a reporter knew.
func placeIn(known string, l *target.Listed) string {
	m := sourcePlace.compiled().FindStringSubmatchIndex(known)
	if m == nil {
		return known
	}
	l.File, l.Line = known[m[2]:m[3]], atoi(known[m[4]:m[5]])
	return known[:m[0]]
}

// addresses reads an exception's backtrace that was not symbolicated: (0x18a 0x18b …).
func (r *textReport) addresses(line string) {
	for f := range strings.FieldsSeq(strings.Trim(line, "()")) {
		if pc, ok := hexNumber(strings.TrimPrefix(f, "0x")); ok && r.room.Frames.Draw(1) {
			r.frames.Add(target.Listed{PC: pc}, false)
		}
	}
}

// image reads a line of "Binary Images:": 0xfrom - 0xto +name arch (version) <UUID> path. Before
// iOS the name is a bundle's identifier, without an architecture.
func (r *textReport) image(line string) {
	m := imageLine.compiled().FindStringSubmatch(line)
	if m == nil {
		return
	}
	lo, _ := hexNumber(m[1])
	hi, ok := hexNumber(m[2])
	if !ok {
		hi = lo + farEnd
	}
	b := darwin.Binary{Name: m[3], Base: lo, Size: hi - lo + 1}
	if before, rest, ok := strings.Cut(m[3], "<"); ok {
		id, file, _ := strings.Cut(rest, ">")
		b.UUID = uuid(id)
		if b.Name = strings.TrimSpace(file); b.Name == "" {
			b.Name = strings.TrimSpace(before)
		}
	}
	b.Name = path.Clean(b.Name)
	if hi > lo && r.room.Binaries.Draw(1) {
		r.out.Binaries = append(r.out.Binaries, b)
	}
}
