//go:build linux

package gcore

import (
	"cmp"
	"io"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"github.com/backsight/backsight/internal/procfs"
	"golang.org/x/sys/unix"
)

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

// fill copies memory, as much as there is, into room if that is enough: of a process pid that stands still many pieces with each system
// call, else piece by piece.
func fill(pid int, mem io.ReaderAt, list []piece, room []byte) {
	size := uint64(0)
	for i := range list {
		size += list[i].size
	}
	if uint64(len(room)) < size {
		room = make([]byte, size)
	}
	for i := range list {
		p := &list[i]
		p.data, room = room[:p.size:p.size], room[p.size:]
	}
	for len(list) > 0 {
		n := copied(pid, list)
		for list = list[n:]; n == 0; n = 1 { // a piece that the call has not copied, or not all of
			k, _ := mem.ReadAt(list[0].data, int64(list[0].lo))
			list[0].data, list = list[0].data[:k], list[1:]
		}
	}
}

// most is how many pieces a system call copies (IOV_MAX, include/uapi/linux/uio.h).
const most = 1024

// copied copies the first pieces, which have their room side by side, by one system call, and returns how many it has copied.
func copied(pid int, list []piece) (n int) {
	var there [most]unix.RemoteIovec
	size := 0
	for n < min(len(list), most) && pid != 0 && list[n].lo+list[n].size <= uint64(^uintptr(0)) {
		there[n] = unix.RemoteIovec{Base: uintptr(list[n].lo), Len: int(list[n].size)}
		size += int(list[n].size)
		n++
	}
	if size == 0 {
		return 0
	}
	here := unix.Iovec{Base: unsafe.SliceData(list[0].data)}
	here.SetLen(size)
	got, err := unix.ProcessVMReadv(pid, []unix.Iovec{here}, there[:n], 0)
	for i := range n {
		if got -= int(list[i].size); got < 0 || err != nil {
			return i
		}
	}
	return n
}

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
// Stacks, which are executable on MIPS, are no such code.
func rest(maps []procfs.Mapping, sps []uint64, left uint64) (list []piece) {
	sps = slices.Sorted(slices.Values(sps))
	stack := func(m *procfs.Mapping) bool {
		i, _ := slices.BinarySearch(sps, m.Lo)
		return i < len(sps) && sps[i] < m.Hi
	}
	for i := range maps {
		m := &maps[i]
		if !strings.HasPrefix(m.Perms, "r") {
			continue
		}
		size := min(m.Hi-m.Lo, maxData)
		switch noFile := m.Inode == 0 || strings.HasSuffix(m.Name, " (deleted)"); {
		case m.Name == "[vdso]", m.Inode != 0 && strings.Contains(m.Perms, "w"), noFile && m.Exec() && !stack(m):
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
