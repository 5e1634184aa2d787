//go:build !small

package symbol

import "path"

// fileList is the directories and files that a line table names, by their numbers.
// Paths are put together for the files that are asked for: a list of short numbers
// can stand for any amount of long paths.
type fileList struct {
	dir   string // of the compiler: what directories are relative to
	first int    // number of files[0]: 1 before DWARF 5
	dirs  [][]byte
	files []fileEntry
	paths map[int]string // of the files that were asked for
}

// fileEntry is a file: its name, and the number of its directory.
type fileEntry struct {
	name []byte
	dir  uint64
}

// fileEntrySize is what a directory or a file takes in memory, in bytes.
const fileEntrySize = 32

// maxPaths bounds the paths that are kept of one unit's list of files, which has some hundred.
const maxPaths = 1 << 12

// path is the path of file number n, "" where there is none.
func (l *fileList) path(n int) string {
	i := n - l.first
	if i < 0 || i >= len(l.files) {
		return ""
	}
	p, ok := l.paths[i]
	if ok {
		return p
	}
	f := &l.files[i]
	if len(f.name) <= maxPath {
		p = string(f.name)
	}
	if f.dir < uint64(len(l.dirs)) {
		p = join(l.dirPath(int(f.dir)), p)
	}
	if l.paths == nil || len(l.paths) >= maxPaths {
		l.paths = make(map[int]string)
	}
	l.paths[i] = p
	return p
}

// dirPath is the path of directory i. The first is the compiler's, as it is.
func (l *fileList) dirPath(i int) string {
	d := l.dirs[i]
	switch {
	case len(d) > maxPath:
		return ""
	case i == 0:
		return string(d)
	}
	return join(l.dir, string(d))
}

// maxPath bounds paths: PATH_MAX of Linux. What is longer is no path.
const maxPath = 4096

// join makes a path of a directory and a name as compilers on Unix and Windows
// write them.
func join(dir, name string) string {
	absolute := path.IsAbs(name) || len(name) > 2 && name[1] == ':'
	if dir == "" || absolute || len(dir)+len(name) > maxPath {
		return name
	}
	return path.Join(dir, name)
}
