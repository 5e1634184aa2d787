package gdbremote

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
)

// The auxiliary vector (include/uapi/linux/auxvec.h) tells the width and the byte order: that the size of a
// page is one is true in one of them only. It tells where the program headers lie, in front of which is the ELF header.
const (
	atPhdr    = 3
	atPageSz  = 6
	maxAux    = 256
	headerLen = 64
)

// mapped is the processor by the ELF header of a process's executable, nil where there is none.
func (c *Client) mapped(auxv []byte, archs cpu.Set) *cpu.Arch {
	for _, word := range []int{8, 4} {
		for _, big := range []bool{false, true} {
			v := auxvOf(auxv, word, big)
			if size := v[atPageSz]; size < 1<<12 || size > 1<<20 || size&(size-1) != 0 {
				continue
			}
			return c.headerBefore(v[atPhdr], word, big, archs)
		}
	}
	return nil
}

func auxvOf(data []byte, word int, big bool) map[uint64]uint64 {
	v := make(map[uint64]uint64)
	r := bin.New(data, big)
	for range maxAux {
		key, val := r.Uint(word), r.Uint(word)
		if r.Err() != nil || key == 0 {
			break
		}
		v[key] = val
	}
	return v
}

// headerBefore is the processor by the ELF header in front of program headers (gABI, ch. 4).
func (c *Client) headerBefore(phdr uint64, word int, big bool, archs cpu.Set) *cpu.Arch {
	var head [headerLen]byte
	n, _ := c.Memory(phdr&^(1<<12-1), head[:])
	r := bin.New(head[:n], big)
	if n < headerLen || string(head[:4]) != "\x7fELF" {
		return nil
	}
	r.Seek(18)
	machine := r.U16()
	r.Skip(uint64(4 + 3*word)) // e_version, e_entry, e_phoff, e_shoff
	a, ok := archs.ByELF(machine, head[4], big, r.U32(), 0)
	if !ok || r.Err() != nil {
		return nil
	}
	return a
}
