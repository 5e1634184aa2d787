// Package outfile writes files for the user, and harms nothing that is there: a regular file is there as a whole
// or as it was, a device stays a device, and a symbolic link a link.
package outfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Write makes what fill writes the content of the file at path.
//
// A regular file, or one that is not there yet, is written under another name beside its place, and takes the
// place when it is complete and on the disk. It keeps the mode that it had, and the owner where the system
// allows that; a new file has mode, less the umask. What cannot be opened for writing is not replaced. Where
// path is a symbolic link, all this is true of the link's target. A device, a FIFO, and what is open already
// (/dev/stdout) are written to as they are.
//
// The error is that of fill, that of ctx, or an *fs.PathError with path. fill may read the file by its name.
func Write(ctx context.Context, path string, mode fs.FileMode, fill func(f *os.File) error) error {
	file, old, err := destination(path)
	switch {
	case err != nil:
	case old != nil && !old.Mode().IsRegular():
		err = through(file, fill)
	default:
		err = replace(ctx, file, old, mode, fill)
	}
	return naming(path, file, err)
}

// maxLinks is how many symbolic links are followed, as in Linux (MAXSYMLINKS).
const maxLinks = 40

// destination is where path leads behind its symbolic links, and what is there; old is nil for nothing. The
// text of a link is joined as it is: a/../b is another file than b where a is a link.
func destination(path string) (file string, old fs.FileInfo, err error) {
	for range maxLinks {
		old, err = os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil, nil
		}
		if err != nil || old.Mode()&fs.ModeSymlink == 0 || isOpen(path) {
			return path, old, err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil, err
		}
		if !filepath.IsAbs(target) {
			dir, _ := filepath.Split(path)
			target = dir + target
		}
		path = target
	}
	return path, nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
}

// isOpen tells Linux's links to open files from links whose text is a path.
func isOpen(link string) bool {
	return strings.HasPrefix(link, "/proc/") || strings.HasPrefix(link, "/dev/fd/")
}

// through writes to what is no regular file. An open file may be one (cmd >>log): what it has is kept.
func through(path string, fill func(f *os.File) error) error {
	flags := os.O_WRONLY
	if isOpen(path) {
		flags |= os.O_APPEND
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return err
	}
	if err := fill(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// replace writes a file beside its place.
func replace(ctx context.Context, path string, old fs.FileInfo, mode fs.FileMode, fill func(f *os.File) error) error {
	if old != nil {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_ = f.Close() // nothing was written
		mode = old.Mode().Perm()
	}
	t := temporariesOf(ctx)
	f, err := t.create(path, mode)
	if err != nil {
		return err
	}
	defer t.remove(f.Name())
	for _, step := range []func() error{
		func() error { return fill(f) },
		ctx.Err,
		func() error { return inherit(f, old) },
		f.Sync,
	} {
		if err := step(); err != nil {
			_ = f.Close()
			return naming(path, f.Name(), err)
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return t.rename(f.Name(), path)
}

// inherit gives a new file the owner and mode of the old one. Bits that let others run a program as its owner
// are for that owner only.
func inherit(f *os.File, old fs.FileInfo) error {
	if old == nil {
		return nil
	}
	kept := fs.ModePerm
	if own(f, old) {
		kept |= fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	}
	return f.Chmod(old.Mode() & kept)
}

// naming is err with path where err names file.
func naming(path, file string, err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p) && p.Path == file:
		return &fs.PathError{Op: p.Op, Path: path, Err: p.Err}
	case errors.As(err, &l):
		return &fs.PathError{Op: l.Op, Path: path, Err: l.Err}
	}
	return err
}
