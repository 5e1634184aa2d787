package image

import (
	"os"
	"sync"
)

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
