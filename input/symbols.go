package input

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/kallsyms"
)

// maxLists bounds the files of symbols of a directory, maxList the size of one: System.map of
// a kernel with all options has some 10 MB.
const (
	maxLists = 256
	maxList  = 256 << 20
)

// symbolLists are lists of symbols that were read.
type symbolLists struct {
	mu     sync.Mutex
	tables []*kallsyms.Table
}

// ReadSymbols reads the lists of symbols that the user named: System.map, /proc/kallsyms, the
// output of nm; of a directory, all files that are such a list. Images without symbols of
// their own have their names from then on, where the addresses fit. The error is about the
// first file that cannot be read, or that the user named and is no list.
func (f *Files) ReadSymbols(paths []string) error { return f.lists.read(paths) }

// Rename is img with the names of a list of symbols that fits, where the image has none of
// its own; else img itself.
func (f *Files) Rename(img *image.Image) *image.Image { return f.lists.rename(img) }

// read reads the lists at paths; of a directory, all files that are such a list.
func (l *symbolLists) read(paths []string) error {
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			return &Error{Path: path, Offset: -1, Reason: "cannot be opened", Err: errors.Unwrap(err)}
		}
		if !st.IsDir() {
			if err := l.readList(path, st); err != nil {
				return err
			}
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return &Error{Path: path, Offset: -1, Reason: "cannot be read", Err: errors.Unwrap(err)}
		}
		for _, e := range entries[:min(len(entries), maxLists)] {
			if st, err := e.Info(); err == nil && st.Mode().IsRegular() {
				_ = l.readList(filepath.Join(path, e.Name()), st) // others may lie there, too
			}
		}
	}
	return nil
}

func (l *symbolLists) readList(path string, st os.FileInfo) error {
	if st.Size() > maxList {
		return &Error{Path: path, Offset: -1, Reason: "too large for a list of symbols"}
	}
	data, err := os.ReadFile(path)
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
