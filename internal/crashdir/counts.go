//go:build linux

package crashdir

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/backsight/backsight/internal/visible"
	"golang.org/x/sys/unix"
)

// counts is crashes.json, open.
type counts struct{ file *os.File }

// program is how often a program crashed.
type program struct {
	Program string // as safe makes it
	Total   int
	Counted int   // since the last that was reported
	Minute  int64 // when the minute began
	Within  int   // reported in that minute
}

// line is a line of crashes.json. The file has no other form, and encoding/json would be the largest part of the handler on a device.
const line = ` {"program": "%s", "crashes": %d, "notReported": %d, "minute": %d, "reported": %d}`

// safe is a path that stands in JSON, and on a terminal, as it is: programs whose paths differ in other characters are one.
func safe(path string) string {
	return strings.NewReplacer(`"`, "?", `\`, "?").Replace(visible.Line(path[:min(len(path), 512)]))
}

// programOf reads a line.
func programOf(text string) (p program, ok bool) {
	const words = 13 // between quotation marks
	parts := strings.Split(text, `"`)
	if len(parts) != words {
		return p, false
	}
	var n [4]int64
	for i := range n {
		v, err := strconv.ParseInt(strings.Trim(parts[6+2*i], ":, }"), 10, 64)
		if err != nil || v < 0 {
			return p, false
		}
		n[i] = v
	}
	p = program{Program: parts[3], Total: int(n[0]), Counted: int(n[1]), Minute: n[2], Within: int(n[3])}
	return p, fmt.Sprintf(line, p.Program, p.Total, p.Counted, p.Minute, p.Within) == strings.TrimSuffix(text, ",")
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
	p := find(&list, safe(path), when)
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
			sort.Slice(*list, func(x, y int) bool { return (*list)[x].Minute > (*list)[y].Minute })
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
	inner, open := strings.CutPrefix(string(data), "[\n")
	inner, closed := strings.CutSuffix(inner, "\n]\n")
	if !open || !closed {
		return nil
	}
	for text := range strings.SplitSeq(inner, "\n") {
		p, ok := programOf(text)
		if !ok || len(list) == maxPrograms {
			return nil
		}
		list = append(list, p)
	}
	return list
}

// write writes in place: the file's locks would not go with another one. Where there is no room, what is counted is lost.
func (c *counts) write(list []program) {
	data := []byte("[\n")
	for i, p := range list {
		if i > 0 {
			data = append(data, ",\n"...)
		}
		data = fmt.Appendf(data, line, p.Program, p.Total, p.Counted, p.Minute, p.Within)
	}
	data = append(data, "\n]\n"...)
	if _, err := c.file.WriteAt(data, 0); err == nil {
		_ = c.file.Truncate(int64(len(data)))
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
