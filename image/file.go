package image

import (
	"io"
	"path/filepath"

	"github.com/backsight/backsight/internal/mapped"
)

// HeadSize is how much of a file formats see to recognise it: a Linux kernel for x86 says
// what it is at offset 0x202.
const HeadSize = 1024

// File is the bytes of an executable file.
type File struct {
	Name string // for messages: the path, or what the bytes are
	// Path is where separate debug files are looked for beside, "" for bytes that
	// came from memory.
	Path string
	Data []byte // do not change

	disk    mapped.Disk // where Path is
	release func() error
}

// OpenFile brings a regular file into memory, mapped where the system can. sniff
// sees its first bytes, HeadSize at most, and may refuse it; nil takes every file.
// The error is an *Error or of package os.
//
// What is not a regular file is refused before opening it: opening a FIFO waits
// for a writer. sniff is asked first, so that a huge file of another kind costs
// nothing where files cannot be mapped.
func OpenFile(path string, sniff func(head []byte) bool) (*File, error) {
	return openFile(mapped.Disk{}, path, 0, sniff)
}

// OpenFile is the function OpenFile for a file that is where opt says files are.
func (o *Options) OpenFile(path string, sniff func(head []byte) bool) (*File, error) {
	return openFile(o.disk(), path, 0, sniff)
}

// OpenBeside is OpenFile for a file where f is.
func (f *File) OpenBeside(path string, sniff func(head []byte) bool) (*File, error) {
	return openFile(f.disk, path, 0, sniff)
}

func (o *Options) disk() mapped.Disk { return mapped.Disk{FS: o.FS} }

// openFile is OpenFile for what lies from an offset on.
func openFile(disk mapped.Disk, path string, at uint64, sniff func(head []byte) bool) (*File, error) {
	path = filepath.ToSlash(path) // so that names are the same on all hosts
	f := &File{Name: path, Path: path, disk: disk}
	st, err := disk.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, f.Errorf(0, "not a regular file (%s)", st.Mode())
	case st.Size() == 0:
		return nil, f.Errorf(0, "empty file")
	}
	in, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	head := make([]byte, HeadSize)
	n, err := in.ReadAt(head, int64(at))
	if err != nil && err != io.EOF {
		return nil, &Error{Path: path, Reason: "cannot be read", Err: err}
	}
	if sniff != nil && !sniff(head[:n]) {
		return nil, f.unrecognised()
	}
	if f.Data, f.release, err = mapped.Whole(in); err != nil {
		return nil, &Error{Path: path, Reason: "cannot be read", Err: err}
	}
	f.Data = f.Data[min(at, uint64(len(f.Data))):]
	return f, nil
}

func (f *File) unrecognised() error { return f.Errorf(0, "unrecognised file") }

// leastForgotten is how many bytes are worth giving back: that stops all processors for a moment.
const leastForgotten = 64 << 10

// Forget says that part, of Data, was read and will hardly be again: the memory of its whole
// pages is given back where the file is mapped, unless they are few. Who reads them all the same has them read from
// the file once more.
func (f *File) Forget(part []byte) {
	if f.release != nil && len(part) >= leastForgotten {
		mapped.Forget(part)
	}
}

// Close releases the bytes.
func (f *File) Close() error {
	if f.release == nil {
		return nil
	}
	release := f.release
	f.release = nil
	return release()
}
