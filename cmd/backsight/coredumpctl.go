package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// coredumpDir is where systemd-coredump keeps cores (coredump.conf(5), Storage=external).
const coredumpDir = "/var/lib/systemd/coredump"

// coreStore is where systemd-coredump keeps cores: in a folder, or in the journal (coredump.conf(5), Storage=).
type coreStore struct {
	dir       string
	warn      func(string)
	temporary []string // files, removed by close
}

// cores are the newest cores of each of some programs or processes; of none, the newest of all.
func (s *coreStore) cores(ctx context.Context, matches []string) (paths []string, err error) {
	entries, err := os.ReadDir(s.dir)
	list := journaled(ctx)
	if err != nil && len(list) == 0 {
		return nil, fmt.Errorf("--coredumpctl: %w", err)
	}
	for _, e := range entries {
		c, ok := parseStored(e.Name())
		if !ok {
			continue
		}
		i := slices.IndexFunc(list, func(o storedCore) bool { return o.pid == c.pid && o.when == c.when })
		if i < 0 {
			i, list = len(list), append(list, c)
		}
		list[i].path = filepath.Join(s.dir, e.Name())
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].when > list[j].when })
	if len(matches) == 0 {
		matches = []string{""}
	}
	for _, match := range matches {
		path := s.newest(ctx, list, match)
		if path == "" {
			return nil, fmt.Errorf("--coredumpctl: no core of %s in %s, and none in the journal", orAny(match), s.dir)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// newest is the path of the newest core that matches, "" for none. It says which crashes have no core any more.
func (s *coreStore) newest(ctx context.Context, list []storedCore, match string) string {
	const most = 3 // said, and looked for in the journal
	gone := 0
	for i := range list {
		c := &list[i]
		if !c.is(match) || ctx.Err() != nil || gone >= most {
			continue
		}
		if c.path != "" && exists(c.path) {
			return c.path
		}
		path, err := s.extracted(ctx, c)
		if err == nil {
			return path
		}
		s.warn(fmt.Sprintf("--coredumpctl: the core of %s is not kept: %v", c.of(), err))
		gone++
	}
	return ""
}

// close removes what was taken out of the journal.
func (s *coreStore) close() {
	for _, path := range s.temporary {
		_ = os.Remove(path)
	}
}

func orAny(match string) string {
	if match == "" {
		return "any program"
	}
	return strconv.Quote(match)
}

// storedCore is what a core's name, or an entry of the journal, says. when is in microseconds.
type storedCore struct {
	comm   string
	exe    string // its path; "": unknown
	pid    int
	when   uint64
	path   string // of the core; "": there is none
	cursor string // of the journal's entry, "" for none
}

// parseStored reads the name of a core, core.COMM.UID.BOOTID.PID.TIME, with .zst, .lz4 or .xz where it is compressed; blanks, dots and
// slashes of COMM are written as \x20 (systemd's src/coredump/coredump.c, make_filename).
func parseStored(name string) (c storedCore, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) < 6 || len(parts) > 7 || parts[0] != "core" {
		return c, false
	}
	pid, err := strconv.Atoi(parts[4])
	when, bad := strconv.ParseUint(parts[5], 10, 64)
	c.comm, c.pid, c.when = unescaped(parts[1]), pid, when
	return c, err == nil && bad == nil
}

// unescaped has bytes for \x20 and its like.
func unescaped(name string) string {
	first, rest, more := strings.Cut(name, `\x`)
	if !more {
		return name
	}
	if v, err := strconv.ParseUint(rest[:min(2, len(rest))], 16, 8); err == nil && len(rest) >= 2 {
		return first + string([]byte{byte(v)}) + unescaped(rest[2:])
	}
	return first + `\x` + unescaped(rest)
}

// is tells whether a core is of a program or a process. Linux keeps 15 bytes of a program's name.
func (c *storedCore) is(match string) bool {
	const kept = 15
	if c.exe != "" && strings.Contains(match, "/") {
		return match == c.exe
	}
	base := filepath.Base(match)
	return match == "" || match == strconv.Itoa(c.pid) || base[:min(len(base), kept)] == c.comm
}
