// Package power is a file system that loses what was not synchronised when power goes, for trials of what must survive that.
//
// It is stricter than most: a file that was synchronised has lost its name where its folder was not (fsync(2), NOTES), and what was
// not synchronised may be there in any order, sector by sector.
package power

import (
	"maps"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// sector is what a disk writes as a whole, in bytes.
const sector = 512

// maxFile bounds a file, in bytes: all of it is in memory, twice.
const maxFile = 1 << 30

// Disk is what files are on. Mount shows it; it is safe for concurrent use.
type Disk struct {
	mu    sync.Mutex
	gone  bool // power is: nothing is read or written any more
	root  *folder
	count uint64 // of files and folders, which are their inode numbers
}

// New is an empty Disk.
func New() *Disk {
	d := &Disk{}
	d.root = d.newFolder()
	return d
}

// file has what programs see (now), what is on the disk (kept), and what must still be done to make that of this.
type file struct {
	inode     uint64
	changed   time.Time
	now, kept []byte
	pending   []change
}

// change is bytes at a place, or the length of the file.
type change struct {
	at     int64
	data   []byte
	length bool
}

// folder has names in the same way. Its entries are *file or *folder.
type folder struct {
	inode     uint64
	now, kept map[string]any
	pending   []naming
}

// naming is what names become at once, nil for none: two of them where a name moves within a folder.
type naming map[string]any

func (d *Disk) newFile() *file {
	d.count++
	return &file{inode: d.count, changed: time.Now()}
}

func (d *Disk) newFolder() *folder {
	d.count++
	return &folder{inode: d.count, now: map[string]any{}, kept: map[string]any{}}
}

// do does something unless power is gone.
func (d *Disk) do(f func() syscall.Errno) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone {
		return syscall.EIO
	}
	return f()
}

func (f *file) change(c change) syscall.Errno {
	if c.at+int64(len(c.data)) > maxFile {
		return syscall.EFBIG
	}
	f.changed = time.Now()
	f.now = c.apply(f.now)
	f.pending = append(f.pending, c)
	return 0
}

func (c *change) apply(b []byte) []byte {
	end := c.at + int64(len(c.data))
	if n := end - int64(len(b)); n > 0 {
		b = append(b, make([]byte, n)...)
	}
	if c.length {
		return b[:end]
	}
	copy(b[c.at:], c.data)
	return b
}

// sync has a file on the disk.
func (f *file) sync() {
	for _, c := range f.pending {
		f.kept = c.apply(f.kept)
	}
	f.pending = nil
}

func (f *folder) name(n naming) {
	apply(f.now, n)
	f.pending = append(f.pending, n)
}

func apply(names map[string]any, n naming) {
	for name, is := range n {
		if is == nil {
			delete(names, name)
		} else {
			names[name] = is
		}
	}
}

func (f *folder) sync() {
	for _, n := range f.pending {
		apply(f.kept, n)
	}
	f.pending = nil
}

// Cut takes the power. What comes is a disk with what was synchronised, and of all else about so much as luck says: 0 nothing, 1
// all. The names of a folder are there in the order in which they were made.
func (d *Disk) Cut(r *rand.Rand, luck float64) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = true
	next := New()
	next.root = next.folder(d.root, r, luck)
	return next
}

func (d *Disk) folder(of *folder, r *rand.Rand, luck float64) *folder {
	names := maps.Clone(of.kept)
	for _, n := range of.pending {
		if r.Float64() >= luck {
			break
		}
		apply(names, n)
	}
	f := d.newFolder()
	for name, is := range names {
		switch is := is.(type) {
		case *file:
			f.now[name] = d.file(is, r, luck)
		case *folder:
			f.now[name] = d.folder(is, r, luck)
		}
	}
	f.kept = maps.Clone(f.now)
	return f
}

func (d *Disk) file(of *file, r *rand.Rand, luck float64) *file {
	b := append([]byte(nil), of.kept...)
	for _, c := range of.pending {
		if c.length {
			if r.Float64() < luck {
				b = c.apply(b)
			}
			continue
		}
		for _, c := range c.sectors() {
			if r.Float64() < luck {
				b = c.apply(b)
			}
		}
	}
	f := d.newFile()
	f.now, f.kept = b, append([]byte(nil), b...)
	return f
}

// sectors are the parts of a change that are written as a whole.
func (c *change) sectors() (list []change) {
	for at, data := c.at, c.data; len(data) > 0; {
		n := min(int64(len(data)), sector-at%sector)
		list = append(list, change{at: at, data: data[:n]})
		at, data = at+n, data[n:]
	}
	return list
}
