package mapped

import (
	"bytes"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Disk is where files are: in FS or, where that is nil, on this machine. Its methods take this machine's paths. In FS a path begins
// at the root, with and without the slash before it.
type Disk struct{ FS fs.FS }

// File is an open file, parts of which can be read.
type File interface {
	fs.File
	io.ReaderAt
}

// name is the name in FS of a path.
func name(p string) string {
	p = filepath.ToSlash(strings.TrimPrefix(p, filepath.VolumeName(p)))
	if p = path.Clean("/" + p)[1:]; p == "" {
		return "."
	}
	return p
}

// Stat tells of the file at a path, behind symbolic links.
func (d Disk) Stat(path string) (fs.FileInfo, error) {
	if d.FS == nil {
		return os.Stat(path)
	}
	return fs.Stat(d.FS, name(path))
}

// Lstat tells of what is at a path itself.
func (d Disk) Lstat(path string) (fs.FileInfo, error) {
	if d.FS == nil {
		return os.Lstat(path)
	}
	return fs.Lstat(d.FS, name(path))
}

// Readlink is the text of a symbolic link.
func (d Disk) Readlink(path string) (string, error) {
	if d.FS == nil {
		return os.Readlink(path)
	}
	return fs.ReadLink(d.FS, name(path))
}

// ReadDir lists a directory, sorted by names.
func (d Disk) ReadDir(path string) ([]fs.DirEntry, error) {
	if d.FS == nil {
		return os.ReadDir(path)
	}
	return fs.ReadDir(d.FS, name(path))
}

// Regular tells whether a regular file is at a path.
func (d Disk) Regular(path string) bool {
	st, err := d.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// Open opens a file. One of FS that is no io.ReaderAt is read into memory.
func (d Disk) Open(path string) (File, error) {
	if d.FS == nil {
		return open(path)
	}
	f, err := d.FS.Open(name(path))
	if err != nil {
		return nil, err
	}
	if at, ok := f.(File); ok {
		return at, nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	if err == nil && len(data) > maxRead {
		err = &fs.PathError{Op: "read", Path: path, Err: errTooLarge}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return &inMemory{f, bytes.NewReader(data)}, nil
}

// inMemory is an open file whose bytes are in memory.
type inMemory struct {
	fs.File
	*bytes.Reader
}

func (f *inMemory) Read(p []byte) (int, error) { return f.Reader.Read(p) }

// ReadFile returns a copy of a file's bytes.
func (d Disk) ReadFile(path string) ([]byte, error) {
	if d.FS == nil {
		return os.ReadFile(path)
	}
	data, _, err := d.Load(path)
	return data, err
}

// Load is the function Open for a file of the disk.
func (d Disk) Load(path string) (data []byte, release func() error, err error) {
	if d.FS == nil {
		return Open(path)
	}
	if st, err := d.Stat(path); err != nil {
		return nil, nil, err
	} else if !st.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	f, err := d.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if data, release, err = Whole(f); release == nil {
		release = func() error { return nil }
	}
	return data, release, err
}

// Whole returns the bytes of an open file: as Open does where that is one of this machine's. Another one is read, release is nil,
// and what of it is forgotten (Forget) would be lost.
func Whole(f File) (data []byte, release func() error, err error) {
	if own, ok := f.(*os.File); ok {
		return fileOf(own)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if st.Size() < 0 || st.Size() > min(maxRead, math.MaxInt) {
		return nil, nil, &fs.PathError{Op: "read", Path: st.Name(), Err: errTooLarge}
	}
	data, _, err = whole(f, int(st.Size()))
	return data, nil, err
}

// maxRead bounds what is read into memory where files cannot be mapped.
const maxRead = 1 << 30

// whole reads the first size bytes of a file, or as many as there are.
func whole(f io.ReaderAt, size int) ([]byte, func() error, error) {
	data := make([]byte, size)
	n, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), data)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, nil, err
	}
	return data[:n], func() error { return nil }, nil
}
