package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/target"
)

// FileOptions say where executables are, as the user told.
type FileOptions struct {
	// FS is where all files are: captures, binaries, debug files, memory and registers; nil: on this machine. Paths are as
	// image.Options.FS has them.
	FS    fs.FS
	Archs cpu.Set
	// Exe is the program's own executable, "" where the capture tells.
	Exe string
	// Images are further binaries, mapped with a known bias or named by the capture.
	Images []NamedImage
	// Sysroots are copies of the captured machine's files, the first searched first; none but
	// "": this machine.
	Sysroots []string
	// DebugDirs are the roots of separate debug files, besides usr/lib/debug below each of
	// Sysroots.
	DebugDirs []string
	// Indexed are directories where any file may be the one of a build ID, as below Sysroots.
	Indexed []string
	// NoIndex: nothing is searched for below Sysroots; only paths and build IDs lead to files there.
	NoIndex bool
	// CacheDir is a directory for what the headers of many files said, for the next time; "" and NoCache: nothing is kept, where
	// the facade chooses a directory for "".
	CacheDir string
	// Context ends searches through directories, nil: nothing does. What was not found by then is not there.
	Context context.Context
	// Searching, if set, is told of each file that such a search comes to, by several goroutines.
	Searching func()
	// Fetch, if set, is asked for what is nowhere here: the executable or the debug file of a
	// build ID, which it puts into a file of this machine; false where it has none.
	Fetch func(kind FetchKind, id []byte) (path string, ok bool)
	// FetchSymbols is the same for what a symbol server has as NAME/ID/FILE: Breakpad's symbol files and program databases.
	FetchSymbols func(name, id, file string) (path string, ok bool)
	// Formats are the kinds of executables, in the order in which they are tried.
	Formats []image.Format
	// Raw is the ABI of binaries in none of the formats that have headers; nil: there
	// are none.
	Raw *cpu.Arch
}

// NoCache is a CacheDir that is none.
const NoCache = "-"

// NamedImage is a binary and its load bias.
type NamedImage struct {
	Path string
	Bias uint64
	// Placed: the bias was stated.
	Placed bool
}

// ParseNamedImage reads FILE[@ADDR]. ADDR is a number as Go writes it (0x… for
// hex); an @ before anything else belongs to the file's name.
func ParseNamedImage(s string) NamedImage {
	if i := strings.LastIndexByte(s, '@'); i > 0 {
		if bias, err := strconv.ParseUint(s[i+1:], 0, 64); err == nil {
			return NamedImage{Path: s[:i], Bias: bias, Placed: true}
		}
	}
	return NamedImage{Path: s}
}

// Files finds and opens the executables that captures name, and keeps them open
// for the next capture. It is safe for concurrent use.
type Files struct {
	places places
	images openImages
	lists  symbolLists
}

// NewFiles returns the files that opt describes. Nothing is opened yet.
func NewFiles(opt FileOptions) *Files {
	f := &Files{places: newPlaces(opt), images: openImages{known: make(map[string]*imageEntry)}}
	f.places.symbols = func(name, id string) iter.Seq[string] { return f.symbolFiles(name, name, []string{id}) }
	return f
}

// Disk is where the files are.
func (f *Files) Disk() mapped.Disk {
	if f == nil {
		return mapped.Disk{}
	}
	return mapped.Disk{FS: f.places.opt.FS}
}

// Exe is the executable that the user named, "" for none.
func (f *Files) Exe() string { return f.places.opt.Exe }

// Archs are the processors whose binaries are opened.
func (f *Files) Archs() cpu.Set { return f.places.opt.Archs }

// Raw is the processor that the user stated for binaries without headers, nil for none.
func (f *Files) Raw() *cpu.Arch { return f.places.opt.Raw }

// Images are the binaries that the user named besides the executable.
func (f *Files) Images() []NamedImage { return f.places.opt.Images }

// DebugDirs are the roots of separate debug files.
func (f *Files) DebugDirs() []string { return f.places.opt.DebugDirs }

// Parse reads an image that a capture contains (a vDSO). name is for messages.
func (f *Files) Parse(name string, data []byte) (*image.Image, error) {
	img, err := image.Parse(name, data, f.places.opt.Formats, f.places.imageOptions())
	if err != nil {
		return nil, err
	}
	return f.Rename(img), nil
}

// Open opens a file of this machine, or returns it when it is open already.
func (f *Files) Open(path string) (*image.Image, error) {
	return f.open(path, path, f.places.imageOptions())
}

// open opens a file under a key, or returns what was opened under it.
func (f *Files) open(key, path string, opt image.Options) (*image.Image, error) {
	return f.images.open(key, func() (*image.Image, error) {
		img, err := image.Open(path, f.places.opt.Formats, opt)
		if err != nil {
			return nil, err
		}
		return f.withSymbols(f.Rename(img)), nil
	})
}

