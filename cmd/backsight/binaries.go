//go:build !small

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/code/matching"
	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// builds are two builds of a program that diff compares, and the places of the old one that are asked for.
type builds struct {
	paths  [2]string
	images [2]*image.Image
	match  *matching.Match
	names  symbol.Symbolizer
}

// binaries writes which functions of two builds are the same, or where places of the old build are in the new one.
func (o *diffOptions) binaries(ctx context.Context, paths []string, stdout io.Writer, p *progress) error {
	if o.format != "text" {
		return fmt.Errorf("--binaries is written as text, not as %s", o.format)
	}
	files, err := o.bt.files.open(ctx, p.warn)
	if err != nil {
		return err
	}
	defer files.Close()
	b := builds{paths: [2]string(paths)}
	if err := b.open(files); err != nil {
		return err
	}
	stop := p.while("matching " + displayName(paths[0]))
	b.match, err = study.MatchBuilds(ctx, b.images[0], b.images[1])
	stop()
	if err != nil {
		return &failure{exitNone, fileError(paths[0], err)}
	}
	places, err := o.places(ctx, &b, p)
	if err != nil {
		return err
	}
	var out []byte
	fault := mapped.Guard(func() {
		if places == nil {
			out = b.appendFunctions(nil)
		}
		for _, at := range places {
			out = b.appendPlace(out, at)
		}
	})
	if fault != nil {
		return &failure{exitNone, fileError(paths[0], fault)}
	}
	if _, err := stdout.Write(out); err != nil {
		return outputFailed(err)
	}
	return nil
}

// places are those of the old build that are asked for, offsets in it: those of --at, and of --report the frames that lie in the
// old build. nil where neither is given.
func (o *diffOptions) places(ctx context.Context, b *builds, p *progress) (list []string, err error) {
	for _, at := range o.at {
		if _, err := strconv.ParseUint(at, 0, 64); err != nil {
			return nil, fmt.Errorf("--at %q is no number", at)
		}
	}
	list = o.at
	if o.report == "" {
		return list, nil
	}
	r := rereader{opt: &o.bt, progress: p}
	reports, err := r.all(ctx, o.report)
	if err != nil {
		return nil, err
	}
	return append(append([]string{}, list...), b.inReports(reports)...), nil
}

// inReports are the offsets of the frames of reports that lie in the old build, each once.
func (b *builds) inReports(reports []jsonreport.Report) (list []string) {
	known := map[string]bool{}
	for i := range reports {
		for _, offset := range b.inOld(&reports[i]) {
			if !known[offset] {
				known[offset] = true
				list = append(list, offset)
			}
		}
	}
	return list
}

func (b *builds) open(files *input.Files) (err error) {
	for i, path := range b.paths {
		if b.images[i], err = files.Open(path); err != nil {
			return &failure{exitNone, fileError(path, err)}
		}
		if err := analysed(path, b.images[i]); err != nil {
			return err
		}
	}
	return nil
}

// maxPlaces bounds the places of one report.
const maxPlaces = 1 << 12

// inOld are the offsets of a report's frames that lie in the old build: by its build ID, else by its name.
func (b *builds) inOld(r *jsonreport.Report) (list []string) {
	id := fmt.Sprintf("%x", b.images[0].BuildID)
	name := target.BaseName(b.paths[0])
	for _, m := range r.Modules {
		if id != "" && m.ID == id {
			name = m.Name
		}
	}
	for i := range r.Threads {
		for k := range r.Threads[i].Frames {
			f := &r.Threads[i].Frames[k]
			if f.Module == name && f.ModuleOffset != "" && len(list) < maxPlaces {
				list = append(list, f.ModuleOffset)
			}
		}
	}
	return list
}

// appendPlace appends where a place of the old build is in the new one, a line.
func (b *builds) appendPlace(dst []byte, offset string) []byte {
	n, err := strconv.ParseUint(offset, 0, 64)
	if err != nil {
		return fmt.Appendf(dst, "%s  no number\n", typeset.Text(offset))
	}
	lo, _ := b.images[0].Segments.Bounds()
	newLo, _ := b.images[1].Segments.Bounds()
	f, ok := b.match.Find(lo + n)
	dst = fmt.Appendf(dst, "%#x  ", n)
	if !ok {
		return append(dst, "in no function that is known of the old build\n"...)
	}
	dst = fmt.Appendf(dst, "%s+%#x  →  ", b.called(0, f.Old), lo+n-f.Old.Entry)
	switch {
	case f.New == nil:
		return append(dst, "not matched\n"...)
	case !f.HasPC:
		return fmt.Appendf(dst, "%s, where in it is not known (by %s)\n", b.called(1, f.New), f.By)
	}
	about := ""
	if !f.Same {
		about = "about "
	}
	dst = fmt.Appendf(dst, "%s%#x  %s+%#x", about, f.PC-newLo, b.called(1, f.New), f.PC-f.New.Entry)
	if l := b.names.Lookup(target.NewModule(b.paths[1], b.images[1], 0), f.PC-1); l.File != "" {
		dst = fmt.Appendf(dst, "  %s:%d", typeset.Text(l.File), l.Line)
	}
	return fmt.Appendf(dst, "  (by %s)\n", f.By)
}

// called is what a function of a build is called: its name, else the offset at which it begins.
func (b *builds) called(build int, f *matching.Function) string {
	lo, _ := b.images[build].Segments.Bounds()
	return cmp.Or(typeset.Text(f.Name), fmt.Sprintf("%#x", f.Entry-lo))
}

// appendFunctions appends the functions of both builds, a line each, and counts them.
func (b *builds) appendFunctions(dst []byte) []byte {
	counts := map[matching.How]int{}
	oldOnly, newOnly := 0, 0
	for _, pair := range b.match.Pairs() {
		switch {
		case pair.New == nil:
			oldOnly++
			dst = fmt.Appendf(dst, "- %s\n", b.whole(0, pair.Old))
		case pair.Old == nil:
			newOnly++
			dst = fmt.Appendf(dst, "+ %s\n", b.whole(1, pair.New))
		default:
			counts[pair.By]++
			dst = fmt.Appendf(dst, "  %s  →  %s  (by %s)\n", b.whole(0, pair.Old), b.whole(1, pair.New), pair.By)
		}
	}
	for i, build := range []*matching.Build{b.match.Old, b.match.New} {
		dst = fmt.Appendf(dst, "%s: %d functions", typeset.Text(b.paths[i]), len(build.Functions))
		if build.Left > 0 {
			dst = fmt.Appendf(dst, ", and %d places that were not looked at, for that would have cost too much", build.Left)
		}
		dst = append(dst, '\n')
	}
	dst = append(dst, "matched:"...)
	for _, how := range []matching.How{matching.ByBuild, matching.ByName, matching.ByCode, matching.ByTexts, matching.ByCalls, matching.ByOrder} {
		if counts[how] > 0 {
			dst = fmt.Appendf(dst, " %d by %s,", counts[how], how)
		}
	}
	return fmt.Appendf(dst, " %d only in the old build, %d only in the new\n", oldOnly, newOnly)
}

// whole is a function's offset, and its name if it has one.
func (b *builds) whole(build int, f *matching.Function) string {
	lo, _ := b.images[build].Segments.Bounds()
	s := fmt.Sprintf("%#x", f.Entry-lo)
	if f.Name != "" {
		s += " " + typeset.Text(f.Name)
	}
	return s
}
