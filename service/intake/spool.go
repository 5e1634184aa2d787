package intake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/bits"
	"os"
	"sync"

	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/store"
	"golang.org/x/sync/semaphore"
)

// step is how much memory a body asks for at once, inMemory how much of it stays there at the most.
const step, inMemory = 64 << 10, 1 << 20

// Spools take bodies as they arrive: in memory as long as there is some, else in files without names. Whoever sends slowly holds
// no more than that.
type Spools struct {
	dir     string
	memory  *semaphore.Weighted // of all bodies
	unpack  *semaphore.Weighted // how many are unpacked at once: each may take its window
	packed  int64               // bounds of a body that is packed, and without packing
	unbound int64
	free    [3]sync.Pool // memory of the sizes that a body asks for: step, and four times as much each
}

// NewSpools makes Spools with files in a folder, which share so many bytes of memory.
func NewSpools(dir string, memory, packed, raw int64) *Spools {
	const unpackers = 4
	return &Spools{dir: dir, memory: semaphore.NewWeighted(max(memory, step)), unpack: semaphore.NewWeighted(unpackers), packed: packed, unbound: raw}
}

// Spool is a body that has arrived. It must be closed.
type Spool struct {
	of      *Spools
	b       []byte
	held    int64    // of the memory
	file    *os.File // nil: all is in b
	size    int64
	Sum     store.Sum // without packing
	Size    int64     // without packing
	Packing string
}

// Read takes a body. encoding is what the sender calls its form; where that is "" the bytes tell. The error is packing.ErrLarge where
// it is too large.
func (s *Spools) Read(ctx context.Context, r io.Reader, encoding string) (*Spool, error) {
	if encoding != "" && encoding != "identity" {
		r = packing.Bounded(r, s.packed)
	}
	sp := &Spool{of: s}
	sum := sha256.New()
	if err := sp.fill(packing.Bounded(r, s.unbound), sum); err != nil {
		sp.Close()
		return nil, err
	}
	sp.Sum, sp.Size = store.Sum(sum.Sum(nil)), sp.size
	if err := sp.unpacked(ctx, encoding); err != nil {
		sp.Close()
		return nil, err
	}
	return sp, nil
}

// errPacked says that a body is not in the form that it is called.
var errPacked = errors.New("the body is not in its Content-Encoding")

// unpacked finds out what a packed body is without packing.
func (sp *Spool) unpacked(ctx context.Context, encoding string) error {
	head := make([]byte, 4)
	n, _ := sp.reader().Read(head)
	form, told := packing.Of(head[:n]), encoding != "" && encoding != "identity"
	if form == packing.None {
		if told {
			return errPacked
		}
		return nil
	}
	if sp.size > sp.of.packed {
		return packing.ErrLarge
	}
	if err := sp.of.unpack.Acquire(ctx, 1); err != nil {
		return err
	}
	defer sp.of.unpack.Release(1)
	sum := sha256.New()
	size, err := unpack(sum, form, sp.reader(), sp.of.unbound)
	switch {
	case errors.Is(err, packing.ErrLarge):
		return err
	case err != nil && told:
		return fmt.Errorf("%w: %w", errPacked, err)
	case err != nil: // a capture that is damaged: it is kept as it is
		return nil
	}
	sp.Sum, sp.Size, sp.Packing = store.Sum(sum.Sum(nil)), size, form
	return nil
}

func unpack(w io.Writer, form string, r io.Reader, most int64) (int64, error) {
	u, err := packing.Reader(form, r)
	if err != nil {
		return 0, err
	}
	defer u.Close()
	return io.Copy(w, packing.Bounded(u, most))
}

// fill reads a body to its end, straight into the memory that it has.
func (sp *Spool) fill(r io.Reader, sum hash.Hash) error {
	for sp.hold() {
		n, err := r.Read(sp.b[len(sp.b):cap(sp.b)])
		sum.Write(sp.b[len(sp.b) : len(sp.b)+n])
		sp.b = sp.b[:len(sp.b)+n]
		if sp.size += int64(n); err != nil {
			return end(err)
		}
	}
	if err := sp.spill(); err != nil {
		return err
	}
	n, err := io.CopyBuffer(io.MultiWriter(plainWriter{sp.file}, sum), r, make([]byte, step/2))
	sp.size += n
	return err
}

// end is no error for io.EOF.
func end(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// plainWriter hides that a file would read itself.
type plainWriter struct{ io.Writer }

// hold gets memory for further bytes, false where there is none.
func (sp *Spool) hold() bool {
	if len(sp.b) < cap(sp.b) {
		return true
	}
	size := max(step, 4*cap(sp.b))
	if size > inMemory || !sp.of.memory.TryAcquire(int64(size)-sp.held) {
		return false
	}
	sp.held = int64(size)
	old := sp.b
	sp.b = append(sp.of.get(size), old...)
	sp.of.put(old)
	return true
}

// class is the place of memory of a size in free.
func class(size int) int { return (bits.Len(uint(size/step)) - 1) / 2 }

func (s *Spools) get(size int) []byte {
	if b, ok := s.free[class(size)].Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, size)
}

// put gives memory to bodies that come. Nobody reads it any more.
func (s *Spools) put(b []byte) {
	if cap(b) >= step {
		s.free[class(cap(b))].Put(&b)
	}
}

// spill moves the body into a file, which ends with the process.
func (sp *Spool) spill() error {
	f, err := os.CreateTemp(sp.of.dir, "spool-")
	if err != nil {
		return err
	}
	if err := os.Remove(f.Name()); err != nil {
		return errors.Join(err, f.Close())
	}
	sp.file = f
	_, err = f.Write(sp.b)
	sp.release()
	return err
}

func (sp *Spool) release() {
	sp.of.memory.Release(sp.held)
	sp.of.put(sp.b)
	sp.b, sp.held = nil, 0
}

func (sp *Spool) reader() io.Reader {
	if sp.file != nil {
		return io.NewSectionReader(sp.file, 0, sp.size)
	}
	return bytes.NewReader(sp.b)
}

// Body is the body for the store.
func (sp *Spool) Body() store.Body {
	return store.Body{Sum: sp.Sum, Size: sp.size, Open: func() (io.ReadCloser, error) { return io.NopCloser(sp.reader()), nil }}
}

// Unpacked reads the body without its packing.
func (sp *Spool) Unpacked() (io.ReadCloser, error) { return packing.Reader(sp.Packing, sp.reader()) }

// Close gives the room back.
func (sp *Spool) Close() {
	sp.release()
	if sp.file != nil {
		_ = sp.file.Close() // it has no name
		sp.file = nil
	}
}
