// Package crashdir keeps reports of crashes in a directory: so many, of so many bytes, of each program so many a minute. What is too much
// is counted. Several processes may do that in one directory at once.
//
//	crash-TIME-PROGRAM-PID.txt, .json, .core   a crash; the oldest go first
//	crashes.json                               how often each program crashed
//
// Only files with such names are counted and removed. Locks are those of bytes of crashes.json (fcntl(2), F_SETLK), which end with their
// process: the first byte's for who reads or writes, one more for each crash that is worked on.
package crashdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/backsight/backsight/internal/outfile"
)

// Dir is such a directory, and its bounds.
type Dir struct {
	Path    string
	Crashes int   // that are kept
	Bytes   int64 // of all their files
	Rate    int   // of a program that are reported in a minute
	Jobs    int   // that are worked on at once
}

// Ticket allows one crash to be reported. Whoever has it ends it.
type Ticket struct {
	// Counted is how many crashes of the program before this one were only counted.
	Counted int
	dir     *Dir
	stem    string
	counts  *counts
}

// End lets another crash be worked on.
func (t *Ticket) End() { t.counts.close() }

// crash is what is kept of one: its files begin with stem.
type crash struct {
	stem  string
	when  int64
	files []string
	bytes int64
}

const prefix = "crash-"

// stem is the beginning of the names of a crash's files.
func stem(program string, when time.Time, pid int) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._+-", r)) {
			return r
		}
		return '_'
	}, filepath.Base(program))
	return fmt.Sprintf("%s%d-%s-%d", prefix, when.Unix(), name[:min(len(name), 64)], pid)
}

// parse reads the name of a file; ok is false for those of others.
func parse(name string) (stem string, when int64, ok bool) {
	ext := filepath.Ext(name)
	if !slices.Contains([]string{".txt", ".json", ".core"}, ext) {
		return "", 0, false
	}
	stem = strings.TrimSuffix(name, ext)
	rest, ours := strings.CutPrefix(stem, prefix)
	seconds, rest, has := strings.Cut(rest, "-")
	_, err := strconv.ParseUint(rest[strings.LastIndex(rest, "-")+1:], 10, 32)
	when, bad := strconv.ParseInt(seconds, 10, 64)
	return stem, when, ours && has && err == nil && bad == nil && strings.Contains(rest, "-")
}

// abandoned is how old a temporary file is whose writer was killed.
const abandoned = 10 * time.Minute

// list are the crashes that the directory has, the oldest first. It removes what killed writers left.
func (d *Dir) list() (list []crash, err error) {
	entries, err := os.ReadDir(d.Path)
	for _, e := range entries {
		st, err := e.Info()
		if err != nil || !st.Mode().IsRegular() {
			continue
		}
		if outfile.Temporary(e.Name()) && time.Since(st.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(d.Path, e.Name()))
		}
		stem, when, ok := parse(e.Name())
		if !ok {
			continue
		}
		if len(list) == 0 || list[len(list)-1].stem != stem { // entries are sorted
			list = append(list, crash{stem: stem, when: when})
		}
		c := &list[len(list)-1]
		c.files, c.bytes = append(c.files, e.Name()), c.bytes+st.Size()
	}
	sort.SliceStable(list, func(x, y int) bool { return list[x].when < list[y].when })
	return list, err
}

// makeRoom removes the oldest crashes but one until there is room for size bytes of that one.
func (d *Dir) makeRoom(keep string, size int64) error {
	list, err := d.list()
	if err != nil {
		return err
	}
	crashes, sum := 1, size
	for i := range list {
		sum += list[i].bytes
		if list[i].stem != keep {
			crashes++
		}
	}
	for i := range list {
		if crashes <= d.Crashes && sum <= d.Bytes {
			return nil
		}
		if list[i].stem != keep {
			d.remove(&list[i])
			crashes, sum = crashes-1, sum-list[i].bytes
		}
	}
	if sum > d.Bytes {
		return fmt.Errorf("%s: a report of %d bytes is larger than the bound of %d", d.Path, size, d.Bytes)
	}
	return nil
}

func (d *Dir) remove(c *crash) {
	for _, f := range c.files {
		_ = os.Remove(filepath.Join(d.Path, f)) // another process may have
	}
}

// removeOldest removes the oldest crash but one; false: there is none.
func (d *Dir) removeOldest(keep string) bool {
	list, _ := d.list()
	for i := range list {
		if list[i].stem != keep {
			d.remove(&list[i])
			return true
		}
	}
	return false
}

// Write writes a file of the crash, with an extension: .txt, .json or .core. Where the disk is full, the oldest crashes make room.
func (t *Ticket) Write(ctx context.Context, ext string, data []byte) error {
	if err := t.counts.lock(); err != nil {
		return err
	}
	defer t.counts.unlock()
	if err := t.dir.makeRoom(t.stem, int64(len(data))); err != nil {
		return err
	}
	path := filepath.Join(t.dir.Path, t.stem+ext)
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s: not a file of ours", path)
	}
	for {
		err := outfile.Write(ctx, path, 0o600, func(f *os.File) error {
			_, err := f.Write(data)
			return err
		})
		if !errors.Is(err, syscall.ENOSPC) || !t.dir.removeOldest(t.stem) {
			return err
		}
	}
}

// prepare makes the directory. Where others may write, they could put links in the place of files.
func (d *Dir) prepare() error {
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return err
	}
	st, err := os.Stat(d.Path)
	if err == nil && (!st.IsDir() || st.Mode().Perm()&0o022 != 0) {
		err = fmt.Errorf("%s: others may write there: chmod go-w", d.Path)
	}
	return err
}