// sliceFor opens the image that a capture means in a file of several (a universal file).
func (f *Files) sliceFor(path string, ref *BinaryRef) (*image.Image, error) {
	opt := f.places.imageOptions()
	opt.Arch, opt.BuildID, opt.Name = ref.Arch, ref.BuildID, ref.Name
	key := fmt.Sprintf("%s\x00%x%s", path, ref.BuildID, ref.Name) // no path has a NUL
	if ref.Arch != nil {
		key += ref.Arch.Name
	}
	return f.open(key, path, opt)
}

// within opens the binary that a capture means at an offset in a file.
func (f *Files) within(path string, ref *BinaryRef) (*image.Image, error) {
	opt := f.places.imageOptions()
	opt.Offset = ref.Offset
	img, err := f.open(fmt.Sprintf("%s\x00@%x", path, ref.Offset), path, opt)
	if err != nil {
		return nil, err
	}
	return img, ref.accepts(img)
}

// hold keeps the images open, for the reader of a capture with a name, until release is called; without Files there are none.
func (f *Files) hold(capture string) (release func(), err error) {
	if f == nil {
		return func() {}, nil
	}
	if release, err = f.images.hold(); err != nil {
		return nil, &Error{Path: capture, Offset: -1, Reason: "the executables cannot be read", Err: err}
	}
	return release, nil
}

// Close closes all images, those that a reader of captures, an Unwinder or a report looks at as soon as these have done so.
// No file is opened after it: os.ErrClosed.
func (f *Files) Close() error { return f.images.close() }

// Find opens the binary that a capture names. The image is nil where there is
// none that fits; issues say what was found and not used, and what is wrong with what
// is used.
//
// A file with another build ID is not the one that ran: its code may be the same
// only in part, and a backtrace through it looks right and is not.
func (f *Files) Find(ref BinaryRef) (img *image.Image, issues []target.Issue) {
	ref.Name = strings.TrimSuffix(ref.Name, " (deleted)") // the kernel's d_path of an unlinked file
	for path := range f.places.candidates(&ref) {
		img, err := f.accepted(path, &ref)
		if err == nil {
			return img, ref.damage(img)
		}
		if !errors.Is(err, os.ErrNotExist) {
			issues = append(issues, ref.notUsed(path, err))
		}
	}
	if ref.BuildID != nil {
		if img := f.byID(&ref); img != nil {
			return img, ref.damage(img)
		}
	}
	return nil, issues
}

// byID finds a binary by its build ID, where the names that the capture gives lead nowhere:
// in another version of a library, in a shared cache, in any file, and far away.
func (f *Files) byID(ref *BinaryRef) *image.Image {
	for _, t := range f.places.trees {
		for _, path := range t.versions(ref.Name) {
			if img, err := f.accepted(path, ref); err == nil {
				return img
			}
		}
	}
	if img := f.cached(ref); img != nil {
		return img
	}
	for path := range f.places.executables(ref.BuildID) {
		if img, err := f.accepted(path, ref); err == nil && !img.Hollow() {
			return img
		}
	}
	return nil
}

// cached finds a library in dyld's shared caches, in which macOS and iOS keep those of the
// system: in the ones that the user named, or below the sysroot.
func (f *Files) cached(ref *BinaryRef) *image.Image {
	for _, path := range f.Beginning("dyld_shared_cache_") {
		if filepath.Ext(path) != "" {
			continue // a part of a cache
		}
		if img, err := f.sliceFor(path, ref); err == nil && bytes.Equal(img.BuildID, ref.BuildID) {
			return img
		}
	}
	return nil
}

// Use opens a file of this machine where the capture is known to mean it: the
// user said so. It is held to the same conditions.
func (f *Files) Use(path string, ref BinaryRef) (img *image.Image, issues []target.Issue) {
	img, err := f.accepted(path, &ref)
	if err != nil {
		return nil, []target.Issue{ref.notUsed(path, err)}
	}
	return img, ref.damage(img)
}

// Given is Use for the bytes of a file of another machine.
func (f *Files) Given(data []byte, ref BinaryRef) (img *image.Image, issues []target.Issue) {
	img, err := f.Parse(ref.Name, data)
	if err == nil {
		err = ref.accepts(img)
	}
	if err != nil {
		return nil, []target.Issue{ref.notUsed(ref.Name, err)}
	}
	return img, ref.damage(img)
}

func (f *Files) accepted(path string, ref *BinaryRef) (*image.Image, error) {
	if ref.Offset != 0 {
		return f.within(path, ref)
	}
	img, err := f.Open(path)
	if err == nil && img.Slices > 1 && ref.accepts(img) != nil {
		img, err = f.sliceFor(path, ref)
	}
	if err != nil {
		return nil, err
	}
	return img, ref.accepts(img)
}
