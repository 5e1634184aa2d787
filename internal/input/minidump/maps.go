package minidump

import (
	"bytes"

	"github.com/backsight/backsight/internal/procfs"
	"github.com/backsight/backsight/target"
)

// mapping is a line of /proc/PID/maps (proc(5)).
type mapping struct {
	target.Range
	off  uint64
	path string
	exec bool
}

// maxMaps bounds the mappings of files: each module is compared with all. Large programs have some thousand.
const maxMaps = 1 << 14

// maps are the mappings of files, in the order of their addresses; nil where the dump has none.
//
//	00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon
func (d *dump) maps() (list []mapping) {
	for line := range bytes.Lines(d.stream(linuxMaps)) {
		m, ok := procfs.ParseMapping(string(line[:min(len(line), maxString)]))
		if len(list) == maxMaps {
			break
		}
		if ok && m.Name != "" {
			list = append(list, mapping{target.Range{Lo: m.Lo, Hi: m.Hi}, m.Off, m.Name, m.Exec()})
		}
	}
	return list
}

// mappedAt is the mapping of a file that an address lies in.
func mappedAt(maps []mapping, addr uint64) (m mapping, ok bool) {
	for i := range maps {
		if maps[i].Contains(addr) {
			return maps[i], true
		}
	}
	return m, false
}

// extent is the range that begins at a mapping and goes on with those of the same file.
func extent(maps []mapping, r target.Range) target.Range {
	first, ok := mappedAt(maps, r.Lo)
	if !ok {
		return r
	}
	for i := range maps {
		if m := &maps[i]; m.path == first.path && m.Lo <= r.Hi && m.Hi > r.Hi {
			r.Hi = m.Hi
		}
	}
	return r
}
