//go:build linux

package gcore

import (
	"cmp"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/backsight/backsight/internal/procfs"
)

// piece is memory from lo on: size bytes that are wanted, data that were there.
type piece struct {
	lo, size uint64
	data     []byte
	mode     string
}

// at is the mapping of an address, nil for none. Mappings are in the order of their addresses.
func at(maps []procfs.Mapping, addr uint64) *procfs.Mapping {
	i, found := slices.BinarySearchFunc(maps, addr, func(m procfs.Mapping, addr uint64) int { return cmp.Compare(m.Lo, addr) })
	if !found {
		i--
	}
	if i < 0 || addr >= maps[i].Hi {
		return nil
	}
	return &maps[i]
}

// overflow bounds how far below its stack an overflowed stack pointer is: the kernel leaves 1 MB free there (stack_guard_gap), and
// threads have a page that nobody may touch.
const overflow = 2 << 20

// stackOf is the mapping of a thread's stack, nil for none.
func stackOf(maps []procfs.Mapping, sp uint64) *procfs.Mapping {
	i := sort.Search(len(maps), func(i int) bool { return maps[i].Hi > sp })
	for ; i < len(maps) && maps[i].Lo <= sp+min(overflow, ^sp); i++ {
		if strings.HasPrefix(maps[i].Perms, "r") {
			return &maps[i]
		}
	}
	return nil
}

// fill copies memory, as much as there is.
func fill(mem io.ReaderAt, list []piece) {
	for i := range list {
		p := &list[i]
		p.data = make([]byte, p.size)
		n, _ := mem.ReadAt(p.data, int64(p.lo))
		p.data = p.data[:n]
	}
}

const page = 4096

// redZone is what lies below SP and is in use: 128 bytes on x86-64, up to a page on others.
const redZone = page

// stacks are the threads' stacks, from below SP on, each with its share of what is left. The first thread is the one that crashed, if any
// did.
func stacks(maps []procfs.Mapping, sps []uint64, opt *Options, left uint64) (list []piece) {
	for i, sp := range sps {
		m := stackOf(maps, sp)
		if m == nil {
			continue
		}
		most := min(opt.Others, left/uint64(len(sps)-i))
		if i == 0 {
			most = min(opt.Stack, left-left/4)
		}
		lo := max(m.Lo, (sp-redZone)&^(page-1))
		p := piece{lo: lo, size: min(m.Hi-lo, most), mode: m.Perms}
		left -= p.size
		list = append(list, p)
	}
	return apart(list)
}

// maxData bounds what is copied of one mapping beside stacks.
const maxData = 1 << 20

// rest is what else a backtrace needs, as far as there is room: the head of each file, data of binaries, the vDSO, code that no file has.
func rest(maps []procfs.Mapping, left uint64) (list []piece) {
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
		size = min(size, left)
		left -= size
		list = append(list, piece{lo: m.Lo, size: size, mode: m.Perms})
	}
	return list
}
