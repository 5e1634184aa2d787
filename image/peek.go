package image

import (
	"os"
	"sync"

	"github.com/backsight/backsight/internal/mapped"
)

// mostPeeks bounds the places of an image that Peek reads. Who looks at more of them looks at the
// same pages again, and is faster where these are mapped.
const mostPeeks = 1024

// Peek returns the bytes of part, of a segment's Data, that nobody is likely to look at again, nor
// at what lies around them: do not change them, they may be a copy.
//
// Linux maps 16 pages of a file for a look at one byte, so that looks at 40 places of the 100 MB of
// libLLVM took 2.5 MB of the 22 that the backtrace of a core of it took in all. Read from
// the file they take none.
func (img *Image) Peek(part []byte) []byte {
	if img.peeks.Load() >= mostPeeks {
		return part
	}
	img.peeks.Add(1)
	for _, f := range img.files() {
		if off, ok := mapped.Offset(f.Data, part); ok && f.again != nil {
			if copied := make([]byte, len(part)); f.again.read(copied, int64(off)) {
				return copied
			}
		}
	}
	return part
}

// reopened is a mapped file that is opened once more, to be read: few files are, so that the many
// of a process do not use up the open files that the system allows.
type reopened struct {
	path string
	was  os.FileInfo
	once sync.Once
	in   *os.File // nil: the path is another file's by now
}

// read tells whether it could fill b with the bytes from off on.
func (r *reopened) read(b []byte, off int64) bool {
	r.once.Do(func() {
		if is, err := os.Stat(r.path); err != nil || !os.SameFile(is, r.was) {
			return // opening a FIFO would wait for a writer
		}
		in, err := os.Open(r.path)
		if err != nil {
			return
		}
		if is, err := in.Stat(); err != nil || !os.SameFile(is, r.was) {
			in.Close()
			return
		}
		r.in = in
	})
	if r.in == nil {
		return false
	}
	_, err := r.in.ReadAt(b, off)
	return err == nil
}

func (r *reopened) close() error {
	if r == nil || r.in == nil {
		return nil
	}
	return r.in.Close()
}
