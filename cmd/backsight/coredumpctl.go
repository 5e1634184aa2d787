package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// coredumpDir is where systemd-coredump keeps cores (coredump.conf(5), Storage=external).
const coredumpDir = "/var/lib/systemd/coredump"

// storedCores are the newest cores in a folder of systemd-coredump of each of some programs or processes; of none, the newest of all.
func storedCores(dir string, matches []string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("--coredumpctl: %w", err)
	}
	if len(matches) == 0 {
		matches = []string{""}
	}
	for _, match := range matches {
		newest, when := "", uint64(0)
		for _, e := range entries {
			c, ok := parseStored(e.Name())
			if ok && c.is(match) && (newest == "" || c.when >= when) {
				newest, when = e.Name(), c.when
			}
		}
		if newest == "" {
			return nil, fmt.Errorf("--coredumpctl: no core of %s in %s", orAny(match), dir)
		}
		paths = append(paths, filepath.Join(dir, newest))
	}
	return paths, nil
}

func orAny(match string) string {
	if match == "" {
		return "any program"
	}
	return strconv.Quote(match)
}

// storedCore is what a core's name says. when is in microseconds.
type storedCore struct {
	comm string
	pid  int
	when uint64
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
	base := filepath.Base(match)
	return match == "" || match == strconv.Itoa(c.pid) || base[:min(len(base), kept)] == c.comm
}
