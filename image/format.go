package image

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"iter"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/mapped"
)

// Format is one kind of executable file. The formats that a program knows are a
// list; the first whose Sniff knows a file opens it.
type Format struct {
	Name string
	// Sniff tells by the first bytes of a file (HeadSize of them where there are so
	// many) whether it is of this format.
	Sniff func(head []byte) bool
	// Open reads the headers of a file that Sniff recognised. The Image takes over f
	// and closes it; where Open fails, f stays open. The error is an *Error.
	Open func(f *File, opt Options) (*Image, error)
	// BuildID is the build ID of a file that Sniff recognised, nil for none. It costs a look
	// at the headers. Where it is nil, files of this format are not found by build ID.
	BuildID func(f *File) []byte
}

// Options say how to open files.
type Options struct {
	// FS is where files are, those that a file leads to as well; nil: on this machine. A path begins at its root, with and without
	// the slash before it. What FS opens is best an io.ReaderAt.
	FS fs.FS
	// Archs are the processors to choose from.
	Archs cpu.Set
	// DebugDirs are the roots of separate debug files, usually /usr/lib/debug.
	DebugDirs []string
	// Roots are directories with other machines' files.
	Roots []Root
	// ByBuildID finds further files that may be the image's debug file, by its build ID, the
	// nearest first; nil where there are none. Who takes one compares the build IDs.
	ByBuildID func(id []byte) iter.Seq[string]
	// SymbolFiles finds further files that may have a binary's symbols, by the file's name and the build's SymbolServerID; nil where
	// there are none. Who takes one compares the builds.
	SymbolFiles func(name, id string) iter.Seq[string]
	// NoDebugFiles keeps to the file itself.
	NoDebugFiles bool
	// Arch, BuildID and Name, its path on the machine that ran it, say which image is meant
	// where a file has several (Mach-O's universal files, dyld's shared caches); nil: any.
	Arch    *cpu.Arch
	BuildID []byte
	Name    string
	// Offset is where the binary begins in the file, which is an archive then (a library that Android maps out of an .apk).
	Offset uint64
	// Raw is the ABI of files without headers, which nothing in them tells, and the one meant of several where Arch is
	// nil; nil: there are none.
	Raw *cpu.Arch
	// Context ends the opening, not what is read later; nil: nothing does. Formats find it set.
	Context context.Context
}

// Root is a directory with another machine's files. Resolve finds the regular file that a
// path of that machine names there, following links as that machine would: nothing leads out
// of Dir.
type Root struct {
	Dir     string
	Resolve func(path string) (file string, ok bool)
}

// Open opens a file in the first of formats that recognises it. The error is an
// *Error or of package os. The Image must be closed, and must not be used
// afterwards. Where somebody may cut the file short meanwhile, the goroutines that
// use the Image do so within a guard against faults (debug.SetPanicOnFault), as the
// facade's do.
func Open(path string, formats []Format, opt Options) (*Image, error) {
	var format *Format
	f, err := openFile(opt.disk(), path, opt.Offset, func(head []byte) bool {
		format = recognise(formats, head)
		return format != nil
	})
	if err != nil {
		return nil, err
	}
	var img *Image
	opt.Context = cmp.Or(opt.Context, context.Background())
	stop := mapped.Until(opt.Context, f.Data)
	if fault := mapped.Guard(func() { img, err = format.Open(f, opt) }); fault != nil {
		err = &Error{Path: path, Offset: -1, Reason: "cannot be read", Err: fault}
	}
	if stop() {
		if img != nil {
			_ = img.Close()
		}
		err = &Error{Path: path, Offset: -1, Reason: "not read", Err: opt.Context.Err()}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return img, nil
}

// Parse is Open for bytes that are in memory already, such as a vDSO. name is for
// messages. Separate debug files are found by build ID only. data must not change
// while the Image is in use.
func Parse(name string, data []byte, formats []Format, opt Options) (*Image, error) {
	f := &File{Name: name, Data: data}
	format := recognise(formats, data[:min(len(data), HeadSize)])
	if format == nil {
		return nil, f.unrecognised()
	}
	opt.Context = cmp.Or(opt.Context, context.Background())
	return format.Open(f, opt)
}

// BuildID is the build ID of the file at a path in fsys (nil: of this machine), nil where it has none, or where none of
// formats knows it.
func BuildID(fsys fs.FS, path string, formats []Format) (id []byte) {
	var format *Format
	f, err := openFile(mapped.Disk{FS: fsys}, path, 0, func(head []byte) bool {
		i := slices.IndexFunc(formats, func(f Format) bool { return f.BuildID != nil && f.Sniff(head) })
		if i >= 0 {
			format = &formats[i]
		}
		return i >= 0
	})
	if err != nil {
		return nil
	}
	defer f.Close()
	if mapped.Guard(func() { id = bytes.Clone(format.BuildID(f)) }) != nil {
		return nil
	}
	return id
}

func recognise(formats []Format, head []byte) *Format {
	for i := range formats {
		if formats[i].Sniff(head) {
			return &formats[i]
		}
	}
	return nil
}
