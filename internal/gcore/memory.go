//go:build linux

package gcore

import (
	"os"
	"strings"

	"github.com/backsight/backsight/internal/procfs"
)

// piece is memory that was copied, from lo on.
type piece struct {
	lo   uint64
	data []byte
	mode string
}

// at is the mapping of an address, nil for none.
func at(maps []procfs.Mapping, addr uint64) *procfs.Mapping {
	for i := range maps {
		if m := &maps[i]; m.Lo <= addr && addr < m.Hi {
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
func stacks(mem *os.File, maps []procfs.Mapping, sps []uint64, most uint64) (list []piece) {
	for _, sp := range sps {
		m := at(maps, sp)
		if m == nil || !strings.HasPrefix(m.Perms, "r") {
			continue
		}
		lo := max(m.Lo, (sp-redZone)&^(page-1))
		list = append(list, read(mem, lo, min(m.Hi-lo, most), m.Perms))
	}
	return list
}

// maxData bounds what is copied of one mapping beside stacks.
const maxData = 1 << 20

// rest copies what else a backtrace needs: the head of each file, data of binaries, the vDSO, code that no file has.
func rest(mem *os.File, maps []procfs.Mapping) (list []piece) {
	for i := range maps {
		m := &maps[i]
		if !strings.HasPrefix(m.Perms, "r") {
			continue
		}
		size := min(m.Hi-m.Lo, maxData)
		switch noFile := m.Inode == 0 || strings.HasSuffix(m.Name, " (deleted)"); {
		case m.Name == "[vdso]", m.Inode != 0 && strings.Contains(m.Perms, "w"), noFile && m.Exec():
		case m.Inode != 0 && m.Off == 0:
			size = min(size, page)
		default:
			continue
		}
		list = append(list, read(mem, m.Lo, size, m.Perms))
	}
	return list
}
