package diagnose

import (
	"fmt"

	"github.com/backsight/backsight/target"
)

// nullPage bounds the lowest 64 KiB, which Linux does not let programs map (vm.mmap_min_addr). An
// access to a member of a structure through a NULL pointer goes there, at the member's offset.
const nullPage = 0x10000

// placeOf says in words what lies at a target address; "" where the capture does not tell.
// Nothing is said of an address without captured memory: it may have been mapped and left out.
func placeOf(snap *target.Snapshot, addr uint64) string {
	if addr < nullPage && snap.OS == "Linux" {
		return nullPlus(addr)
	}
	if !canonical(snap, addr) {
		return notTranslated
	}
	if m, ok := snap.ModuleAt(addr); ok {
		return permOf(snap, m, addr) + " " + m.Base()
	}
	for i := range snap.Threads {
		t := &snap.Threads[i]
		if r := snap.Of(t).StackOf(t); r.Contains(addr) {
			return fmt.Sprintf("the stack of thread %d", t.ID)
		}
	}
	p, ok := snap.Memory.PermAt(addr)
	if !ok || p == target.PermUnknown {
		return ""
	}
	if block := heapBlock(snap, addr); block != "" && p&target.PermWrite != 0 {
		return block
	}
	return permWords(p) + " memory of no file"
}

// nullPlus is an address of the lowest pages as programmers think of it.
func nullPlus(addr uint64) string {
	if addr == 0 {
		return "NULL"
	}
	return fmt.Sprintf("NULL%+#x", addr)
}

// notTranslated is the place of an address that is not canonical.
const notTranslated = "no address that this processor can translate"

// canonical tells whether the bits of an x86-64 address above the 47th are its sign.
func canonical(snap *target.Snapshot, addr uint64) bool {
	if snap.Arch.Name != "x86_64" {
		return true
	}
	top := int64(addr) >> 47
	return top == 0 || top == -1
}

// permOf says which part of a module lies at addr.
func permOf(snap *target.Snapshot, m *target.Module, addr uint64) string {
	if m.Image != nil {
		if s, ok := m.Image.Segments.At(m.ToImage(addr)); ok {
			switch {
			case s.Exec:
				return "the code of"
			case s.Write:
				return "the data of"
			}
			return "the read-only data of"
		}
	}
	if p, ok := snap.Memory.PermAt(addr); ok && p != target.PermUnknown {
		return permWords(p) + " memory of"
	}
	return "a part of"
}

func permWords(p target.Perm) string {
	switch {
	case p&target.PermExec != 0:
		return "executable"
	case p&target.PermWrite != 0:
		return "writable"
	}
	return "read-only"
}
