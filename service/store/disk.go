package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// SegmentSize is how large a segment gets before the next one begins.
const SegmentSize = 256 << 20

// Options are a Disk's.
type Options struct {
	Key         []byte // 32 bytes that encrypt what is kept; nil: it is kept as it is
	Reserve     int64  // bytes of the file system that stay free
	SegmentSize int64  // 0: SegmentSize
}

// Disk is a Store of segments in a folder: records one behind the other, each a header and a body. A group of them is synchronised
// at once.
type Disk struct {
	dir  string
	opt  Options
	mu   sync.Mutex // of what is below: one writes
	open *os.File   // nil: the next Append begins a segment
	last uint64     // the number of the last segment
	end  int64      // of the records in open
}

// OpenDisk opens or makes a store. What a crash left behind the last whole record of the last segment is cut off.
func OpenDisk(dir string, opt Options) (*Disk, error) {
	if opt.SegmentSize == 0 {
		opt.SegmentSize = SegmentSize
	}
	if opt.Key != nil && len(opt.Key) != keySize {
		return nil, fmt.Errorf("the key has %d bytes, not %d", len(opt.Key), keySize)
	}
	if err := MakeDir(dir, dir); err != nil {
		return nil, err
	}
	d := &Disk{dir: dir, opt: opt}
	segments, err := d.segments()
	if err != nil || len(segments) == 0 {
		return d, err
	}
	d.last = segments[len(segments)-1]
	return d, d.sweep()
}

const pattern = "segment-%012d"

func (d *Disk) path(segment uint64) string {
	return filepath.Join(d.dir, fmt.Sprintf(pattern, segment))
}

// segments are the numbers of those that there are, in order.
func (d *Disk) segments() (list []uint64, err error) {
	entries, err := os.ReadDir(d.dir)
	for _, e := range entries {
		var n uint64
		if _, err := fmt.Sscanf(e.Name(), pattern, &n); err == nil && e.Name() == fmt.Sprintf(pattern, n) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, err
}

// sweep opens the last segment to go on behind its last whole record.
func (d *Disk) sweep() error {
	f, err := os.OpenFile(d.path(d.last), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	for d.end < st.Size() {
		h, err := readHeader(f, d.end)
		if err != nil || h.length > st.Size()-d.end-headerSize {
			break
		}
		d.end += headerSize + h.length
	}
	d.open = f
	if d.end < st.Size() {
		return errors.Join(f.Truncate(d.end), f.Sync())
	}
	return nil
}

// Append implements Store.
func (d *Disk) Append(ctx context.Context, bodies []Body) (refs []Ref, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var need int64
	for i := range bodies {
		need += headerSize + bodies[i].Size
	}
	if err := d.room(need); err != nil {
		return nil, err
	}
	if err := d.begin(); err != nil {
		return nil, full(err)
	}
	end := d.end
	for i := range bodies {
		ref, err := d.record(ctx, &bodies[i])
		if err != nil {
			return nil, d.undo(end, err)
		}
		refs = append(refs, ref)
	}
	if err := d.open.Sync(); err != nil {
		return nil, d.undo(end, err)
	}
	return refs, nil
}

// room refuses what would take the last of the disk, which the database needs to say what became of captures.
func (d *Disk) room(need int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(d.dir, &st); err != nil {
		return err
	}
	if free := int64(st.Bavail) * int64(st.Bsize); free < need+d.opt.Reserve {
		return fmt.Errorf("%w: %d bytes are free, %d of them reserved", ErrFull, free, d.opt.Reserve)
	}
	return nil
}

// Room is ErrFull where nothing more would be taken.
func (d *Disk) Room() error { return d.room(0) }

// full says of an error that it is ErrFull where it is.
func full(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// begin makes the next segment, where the last one is full. Its name is on the disk when begin returns.
func (d *Disk) begin() error {
	if d.open != nil && d.end < d.opt.SegmentSize {
		return nil
	}
	f, err := os.OpenFile(d.path(d.last+1), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := SyncDir(d.dir); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if d.open != nil {
		err = d.open.Close()
	}
	d.open, d.last, d.end = f, d.last+1, 0
	return err
}

// SyncDir has the names in a folder on the disk when it returns.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// MakeDir makes a folder where there is none. Its name is on the disk when it returns, and so are those of the folders above it that
// it made or that are below within: a folder that is there may be so since a moment ago.
func MakeDir(dir, within string) error {
	dir, parent := filepath.Clean(dir), filepath.Dir(filepath.Clean(dir))
	if _, err := os.Stat(parent); err != nil || strings.HasPrefix(parent, filepath.Clean(within)+"/") {
		if err := MakeDir(parent, within); err != nil {
			return err
		}
	}
	made := os.Mkdir(dir, 0o700)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return made
	}
	if err := SyncDir(parent); err != nil && made == nil {
		return err // of a folder that was there before, whoever made it sees to it
	}
	return nil
}

// undo cuts off what was written behind end. Where that fails too, nothing is appended to the segment any more.
func (d *Disk) undo(end int64, why error) error {
	d.end = end
	if err := d.open.Truncate(end); err != nil {
		why = errors.Join(why, err, d.open.Close())
		d.open = nil
	}
	return full(why)
}

// record writes a body behind those that are there.
func (d *Disk) record(ctx context.Context, b *Body) (ref Ref, err error) {
	n, err := write(ctx, io.NewOffsetWriter(d.open, d.end), b, d.opt.Key)
	ref = Ref{Segment: d.last, Offset: d.end, Size: n}
	d.end += n
	return ref, err
}

// Open implements Store.
func (d *Disk) Open(ref Ref) (io.ReadCloser, error) {
	f, err := os.Open(d.path(ref.Segment))
	if err != nil {
		return nil, err
	}
	h, err := readHeader(f, ref.Offset)
	if err == nil && h.length != ref.Size-headerSize {
		err = errHeader
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", ref, err), f.Close())
	}
	var body io.Reader = io.NewSectionReader(f, ref.Offset+headerSize, h.length)
	if h.flags&sealed != 0 {
		if body, err = unseal(d.opt.Key, h.salt[:], body); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", ref, err), f.Close())
		}
	}
	return struct {
		io.Reader
		io.Closer
	}{body, f}, nil
}

// Size implements Store.
func (d *Disk) Size() (n int64, err error) {
	segments, err := d.segments()
	for _, s := range segments {
		if st, err := os.Stat(d.path(s)); err == nil {
			n += st.Size()
		}
	}
	return n, err
}

// Close implements Store.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		return nil
	}
	f := d.open
	d.open = nil
	return f.Close()
}
