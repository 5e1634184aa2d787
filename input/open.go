package input

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/target"
)

// Open opens a capture and recognises its format by content. "-" is standard
// input. gzip and zstd are seen through. ctx ends the opening, and not what the Stream
// does later. Errors are *Error.
func (env *Env) Open(ctx context.Context, path string) (Stream, error) {
	if path == "-" {
		return env.OpenReader(ctx, "standard input", os.Stdin)
	}
	c, err := openFile(ctx, path, env)
	if err != nil {
		if files := inDirectory(env.Files.Disk(), path); files != nil {
			return env.OpenSet(ctx, files)
		}
		return nil, err
	}
	return c.open(ctx, env)
}

// OpenReader is Open for bytes that can be read once only, such as an upload. name is
// for messages. What a format needs as a whole is kept in a temporary file of
// env.MaxSpill bytes at most, which the Stream's Close removes. r is read until then,
// by nobody else, and not closed.
func (env *Env) OpenReader(ctx context.Context, name string, r io.Reader) (Stream, error) {
	c, err := env.once(ctx, name, r)
	if err != nil {
		return nil, err
	}
	return c.open(ctx, env)
}

// once is a capture of bytes that are read once. What release has is released with it.
func (env *Env) once(ctx context.Context, name string, r io.Reader, release ...func() error) (*Capture, error) {
	b := bufio.NewReaderSize(r, 16*headSize)
	head, err := b.Peek(headSize)
	c := &Capture{Name: name, Head: bytes.Clone(head), ctx: ctx, reader: b, maxSpill: env.MaxSpill, release: release}
	if err != nil && err != io.EOF {
		return nil, errors.Join(&Error{Path: name, Offset: int64(len(head)), Reason: "cannot be read", Err: err}, c.Close())
	}
	if err := c.decompress(b); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// open lets the first format that recognises the capture open it. The capture is closed by the
// Stream, or at once where opening fails.
func (c *Capture) open(ctx context.Context, env *Env) (Stream, error) {
	c.ctx = ctx
	f, err := c.format(env)
	if err != nil {
		c.Close()
		return nil, c.explain(err)
	}
	s, err := c.openAs(ctx, f, env)
	if err != nil {
		c.Close()
		return nil, c.explain(err)
	}
	return &openStream{Stream: s, capture: c, files: env.Files, format: f.Name}, nil
}

// format is the first that recognises the capture.
func (c *Capture) format(env *Env) (*Format, error) {
	if len(c.Head) == 0 {
		return nil, &Error{Path: c.Name, Offset: 0, Reason: "empty file"}
	}
	for i := range env.Formats {
		if sniff := env.Formats[i].Sniff; sniff != nil && sniff(c.Head) {
			return &env.Formats[i], nil
		}
	}
	return nil, c.Unrecognised(ErrUnrecognised.Error())
}

// FormatOf is the name of the Format by which Open and its like read a Stream, "" for a Stream of another kind.
func FormatOf(s Stream) string {
	if o, ok := s.(*openStream); ok {
		return o.format
	}
	return ""
}

// Unrecognised is the error for a capture that no format knows. Of kinds of files that people
// give by mistake the error says what the file is; of all others it says what.
func (c *Capture) Unrecognised(what string) error {
	if known := whatIs(c.Head); known != "" {
		what = known
	}
	return &Error{Path: c.Name, Offset: 0, Err: unrecognised(what)}
}

// unrecognised is an ErrUnrecognised that says what the file is.
type unrecognised string

func (u unrecognised) Error() string        { return string(u) }
func (u unrecognised) Is(target error) bool { return target == ErrUnrecognised }

// openAs opens the capture in a format. A file that is cut short meanwhile is an error.
func (c *Capture) openAs(ctx context.Context, f *Format, env *Env) (s Stream, err error) {
	s, err = guarded(ctx, c.Name, env.Files, func(ctx context.Context) (Stream, error) { return f.Open(ctx, c, env) })
	if err == nil {
		c.Forget() // a walk looks at stacks, which no format reads
	}
	return s, err
}

// openStream closes the capture together with the format's reader.
type openStream struct {
	Stream
	capture *Capture
	files   *Files
	format  string // its name
}

// Next reads the next snapshot. A file that is cut short meanwhile is an error.
func (s *openStream) Next(ctx context.Context) (snap *target.Snapshot, err error) {
	release, err := s.files.hold(s.capture.Name)
	if err != nil {
		return nil, err
	}
	defer release()
	s.capture.ctx = ctx
	if fault := mapped.Guard(func() { snap, err = s.Stream.Next(ctx) }); fault != nil {
		return nil, unreadable(s.capture.Name, fault)
	}
	if snap != nil && s.capture.mapped != nil {
		snap.Forget = s.capture.Forget
	}
	return snap, err
}

func (s *openStream) Close() error {
	return errors.Join(s.Stream.Close(), s.capture.Close())
}

// openFile maps a regular file.
func openFile(ctx context.Context, path string, env *Env) (c *Capture, err error) {
	disk := env.Files.Disk()
	if disk.FS != nil || !mapped.Maps {
		return openInParts(ctx, disk, path, env)
	}
	data, release, err := mapped.Open(path)
	if errors.Is(err, mapped.ErrNoMapping) {
		return openUnmapped(path)
	}
	if err != nil {
		return nil, openError(disk, path, err)
	}
	if len(data) == 0 { // of /proc and tracefs, which tell no size
		f, err := os.Open(path)
		if err != nil {
			return nil, openError(disk, path, err)
		}
		return env.once(ctx, path, f, f.Close)
	}
	if fault := mapped.Guard(func() { c = NewCapture(path, data) }); fault != nil {
		return nil, errors.Join(unreadable(path, fault), release())
	}
	c.mapped, c.ctx = data, ctx
	c.Dir, c.file, c.maxSpill = filepath.Dir(path), &onDemand{path: path}, env.MaxSpill
	c.release = append(c.release, release, c.file.close)
	if err := c.decompress(c.file); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// openUnmapped opens a file that cannot be mapped.
func openUnmapped(path string) (*Capture, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, openError(mapped.Disk{}, path, err)
	}
	head := make([]byte, headSize)
	n, err := f.ReadAt(head, 0)
	if n == 0 && err != io.EOF {
		return nil, errors.Join(openError(mapped.Disk{}, path, err), f.Close())
	}
	return &Capture{Name: path, Head: head[:n], parts: inParts{f, unbounded}, release: []func() error{f.Close}}, nil
}

// openInParts opens a regular file that is not mapped, parts of which can be read.
func openInParts(ctx context.Context, disk mapped.Disk, path string, env *Env) (*Capture, error) {
	if st, err := disk.Stat(path); err != nil || !st.Mode().IsRegular() {
		return nil, openError(disk, path, cmp.Or(err, mapped.ErrNotRegular))
	}
	f, err := disk.Open(path)
	if err != nil {
		return nil, openError(disk, path, err)
	}
	c := &Capture{Name: path, Dir: filepath.Dir(path), ctx: ctx, maxSpill: env.MaxSpill, release: []func() error{f.Close}}
	if err := c.setParts(f); err != nil {
		return nil, errors.Join(&Error{Path: path, Offset: -1, Reason: "cannot be read", Err: err}, c.Close())
	}
	if err := c.decompress(c.section()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// setParts has parts of the capture be read from an open file.
func (c *Capture) setParts(f mapped.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, min(headSize, max(st.Size(), 0)))
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	c.Head, c.parts = head[:n], inParts{f, uint64(st.Size())}
	return nil
}

// openError says what is wrong with a path in one line.
func openError(disk mapped.Disk, path string, err error) error {
	reason := "cannot be opened"
	if st, e := disk.Stat(path); e == nil && st.IsDir() {
		return &Error{Path: path, Offset: -1, Reason: "a directory, no capture: name the files in it"}
	}
	if errors.Is(err, mapped.ErrNotRegular) {
		reason = "cannot be used as a capture (to read a pipe, redirect it and name it -)"
	}
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err // the path is named already
	}
	return &Error{Path: path, Offset: -1, Reason: reason, Err: err}
}

// decompress replaces the bytes of a compressed capture by its content's.
func (c *Capture) decompress(r io.Reader) error {
	packed := &counted{r: &untilDone{c, r}}
	z, release, err := decompressor(c.Head, packed)
	if err == nil && z == nil {
		return nil
	}
	if err != nil {
		return &Error{Path: c.Name, Offset: 0, Reason: "damaged compression", Err: err}
	}
	c.release = append(c.release, release)
	c.packed = packed
	bounded := &unpacked{z, newAllowance("decompressed bytes", unpackedFloor, unpackedPerByte, packed)}
	b := bufio.NewReaderSize(bounded, 16*headSize)
	head, err := b.Peek(headSize)
	if len(head) == 0 && err != io.EOF {
		return &Error{Path: c.Name, Offset: 0, Reason: "damaged compression", Err: err}
	}
	c.Head, c.Data, c.parts, c.reader = bytes.Clone(head), nil, inParts{}, b
	return nil
}
