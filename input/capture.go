package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/backsight/backsight/internal/mapped"
)

// Capture is a capture's bytes, decompressed. For a regular file Data holds all bytes. For a
// source that can be read only once (standard input, a reader, a compressed file) Data is nil,
// and a format calls either Stream, Bytes or Pages, once. Data is nil as well for a file that is not mapped, of which Pages
// reads parts.
type Capture struct {
	Name string // for messages: the path, or what the caller of OpenReader said
	// Dir is the directory of the capture's file, which may name other files beside itself; ""
	// where the capture is no file.
	Dir  string
	Head []byte // the first bytes, at most 4096
	Data []byte
	// Others are the other files of a capture of several files (Format.Set), in the order in which the
	// user named them.
	Others []*Capture

	ctx      context.Context // ends reading: Open's, then that of each Next; nil: nothing does
	mapped   []byte          // what is mapped of a file: Data
	reader   io.Reader
	packed   *counted    // what reader decompresses, nil where it does not
	file     *onDemand   // where Data is mapped from
	parts    inParts     // of a file that is not mapped
	maxSpill int64       // bounds the temporary file
	broken   *Error      // where reading broke off; nil: nowhere, or nothing was read
	until    func() bool // the stop of mapped.Until, nil where nothing ends the reading of mapped
	release  []func() error
}

// NewCapture is a Capture of bytes that are in memory.
func NewCapture(name string, data []byte) *Capture {
	return &Capture{Name: name, Head: bytes.Clone(data[:min(len(data), headSize)]), Data: data}
}

// headSize is how much of a capture formats see to recognise it.
const headSize = 4096

// Stream reads the capture from its beginning. A regular file is read, not looked at through its
// mapping: every page of a mapping that was looked at counts as this process's memory.
func (c *Capture) Stream() io.Reader {
	switch {
	case c.Data == nil && c.reader != nil:
		return &untilDone{c, c.reader}
	case c.file != nil:
		return &untilDone{c, c.file}
	case c.parts.file != nil && c.parts.size != unbounded:
		return &untilDone{c, c.section()}
	}
	return bytes.NewReader(c.Data)
}

// inParts is a file whose parts are read; the zero value is none.
type inParts struct {
	file io.ReaderAt
	size uint64
}

// unbounded is the size of /proc/kcore, which claims the address space.
const unbounded = ^uint64(0)

// ReaderAt reads parts of a file that cannot be mapped: /proc/kcore, whose size is that of the
// address space. It is nil for all other captures; these have Bytes and Pages.
func (c *Capture) ReaderAt() io.ReaderAt {
	if c.parts.size != unbounded {
		return nil
	}
	return c.parts.file
}

// section reads the file that is not mapped from its beginning.
func (c *Capture) section() *io.SectionReader {
	return io.NewSectionReader(c.parts.file, 0, int64(c.parts.size))
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

// Bytes returns the whole capture. A capture that can be read only once is written to a
// temporary file, which is mapped: it takes disk, not memory. Where reading breaks off, the bytes
// read so far are returned together with an error. Once ctx has ended there are no bytes, and the
// error wraps that of ctx. Errors are *Error.
func (c *Capture) Bytes(ctx context.Context) ([]byte, error) {
	data, err := c.stored()
	if ended := ctx.Err(); ended != nil {
		return nil, &Error{Path: c.Name, Offset: -1, Reason: "not read", Err: ended}
	}
	c.give(ctx)
	return data, err
}

// stored is Bytes, but where the context ends it returns the bytes read so far.
func (c *Capture) stored() ([]byte, error) {
	err := c.store()
	if c.parts.file == nil {
		return c.Data, err
	}
	if c.ReaderAt() != nil {
		return nil, &Error{Path: c.Name, Offset: -1, Reason: "cannot be mapped"}
	}
	if c.parts.size > maxWhole {
		return nil, &Error{Path: c.Name, Offset: -1, Reason: "cannot be mapped, and is too large to be read as a whole"}
	}
	data := make([]byte, c.parts.size)
	n, failed := io.ReadFull(c.section(), data)
	if failed != nil {
		return nil, &Error{Path: c.Name, Offset: int64(n), Reason: "cannot be read", Err: failed}
	}
	c.Data, c.parts = data, inParts{}
	return data, err
}

// maxWhole bounds a file that is read as a whole.
const maxWhole = 1 << 30

// store keeps what can be read once only in a temporary file: in Data or, where files are not mapped, in parts.
func (c *Capture) store() error {
	if c.parts.file != nil || c.Data != nil || c.reader == nil {
		return nil
	}
	stored := newAllowance("decompressed bytes to store", storedFloor, storedPerByte, c.packed)
	f, broken := spill(&untilDone{c, c.reader}, c.maxSpill, stored)
	if f == nil {
		return &Error{Path: c.Name, Offset: -1, Reason: "cannot be kept in a temporary file", Err: broken}
	}
	c.release = append(c.release, func() error { return removeSpill(f) })
	if err := c.keep(f); err != nil {
		return &Error{Path: c.Name, Offset: -1, Reason: "cannot be mapped", Err: err}
	}
	if broken != nil {
		c.broken = &Error{Path: c.Name, Offset: int64(max(c.parts.size, uint64(len(c.Data)))), Reason: "ends here", Err: broken}
		return c.broken
	}
	return nil
}

// keep makes a temporary file the capture's bytes.
func (c *Capture) keep(f *os.File) error {
	if !mapped.Maps {
		return c.setParts(f)
	}
	data, release, err := mapped.Whole(f)
	if err != nil {
		return err
	}
	c.release = append(c.release, release)
	c.Data, c.mapped = data, data
	return nil
}

// explain adds to a format's error that the capture is cut short: what the format looked for may
// have stood in the rest.
func (c *Capture) explain(err error) error {
	if c.broken == nil || errors.Is(err, c.broken) {
		return err
	}
	return fmt.Errorf("%w; the capture ends at %#x: %w", err, c.broken.Offset, c.broken.Err)
}

// untilDone reads until a capture's context ends.
type untilDone struct {
	c *Capture
	r io.Reader
}

func (u *untilDone) Read(p []byte) (int, error) {
	if ctx := u.c.ctx; ctx != nil && ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return u.r.Read(p)
}

// Forget gives back the memory of the pages of a mapped capture that were read so far. Linux maps
// 64 kB for each ELF header and build ID that is read, and a core may have a hundred modules. A small capture's pages stay: all
// processors have to be told what is given back.
func (c *Capture) Forget() {
	if len(c.mapped) >= leastForgotten {
		mapped.Forget(c.mapped)
	}
	for _, o := range c.Others {
		o.Forget()
	}
}

// leastForgotten is the size of a capture from which on its pages are given back.
const leastForgotten = 1 << 20

// Close releases what the Capture holds: mappings and temporary files.
func (c *Capture) Close() error {
	if c.until != nil {
		c.until()
	}
	var errs []error
	for i := len(c.release) - 1; i >= 0; i-- {
		errs = append(errs, c.release[i]())
	}
	c.release = nil
	return errors.Join(errs...)
}
