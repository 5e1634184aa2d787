//go:build linux

package crashdir

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// counts is crashes.json, open.
type counts struct{ file *os.File }

// program is how often a program crashed.
type program struct {
	Program string `json:"program"`
	Total   int    `json:"crashes"`
	Counted int    `json:"notReported"` // since the last that was
	Minute  int64  `json:"minute"`      // when the minute began
	Within  int    `json:"reported"`    // in that minute
}

// maxPrograms is how many programs are counted, and maxCounts how large the file is at most.
const maxPrograms, maxCounts = 64, 1 << 16

// Admit says whether a crash of a program may be reported; nil where it is only counted.
func (d *Dir) Admit(path string, when time.Time, pid int) (*Ticket, error) {
	if err := d.prepare(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(d.Path, "crashes.json"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	c := &counts{f}
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.unlock()
	list := c.read()
	p := find(&list, path[:min(len(path), 512)], when)
	p.Total++
	if p.Within >= d.Rate || !c.begin(d.Jobs) {
		p.Counted++
		c.write(list)
		c.close()
		return nil, nil
	}
	t := &Ticket{Counted: p.Counted, dir: d, counts: c, stem: stem(path, when, pid)}
	p.Within, p.Counted = p.Within+1, 0
	c.write(list)
	return t, nil
}

// find finds a program among those that are counted; where it is none, the one that crashed longest ago gives way.
func find(list *[]program, path string, when time.Time) *program {
	i := slices.IndexFunc(*list, func(p program) bool { return p.Program == path })
	if i < 0 {
		if len(*list) >= maxPrograms {
			slices.SortFunc(*list, func(x, y program) int { return cmp.Compare(y.Minute, x.Minute) })
			*list = (*list)[:maxPrograms-1]
		}
		i = len(*list)
		*list = append(*list, program{Program: path})
	}
	p := &(*list)[i]
	if since := when.Unix() - p.Minute; since >= 60 || since < 0 {
		p.Minute, p.Within = when.Unix(), 0
	}
	return p
}

// read are the programs; none where the file is not as it was written.
func (c *counts) read() (list []program) {
	data, _ := io.ReadAll(io.NewSectionReader(c.file, 0, maxCounts))
	if json.Unmarshal(data, &list) != nil || len(list) > maxPrograms {
		return nil
	}
	return list
}

// write writes in place: the file's locks would not go with another one. Where there is no room, what is counted is lost.
func (c *counts) write(list []program) {
	data, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return
	}
	if _, err := c.file.WriteAt(append(data, '\n'), 0); err == nil {
		_ = c.file.Truncate(int64(len(data)) + 1)
	}
}

// lock waits until this process alone uses the directory.
func (c *counts) lock() error { return c.setLock(unix.F_SETLKW, unix.F_WRLCK, 0) }

func (c *counts) unlock() { _ = c.setLock(unix.F_SETLK, unix.F_UNLCK, 0) } // closed already, or it succeeds

// begin takes one of so many locks for a crash that is worked on.
func (c *counts) begin(jobs int) bool {
	for i := range jobs {
		if c.setLock(unix.F_SETLK, unix.F_WRLCK, int64(i)+1) == nil {
			return true
		}
	}
	return false
}

func (c *counts) setLock(command int, kind int16, at int64) error {
	for {
		err := unix.FcntlFlock(c.file.Fd(), command, &unix.Flock_t{Type: kind, Start: at, Len: 1})
		if err != unix.EINTR {
			return err
		}
	}
}

func (c *counts) close() { _ = c.file.Close() } // nothing is written after that
