package jitnames

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/mapped"
)

// maxFile bounds what is read of a file, in bytes.
const maxFile = 256 << 20

// Source is where the names of a process's functions are. The files may grow as long as the process runs. It is safe for concurrent use.
type Source struct {
	mu    sync.Mutex
	dumps []string
	read  string // what was read last, and how long that was
	names *index // of the functions that the files have; nil: there are none
	logs  map[string][]*function
	code  *code // of those of names whose code a log has; nil: not asked for yet
	drawn int   // functions of code for which Split had room
}

// maxDumps bounds the logs of a process: each run-time in it has one.
const maxDumps = 16

// Mapped takes a file that the process has mapped, and tells whether that is such a log. The number in its name is the process' own, in
// a container another than outside, or that of the process from which it was forked.
func (s *Source) Mapped(file string) bool {
	name, is := strings.CutPrefix(path.Base(file), "jit-")
	number, dump := strings.CutSuffix(name, ".dump")
	if !is || !dump {
		return false
	}
	if _, err := strconv.ParseUint(number, 10, 32); err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.dumps) < maxDumps && !slices.Contains(s.dumps, file) {
		s.dumps = append(s.dumps, file)
	}
	return true
}

// Names names the code of process pid by target address: a function and where that begins. Nothing is read before it is asked.
// anyMoment: it is asked for addresses of earlier moments, too.
func (s *Source) Names(ctx context.Context, files *input.Files, pid int, anyMoment bool) func(addr uint64) (name string, entry uint64, ok bool) {
	now := sync.OnceValue(func() *index {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.load(ctx, files, pid)
		return s.names
	})
	return func(addr uint64) (string, uint64, bool) {
		f := now().named(addr, anyMoment)
		if f == nil {
			return "", 0, false
		}
		return f.name, f.addr, true
	}
}

// load reads the files, if they have changed since. s.mu is held.
func (s *Source) load(ctx context.Context, files *input.Files, pid int) {
	var paths []string
	for _, name := range append([]string{fmt.Sprintf("/tmp/perf-%d.map", pid)}, s.dumps...) {
		paths = append(paths, files.At(name)...)
	}
	state := stateOf(files.Disk(), paths)
	if state == s.read {
		return
	}
	var list []*function
	var logs map[string][]*function
	for _, p := range paths {
		data := contents(files.Disk(), p)
		if dump, ok := parseDump(ctx, p, data); ok {
			keep(dump, s.logs[p])
			if list = append(list, dump...); logs == nil {
				logs = map[string][]*function{}
			}
			logs[p] = dump
		} else {
			list = append(list, parseMap(ctx, data)...)
		}
	}
	s.read, s.names, s.logs, s.code = state, nil, logs, nil
	if len(list) > 0 { // most programs make none, and a recording has many
		s.names = newIndex(list)
	}
}

// keep replaces what a log begins with by what was read of it before it grew: these may have images.
func keep(now, before []*function) {
	for i := range min(len(now), len(before)) {
		if now[i].addr == before[i].addr && now[i].code == before[i].code && now[i].time == before[i].time {
			now[i] = before[i]
		}
	}
}

// stateOf is what tells that files have changed.
func stateOf(disk mapped.Disk, paths []string) string {
	var b strings.Builder
	for _, p := range paths {
		if st, err := disk.Stat(p); err == nil {
			fmt.Fprintf(&b, "%s\x00%d\x00%d\x00", p, st.Size(), st.ModTime().UnixNano())
		}
	}
	return b.String()
}

// opened is a file of a user who is trusted, as perf asks for: anybody may write to /tmp. It is nil without such a file: nothing has a
// name then, as where no run-time wrote any.
func opened(disk mapped.Disk, p string) mapped.File {
	f, err := disk.Open(p)
	if err != nil {
		return nil
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() || disk.FS == nil && !trusted(st) {
		_ = f.Close() // nothing was written
		return nil
	}
	return f
}

// contents are the bytes of a file.
func contents(disk mapped.Disk, p string) []byte {
	f := opened(disk, p)
	if f == nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxFile)) // what could be read counts
	return data
}

// trustedOwner tells whether a file of a user is believed by another.
func trustedOwner(owner, reader int) bool { return owner == 0 || owner == reader || reader == 0 }
