//go:build linux

package gcore

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// mapping is a line of /proc/PID/maps.
type mapping struct {
	lo, hi, off uint64
	mode, name  string
	inode       uint64
}

// piece is memory that was copied, from lo on.
type piece struct {
	lo   uint64
	data []byte
	mode string
}

// readMaps reads the mappings of a process:
//
//	7f5ccf516000-7f5ccf66b000 r-xp 00026000 fe:00 326269   /usr/lib/libc.so.6
func readMaps(dir string) (list []mapping, err error) {
	data, err := os.ReadFile(dir + "/maps")
	for line := range bytes.Lines(data) {
		var m mapping
		var device string
		if n, _ := fmt.Sscanf(string(line), "%x-%x %s %x %s %d", &m.lo, &m.hi, &m.mode, &m.off, &device, &m.inode); n < 6 {
			continue
		}
		if f := strings.SplitN(strings.TrimRight(string(line), "\n"), " ", 6); len(f) == 6 {
			m.name = strings.TrimLeft(f[5], " 0123456789")
		}
		list = append(list, m)
	}
	return list, err
}

// at is the mapping of an address, nil for none.
func at(maps []mapping, addr uint64) *mapping {
	for i := range maps {
		if m := &maps[i]; m.lo <= addr && addr < m.hi {
			return m
		}
	}
	return nil
}

// read copies memory, as much as there is.
func read(mem *os.File, lo, size uint64, mode string) piece {
	data := make([]byte, size)
	n, _ := mem.ReadAt(data, int64(lo))
	return piece{lo, data[:n], mode}
}

const page = 4096

// redZone is what lies below SP and is in use: 128 bytes on x86-64, up to a page on others.
const redZone = page

// stacks copies the threads' stacks, from below SP on.
func stacks(mem *os.File, maps []mapping, sps []uint64, most uint64) (list []piece) {
	for _, sp := range sps {
		m := at(maps, sp)
		if m == nil || !strings.HasPrefix(m.mode, "r") {
			continue
		}
		lo := max(m.lo, (sp-redZone)&^(page-1))
		list = append(list, read(mem, lo, min(m.hi-lo, most), m.mode))
	}
	return list
}

// maxData bounds what is copied of one mapping beside stacks.
const maxData = 1 << 20

// rest copies what else a backtrace needs: the head of each file, data of binaries, the vDSO, code that no file has.
func rest(mem *os.File, maps []mapping) (list []piece) {
	for i := range maps {
		m := &maps[i]
		if !strings.HasPrefix(m.mode, "r") {
			continue
		}
		size := min(m.hi-m.lo, maxData)
		switch noFile := m.inode == 0 || strings.HasSuffix(m.name, " (deleted)"); {
		case m.name == "[vdso]", m.inode != 0 && m.mode[1] == 'w', noFile && m.mode[2] == 'x':
		case m.inode != 0 && m.off == 0:
			size = min(size, page)
		default:
			continue
		}
		list = append(list, read(mem, m.lo, size, m.mode))
	}
	return list
}
