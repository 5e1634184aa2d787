package input

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/kallsyms"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/target"
)

// maxLists bounds the files of symbols of a directory, maxList the size of one: System.map of
// a kernel with all options has some 10 MB.
const (
	maxLists = 256
	maxList  = 256 << 20
)

// databaseSuffix ends the names of Microsoft's program databases, databaseFormat is the name of internal/image/pdb.
const databaseSuffix, databaseFormat = ".pdb", "pdb"

// symbolLists are lists of symbols that were read.
type symbolLists struct {
	mu     sync.Mutex
	tables []*kallsyms.Table
	paths  []string // that the user named
}

// ReadSymbols reads the lists of symbols that the user named: System.map, /proc/kallsyms, the
// output of nm; of a directory, all files that are such a list. Images without symbols of
// their own have their names from then on, where the addresses fit. The error is about the
// first file that cannot be read, or that the user named and is no list.
func (f *Files) ReadSymbols(paths []string) error { return f.lists.read(f.Disk(), paths) }

// Rename is img with the names of a list of symbols that fits, where the image has none of
// its own; else img itself.
func (f *Files) Rename(img *image.Image) *image.Image { return f.lists.rename(img) }

// SymbolFile opens what has the symbols of a binary that is not at hand: Breakpad's symbol file, or the program database that ref
// names. It is one that the user named, or lies below a directory that the user named, as symbol servers have it
// (NAME/ID/NAME.sym; of NAME.pdb, NAME.pdb/ID/NAME.sym) or plain (NAME.sym). ids are the identifiers that the
// binary may have there; without any, the name decides, where one file alone has it. nil where there is none.
func (f *Files) SymbolFile(ref BinaryRef, ids []string) *image.Image {
	base := target.BaseName(ref.Name)
	names := []string{strings.TrimSuffix(base, databaseSuffix) + ".sym"}
	if strings.HasSuffix(base, databaseSuffix) {
		names = append(names, base)
	}
	for _, name := range names {
		for path := range f.symbolFiles(base, name, ids) {
			if !f.isSymbolFile(path, base, ids) {
				continue
			}
			if img, err := f.sliceFor(path, &ref); err == nil {
				return img
			}
		}
	}
	return nil
}

// OtherSymbolFile is the symbol file of a binary's name that lies where SymbolFile looks, of whatever build; "" where there is none,
// or several.
func (f *Files) OtherSymbolFile(name string) string {
	base := target.BaseName(name)
	for path := range f.symbolFiles(base, strings.TrimSuffix(base, databaseSuffix)+".sym", nil) {
		if f.isSymbolFile(path, base, nil) {
			return path
		}
	}
	return ""
}

// symbolFiles are where a binary's file of symbols may be, by what the user named, and far away.
func (f *Files) symbolFiles(base, name string, ids []string) iter.Seq[string] {
	f.lists.mu.Lock()
	paths := f.lists.paths
	f.lists.mu.Unlock()
	return func(yield func(string) bool) {
		for _, path := range paths {
			for _, c := range symbolPaths(f.Disk(), path, base, name, ids) {
				if !yield(c) {
					return
				}
			}
		}
		for _, id := range ids {
			if fetch := f.places.opt.FetchSymbols; fetch != nil {
				if path, ok := fetch(base, id, name); ok && !yield(path) {
					return
				}
			}
		}
	}
}

// symbolPaths are where a binary's file of symbols may be, by what the user named.
func symbolPaths(disk mapped.Disk, path, base, name string, ids []string) []string {
	paths := []string{path, filepath.Join(path, name)}
	for _, id := range ids {
		paths = append(paths, filepath.Join(path, base, id, name))
	}
	if len(ids) == 0 {
		paths = append(paths, onlyChild(disk, filepath.Join(path, base), name))
	}
	return paths
}

// onlyChild is a file in the one directory below dir, "" where there are several.
func onlyChild(disk mapped.Disk, dir, name string) string {
	entries, err := disk.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		return ""
	}
	return filepath.Join(dir, entries[0].Name(), name)
}

