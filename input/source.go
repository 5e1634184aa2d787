package input

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/backsight/backsight/internal/mapped"
)

// Source is a capture's bytes, decompressed. Data holds all of it for regular
// files; for streams (standard input, compressed files) Data is nil and the bytes
// come through Stream or Bytes, of which a format uses one, once.
type Source struct {
	Name string // for messages: the path, or "-"
	Head []byte // the first bytes, at most 4096
	Data []byte

	reader  io.Reader
	file    *onDemand // where Data is mapped from
	release []func() error
}

// NewSource is a Source over bytes that are in memory.
func NewSource(name string, data []byte) *Source {
	return &Source{Name: name, Head: data[:min(len(data), headSize)], Data: data}
}

// NewStreamSource is a Source over bytes that can be read once only. Head stays
// empty.
func NewStreamSource(name string, r io.Reader) *Source { return &Source{Name: name, reader: r} }

// headSize is how much of a capture formats see to recognise it.
const headSize = 4096

// Stream reads the capture from its beginning. It does not go through a mapping:
// every page that was looked at would count as this process's memory.
func (s *Source) Stream() io.Reader {
	switch {
	case s.Data == nil && s.reader != nil:
		return s.reader
	case s.file != nil:
		return s.file
	}
	return bytes.NewReader(s.Data)
}

// onDemand is a file that is opened when it is read.
type onDemand struct {
	path string
	file *os.File
}

func (f *onDemand) Read(p []byte) (n int, err error) {
	if f.file == nil {
		if f.file, err = os.Open(f.path); err != nil {
			return 0, err
		}
	}
	return f.file.Read(p)
}

func (f *onDemand) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// Bytes returns the whole capture. What comes from a stream is spilled to a
// temporary file and mapped, so that it takes disk, not memory. Where the stream
// breaks, what came before it is returned together with an error.
func (s *Source) Bytes() ([]byte, error) {
	if s.Data != nil || s.reader == nil {
		return s.Data, nil
	}
	f, broken := spill(s.reader)
	if f == nil {
		return nil, &Error{Path: s.Name, Offset: -1, Reason: "cannot be kept in a temporary file", Err: broken}
	}
	s.release = append(s.release, func() error { return removeSpill(f) })
	data, release, err := mapped.File(f)
	if err != nil {
		return nil, &Error{Path: s.Name, Offset: -1, Reason: "cannot be mapped", Err: err}
	}
	s.release = append(s.release, release)
	s.Data = data
	if broken != nil {
		broken = &Error{Path: s.Name, Offset: int64(len(data)), Reason: "ends here", Err: broken}
	}
	return data, broken
}

// Close releases what the Source holds: mappings and temporary files.
func (s *Source) Close() error {
	var errs []error
	for i := len(s.release) - 1; i >= 0; i-- {
		errs = append(errs, s.release[i]())
	}
	s.release = nil
	return errors.Join(errs...)
}
