package input

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/backsight/backsight/internal/mapped"
)

// Open opens a capture and recognises its format by content. "-" is standard
// input. gzip and zstd are seen through. Errors are *Error.
func Open(ctx context.Context, path string, formats []Format, env *Env) (Stream, error) {
	src, err := newSource(path)
	if err != nil {
		return nil, err
	}
	s, err := dispatch(ctx, src, formats, env)
	if err != nil {
		src.Close()
		return nil, err
	}
	return &openStream{Stream: s, src: src}, nil
}

// dispatch lets the first format that recognises the capture open it.
func dispatch(ctx context.Context, src *Source, formats []Format, env *Env) (Stream, error) {
	if len(src.Head) == 0 {
		return nil, &Error{Path: src.Name, Offset: 0, Reason: "empty file"}
	}
	for i := range formats {
		if formats[i].Sniff(src.Head) {
			return formats[i].Open(ctx, src, env)
		}
	}
	return nil, &Error{Path: src.Name, Offset: 0, Reason: "unrecognised input", Err: ErrUnrecognised}
}

// openStream closes the capture together with the format's reader.
type openStream struct {
	Stream
	src *Source
}

func (s *openStream) Close() error {
	return errors.Join(s.Stream.Close(), s.src.Close())
}

// newSource maps the file or begins to read standard input.
func newSource(path string) (*Source, error) {
	if path == "-" {
		return newStream("-", os.Stdin)
	}
	data, release, err := mapped.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	src := NewSource(path, data)
	src.file = &onDemand{path: path}
	src.release = append(src.release, release, src.file.close)
	if err := src.decompress(src.file); err != nil {
		src.Close()
		return nil, err
	}
	return src, nil
}

// openError says what is wrong with a path in one line.
func openError(path string, err error) error {
	reason := "cannot be opened"
	if errors.Is(err, mapped.ErrNotRegular) {
		reason = "cannot be used as a capture (to read a pipe, redirect it and name it -)"
	}
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err // the path is named already
	}
	return &Error{Path: path, Offset: -1, Reason: reason, Err: err}
}

// newStream makes a Source of something that can be read once only.
func newStream(name string, r io.Reader) (*Source, error) {
	b := bufio.NewReaderSize(r, 16*headSize)
	head, err := b.Peek(headSize)
	if err != nil && err != io.EOF {
		return nil, &Error{Path: name, Offset: int64(len(head)), Reason: "cannot be read", Err: err}
	}
	src := &Source{Name: name, Head: bytes.Clone(head), reader: b}
	return src, src.decompress(b)
}

// decompress replaces the bytes of a compressed capture by its content's.
func (s *Source) decompress(r io.Reader) error {
	z, release, err := decompressor(s.Head, r)
	if err == nil && z == nil {
		return nil
	}
	if err != nil {
		return &Error{Path: s.Name, Offset: 0, Reason: "damaged compression", Err: err}
	}
	s.release = append(s.release, release)
	b := bufio.NewReaderSize(z, 16*headSize)
	head, err := b.Peek(headSize)
	if len(head) == 0 && err != io.EOF {
		return &Error{Path: s.Name, Offset: 0, Reason: "damaged compression", Err: err}
	}
	s.Head, s.Data, s.reader = bytes.Clone(head), nil, b
	return nil
}
