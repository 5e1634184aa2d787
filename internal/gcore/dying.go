//go:build linux

package gcore

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/backsight/backsight/internal/procfs"
)

// Dying makes a core of a process that the kernel dumps into stream (core(5), "Piping core dumps to a program"). What stands first there
// is read, registers and mappings; memory is the process's own, which is there for as long as the kernel waits for the reader. Where
// it is gone, memory is what comes in the stream.
func Dying(stream io.Reader, pid int, opt Options) (*Core, error) {
	start := time.Now()
	b, err := readDump(stream, opt.Archs)
	if err != nil {
		return nil, err
	}
	if len(b.threads) == 0 {
		return nil, errors.New("the dump has no thread's registers")
	}
	sps := append(b.sps(), b.interrupted()...) // before memory is read: the first thread's stack
	pieces := append(stacks(b.maps, sps, &opt, opt.total()/2), rest(b.maps, sps, opt.total()/2)...)
	dir := "/proc/" + strconv.Itoa(pid)
	core := &Core{Threads: procfs.InnerNames(dir), Missed: b.missed}
	if mem, err := b.memory(dir); err == nil {
		read := &memory{ReaderAt: mem}
		words := b.words(read)
		pieces = append(pieces, b.goroutines(words, b.golang(words, b.maps, opt.total()/2), opt.total()/2)...)
		pieces = append(pieces, b.registered(read, b.maps)...)
		b.pieces = apart(pieces)
		fill(0, mem, b.pieces, b.room)
		signalled := stacks(b.maps, b.interrupted(), &opt, opt.total()/4)
		fill(0, mem, signalled, nil)
		b.pieces = apart(append(b.pieces, signalled...))
		_ = mem.Close()
		core.Alive = b.is(procfs.Living(dir))
	}
	if !core.Alive { // what was read may be another process's with the same ID
		core.Threads, b.pieces = nil, apart(pieces)
		b.fromStream()
	}
	core.Stopped = time.Since(start)
	core.parts = b.core(b.kept)
	return core, nil
}

// is tells whether a process is the one that is dumped: the auxiliary vector has addresses that the kernel chose at random.
func (d *dump) is(dir string) bool {
	auxv, _ := os.ReadFile(dir + "/auxv")
	n := min(len(auxv), len(d.auxv))
	return n >= 16 && bytes.Equal(auxv[:n], d.auxv[:n])
}

// memory opens the memory of a process by one of its threads: the first may have ended before.
func (d *dump) memory(dir string) (*os.File, error) {
	tasks, _ := filepath.Glob(dir + "/task/*")
	for _, task := range tasks {
		if mem, err := os.Open(task + "/mem"); err == nil && d.is(task) {
			return mem, nil
		} else if err == nil {
			_ = mem.Close()
		}
	}
	return nil, os.ErrNotExist
}

// fromStream takes the pieces out of the memory in the stream, which comes in the order of the segments.
func (d *dump) fromStream() {
	for i := range d.pieces {
		d.pieces[i].data = nil
	}
	next := 0
	for i := range d.loads {
		l := &d.loads[i]
		for ; next < len(d.pieces) && d.pieces[next].lo < l.lo+l.filled; next++ {
			p := &d.pieces[next]
			if p.lo < l.lo {
				continue
			}
			size := min(p.size, l.lo+l.filled-p.lo)
			if p.data = d.in.piece(l.off+p.lo-l.lo, size); uint64(len(p.data)) < size {
				return
			}
		}
	}
}
