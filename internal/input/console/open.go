package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/backsight/backsight/input"
)

// open reads the first reports of a log. take, unless nil, takes the log's lines out of records.
func open(ctx context.Context, c *input.Capture, env *input.Env, take func([]byte) messages, readers []Reader) (input.Stream, error) {
	from, broken := linesOf(ctx, c, take)
	if from == nil {
		return nil, broken
	}
	s := &stream{capture: c, portions: newPortions(from, env, readers), broken: broken}
	if len(env.RAM) > 0 {
		ram, err := env.OpenRAM(ctx)
		if err != nil {
			return nil, err
		}
		s.ram = ram
	}
	if err := s.gather(ctx); err != nil {
		return nil, errors.Join(&input.Error{Path: c.Name, Offset: -1, Reason: "not read", Err: err}, s.Close())
	}
	if len(s.snaps) == 0 {
		return s.memoryAlone(ctx)
	}
	return s, nil
}

// linesOf reads the lines of a capture. What is no plain text is read as a whole, and so are several files. from is nil where nothing
// can be read, as broken says, or where that is why the lines end early.
func linesOf(ctx context.Context, c *input.Capture, take func([]byte) messages) (from io.Reader, broken error) {
	first, _, _ := bytes.Cut(c.Head, []byte("\n"))
	if _, piece := pieceOf(first); take == nil && !piece && len(c.Others) == 0 && orderOf(c.Head[:min(len(c.Head), maxOrder)]) == nil && c.ReaderAt() == nil {
		return c.Stream(), nil
	}
	data, broken := together(ctx, c)
	if len(data) == 0 && broken != nil {
		return nil, broken
	}
	data = decoded(ctx, data)
	if take != nil {
		data = take(data).inOrder(ctx)
		c.Forget()
	}
	return bytes.NewReader(rejoined(data)), broken
}

// family is of which machines a log is, as far as was read.
type family struct {
	owned int    // how many of the readers may know further reports, 0: all
	name  string // of the reader that knew the first report; "": none was read
}

// readers are those that may know further reports.
func (f family) readers(all []Reader) []Reader {
	if f.owned > 0 {
		all = all[:f.owned]
	}
	if f.name == "" {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(r Reader) bool { return !r.Beside && r.Name != f.name })
}

// eachReport visits the reports of a log, with the line behind each. The machine behind a console is of one family: who
// knows the first report, of a processor that is known, reads all others. What a reader of other machines' reports finds
// behind the oops of a kernel, as the registers of the program that ran, is no report. of is the family of the log before.
func eachReport(ctx context.Context, log *Log, env *input.Env, all []Reader, of family, visit func(r *Report, next int) (more bool)) (family, error) {
	scan(log, env, all)
	if i := slices.IndexFunc(all, func(r Reader) bool { return r.Owns != nil && r.Owns(log) }); i >= 0 && of.owned == 0 {
		of = family{owned: i + 1}
	}
	readers := of.readers(all)
	for at := 0; at < log.Len(); {
		if err := ctx.Err(); err != nil {
			return of, err
		}
		if next := nextOf(log, readers, log.BehindFragments(log.BehindBlank(at))); next > at { // begins no report
			at = next
			continue
		}
		next := at + 1
		for _, reader := range readers {
			r, behind := reader.Read(ctx, log, at, env)
			if r == nil && behind > at+1 {
				next = behind
				break
			}
			if r == nil {
				continue
			}
			if r.Line, next = at, max(behind, at+1); r.Arch != nil && !reader.Beside {
				of.name = reader.Name
				readers = of.readers(all)
			}
			if !visit(r, next) {
				return of, nil
			}
			break
		}
		at = next
	}
	return of, ctx.Err()
}

// nextOf is the first line from at on at which one of readers may find a report.
func nextOf(log *Log, readers []Reader, at int) int {
	next := log.Telling(at)
	for i := range readers {
		if readers[i].Next != nil && next > at {
			next = readers[i].Next(log, at, next)
		}
	}
	return next
}