// moduleLine are the words of the line with which a binary's symbol file begins: "MODULE Linux mips ID name"; nil where a file
// begins otherwise.
func moduleLine(disk mapped.Disk, path string) []string {
	if !disk.Regular(path) {
		return nil
	}
	file, err := disk.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	line, _ := bufio.NewReader(io.LimitReader(file, headSize)).ReadString('\n')
	if words := strings.Fields(line); strings.HasPrefix(line, "MODULE ") {
		return words
	}
	return nil
}

// HasSymbols tells whether a file of this machine has the symbols of a build that symbol servers know by one of ids: Breakpad's symbol file, or a
// program database.
func HasSymbols(path string, ids []string, formats []image.Format) bool {
	return hasSymbols(mapped.Disk{}, path, ids, formats)
}

func hasSymbols(disk mapped.Disk, path string, ids []string, formats []image.Format) bool {
	same := func(id string) bool {
		return slices.ContainsFunc(ids, func(one string) bool { return strings.EqualFold(id, one) })
	}
	if words := moduleLine(disk, path); len(words) >= 5 {
		return same(words[3])
	}
	formats = slices.Clone(formats)
	formats = slices.DeleteFunc(formats, func(f image.Format) bool { return f.Name != databaseFormat })
	id := image.SymbolServerID(image.BuildID(disk.FS, path, formats))
	return id != "" && same(id)
}

// isSymbolFile tells whether a file has the symbols of a binary. Without ids the name decides.
func (f *Files) isSymbolFile(path, name string, ids []string) bool {
	if len(ids) > 0 {
		return hasSymbols(f.Disk(), path, ids, f.places.opt.Formats)
	}
	words := moduleLine(f.Disk(), path)
	return len(words) >= 5 && strings.Join(words[4:], " ") == name
}

// read reads the lists at paths; of a directory, all files that are such a list.
func (l *symbolLists) read(disk mapped.Disk, paths []string) error {
	l.mu.Lock()
	l.paths = append(l.paths, paths...)
	l.mu.Unlock()
	for _, path := range paths {
		st, err := disk.Stat(path)
		if err != nil {
			return &Error{Path: path, Offset: -1, Reason: "cannot be opened", Err: errors.Unwrap(err)}
		}
		if !st.IsDir() {
			if err := l.readList(disk, path, st); err != nil {
				return err
			}
			continue
		}
		entries, err := disk.ReadDir(path)
		if err != nil {
			return &Error{Path: path, Offset: -1, Reason: "cannot be read", Err: errors.Unwrap(err)}
		}
		for _, e := range entries[:min(len(entries), maxLists)] {
			if st, err := e.Info(); err == nil && st.Mode().IsRegular() {
				_ = l.readList(disk, filepath.Join(path, e.Name()), st) // others may lie there, too
			}
		}
	}
	return nil
}

func (l *symbolLists) readList(disk mapped.Disk, path string, st fs.FileInfo) error {
	if st.Size() > maxList {
		return &Error{Path: path, Offset: -1, Reason: "too large for a list of symbols"}
	}
	if strings.HasSuffix(path, databaseSuffix) || moduleLine(disk, path) != nil { // see SymbolFile
		return nil
	}
	data, err := disk.ReadFile(path)
	if err != nil {
		return &Error{Path: path, Offset: -1, Reason: "cannot be read", Err: errors.Unwrap(err)}
	}
	table, err := kallsyms.Parse(data)
	if err != nil {
		return &Error{Path: path, Offset: 0, Reason: "not a list of symbols", Err: err}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tables = append(l.tables, table)
	return nil
}

// rename finds the list that fits.
func (l *symbolLists) rename(img *image.Image) *image.Image {
	l.mu.Lock()
	tables := l.tables
	l.mu.Unlock()
	if len(tables) == 0 || img.Symbols.HasFunctions() {
		return img
	}
	for _, t := range tables {
		if t.Fits(img) {
			return kallsyms.Named(img, t)
		}
	}
	return img
}
