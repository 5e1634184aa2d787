package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// defaultMaxSpill bounds a decompressed capture: more than the memory of the machines
// that dump cores, less than what a hostile archive can expand to.
const defaultMaxSpill = 64 << 30

// spillBlock is the unit of copying; blocks of zeros become holes of the file.
const spillBlock = 64 << 10

// spill copies a stream of limit bytes at most to a temporary file; 0 is the default.
// Runs of zeros, most of a typical core, take no disk; what does is drawn from stored. Where reading breaks off, the
// file holds what came before and the error says why; the file is nil where nothing
// could be written.
func spill(r io.Reader, limit int64, stored *allowance) (*os.File, error) {
	if limit == 0 {
		limit = defaultMaxSpill
	}
	f, memory, err := spillFile()
	if err != nil {
		return nil, err
	}
	if memory && stored == nil {
		stored = newAllowance("bytes in memory, where there is no directory for temporary files", maxInMemory, 0, &counted{})
	}
	size, broken := int64(0), error(nil)
	buf, zeros := make([]byte, spillBlock), make([]byte, spillBlock)
	for broken == nil {
		var n int
		n, broken = fill(r, buf)
		if !bytes.Equal(buf[:n], zeros[:n]) {
			if over := stored.draw(n); over != nil {
				broken = over
				break
			}
			if _, err := f.WriteAt(buf[:n], size); err != nil {
				return nil, errors.Join(err, removeSpill(f))
			}
		}
		if size += int64(n); size > limit {
			size, broken = limit, fmt.Errorf("longer than the bound of %d bytes", limit)
		}
	}
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(err, removeSpill(f))
	}
	if broken == io.EOF {
		broken = nil
	}
	return f, broken
}

// maxInMemory bounds what is kept of an uncompressed capture where there is no directory for
// temporary files: a device's programs are smaller, and it has not much more memory.
const maxInMemory = 1 << 30

// spillFile makes an empty file that nobody else sees: of the disk, or, where there is no
// directory for such files, of memory.
func spillFile() (f *os.File, memory bool, err error) {
	f, err = os.CreateTemp("", "backsight-*")
	if err == nil {
		// Where the system allows it the file has no name from here on, so that nothing
		// is left behind however the program ends (head closes the pipe: SIGPIPE).
		_ = os.Remove(f.Name())
		return f, false, nil
	}
	if m, inMemory := memoryFile(); inMemory == nil {
		return m, true, nil
	}
	return nil, false, err
}

// fill reads until buf is full or the reader fails. io.ReadFull would report the
// end of a stream and a stream that breaks off by the same error.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var k int
		k, err = r.Read(buf[n:])
		n += k
	}
	return n, err
}

// removeSpill removes the file's name where it still has one; after the removal
// above the same name may be another file's.
func removeSpill(f *os.File) error {
	mine, err := f.Stat()
	named, gone := os.Stat(f.Name())
	err = errors.Join(err, f.Close())
	if gone == nil && os.SameFile(mine, named) {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
