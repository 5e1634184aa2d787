package binaries

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// copies are the files of a node whose folder has nothing that is not elsewhere, too.
type copies struct {
	mu   sync.Mutex
	used int64 // bytes, where they were counted
	seen bool  // they were
}

// recent is how long a copy stays that was asked for, whatever the bound: for longer than a job has, which may open it yet.
const recent = 2 * time.Minute

// copied is a file, and when it was asked for last.
type copied struct {
	path string
	size int64
	at   time.Time
}

// asked says that a copy was asked for.
func asked(path string) error { return os.Chtimes(path, time.Now(), time.Time{}) }

// came makes room for what was added, of so many bytes: the copies go that were asked for longest ago. What a process has open
// stays until that is closed (unlink(2)).
func (f *Folder) came(size int64) error {
	if f.Remote == nil || f.Room == 0 {
		return nil
	}
	c := &f.copies
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used += size; c.seen && c.used <= f.Room {
		return nil
	}
	list, err := all(f.Dir.Dir)
	if err != nil {
		return err
	}
	c.seen, c.used = true, 0
	for _, one := range list {
		c.used += one.size
	}
	slices.SortFunc(list, func(a, b copied) int { return a.at.Compare(b.at) })
	for _, one := range list {
		if c.used <= f.Room || time.Since(one.at) < recent {
			break
		}
		if err := os.Remove(one.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_ = os.Remove(filepath.Dir(one.path)) // it has other files, else
		c.used -= one.size
	}
	return nil
}

// all are the files below a folder. What goes meanwhile is none.
func all(dir string) (list []copied, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !e.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		at := st.ModTime()
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && time.Unix(sys.Atim.Unix()).After(at) {
			at = time.Unix(sys.Atim.Unix())
		}
		list = append(list, copied{path, st.Size(), at})
		return nil
	})
	return list, err
}
