package input

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"github.com/backsight/backsight/internal/mapped"
)

// Bounds of the walk below a directory: more entries than a full distribution has, and their names; more files of one
// name than a build tree of several processors has.
const (
	maxEntries   = 2_000_000
	maxListing   = 64 << 20 // bytes
	minListing   = 16 << 10 // shorter ones are made anew as fast as they are read
	maxSameNamed = 64
)

// walk lists a tree. Directories that have not changed since they were listed are not read again.
type walk struct {
	disk    mapped.Disk
	goOn    func() bool
	border  border
	began   time.Time
	old     *oldListing
	text    []byte // of the new listing
	entries int
	over    bool // a bound was reached, or the search is not wanted any more
}

// walk lists the tree. Directories that cannot be read are left out, and those whose files are none of a disk: what
// the kernel shows of itself, and this machine's other file systems. now is the time.
func (t *tree) walk(now time.Time) {
	root, kept := t.root, t.kept
	if t.disk.FS == nil {
		var err error
		if root, err = filepath.EvalSymlinks(t.root); err != nil {
			return
		}
		if frozen(root) {
			kept.path = ""
		}
	}
	old, size, end := kept.open()
	defer end()
	w := walk{disk: t.disk, goOn: t.goOn, border: border{root: root, device: stateIn(t.disk, root).device}, began: now, old: newOldListing(old)}
	w.text = make([]byte, 0, size+size/16) // a bit more, for what is new
	w.visit("")
	t.list.text = w.text
	if !w.over && len(w.text) >= minListing && (w.old.differs || len(w.text)+len(listingEnd) != size) {
		kept.write(append(w.text, listingEnd...))
	}
}

// visit lists a directory below the root, and what is below it.
func (w *walk) visit(dir string) {
	full := filepath.Join(w.border.root, filepath.FromSlash(dir))
	st := stateIn(w.disk, full)
	if dir != "" && w.border.around(full, st.device) || w.full() {
		return
	}
	stamp := w.stamp(&st)
	from := len(w.text)
	if w.text = w.old.appendBlock(w.text, dir, stamp); len(w.text) == from {
		w.read(dir, full, stamp)
	}
	for at, end := from, len(w.text); at < end; {
		name, k, n := record(w.text[at:end])
		if at += n; k == isDirectory {
			w.visit(path.Join(dir, string(name)))
		}
	}
}

// stateIn is the state of a directory, of which a file system of a program's own tells nothing.
func stateIn(disk mapped.Disk, path string) state {
	if disk.FS != nil {
		return state{}
	}
	return stateOf(path)
}

// full tells whether the walk ends, and counts what it comes to.
func (w *walk) full() bool {
	w.entries++
	w.over = w.over || w.entries > maxEntries || len(w.text) > maxListing || !w.goOn()
	return w.over
}

// stamp tells states of a directory apart. It is unknown, which equals nothing, where the directory changed a moment ago, and
// may change again without a trace, and in other file systems than the root's, which may be others the next time.
func (w *walk) stamp(st *state) string {
	if st.device != w.border.device || st.stamp == 0 || w.began.Sub(st.changed) < settled {
		return unknownStamp
	}
	return fmt.Sprintf("%016x", st.stamp)
}

const unknownStamp = "----------------"

// read lists a directory anew.
func (w *walk) read(dir, full, stamp string) {
	entries, err := w.disk.ReadDir(full)
	if err != nil {
		stamp = unknownStamp
	}
	w.text = append(appendRecord(w.text, "/"+dir, isLink), stamp...)
	for _, d := range entries {
		if w.full() {
			break
		}
		switch {
		case d.IsDir():
			w.text = appendRecord(w.text, d.Name(), isDirectory)
		case d.Type().IsRegular():
			w.text = appendRecord(w.text, d.Name(), isFile)
		case d.Type()&fs.ModeSymlink != 0:
			w.text = appendRecord(w.text, d.Name(), isLink)
		}
	}
}

// border is where a walk ends.
type border struct {
	root   string
	device uint64 // the file system of root
}

// around tells whether a directory on a file system lies outside. Of this machine only the file system of its root is inside, without
// /proc, /sys, /dev and /run, whatever these are in a container. A copy of another machine's files may have further
// file systems, such as a chroot's, but none that the kernel makes up: listing such files starts devices, and reading
// them may change what they show. devtmpfs has no type of its own: it is a mounted dev.
func (b *border) around(dir string, device uint64) bool {
	first, name := filepath.Dir(dir) == b.root, filepath.Base(dir)
	runs := first && (name == "proc" || name == "sys" || name == "dev" || name == "run")
	if b.root == string(filepath.Separator) {
		return runs || device != b.device
	}
	return device != b.device && (runs || madeUp(dir))
}
