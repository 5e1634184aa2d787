package kernel

import (
	"bytes"
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/kallsyms"
	"github.com/backsight/backsight/internal/stepping"
)

// A kernel without headers does not say where it is linked. kallsyms says where its
// functions begin, and code says where they do: behind the end of another function. Only at
// the right distance between addresses and offsets do both agree.

const (
	pageSize = 4096
	// maxShift bounds the distance of _stext from the first byte: armhf's kernels have
	// 1 MB before it (0xc0208000 to 0xc0300000), for the sections' own mappings.
	maxShift = 32 << 20
	// maxSamples is how many functions are looked at, of all the kernel's.
	maxSamples = 128
)

// sample is the addresses of at most n functions, evenly spread.
func sample(t *kallsyms.Table, n int) (addrs []uint64) {
	var all []uint64
	t.Functions(func(addr, size uint64) bool {
		if size >= 16 {
			all = append(all, addr)
		}
		return true
	})
	for i := 0; i < len(all); i += len(all)/n + 1 {
		addrs = append(addrs, all[i])
	}
	return addrs
}

// shift finds where in the data the lowest symbol of code lies: functions begin where the
// samples lie then. On ARM constants stand between functions, so that a function can be seen
// to begin at half of the samples; elsewhere a tenth of them look like it by chance. false
// where no place stands out.
func shift(t *kallsyms.Table, arch *cpu.Arch, data []byte) (lowest, offset uint64, ok bool) {
	lowest, found := firstCode(t)
	samples := sample(t, maxSamples)
	if !found || len(samples) < 16 || arch.Decoder == nil {
		return 0, 0, false
	}
	best, second, where := 0, 0, uint64(0)
	for at := lowest % pageSize; at <= maxShift && best*4 <= len(samples)*3; at += pageSize {
		switch n := fits(samples, arch, data, lowest-at); {
		case n > best:
			best, second, where = n, best, at
		case n > second:
			second = n
		}
	}
	return lowest, where, best*4 > len(samples) && best > 2*second
}

func firstCode(t *kallsyms.Table) (addr uint64, ok bool) {
	t.Functions(func(a, _ uint64) bool {
		addr, ok = a, true
		return false
	})
	return addr, ok
}

// fits counts the addresses at which a function begins if the data's first byte lies at
// base. Most wrong bases are ruled out by the first samples.
func fits(samples []uint64, arch *cpu.Arch, data []byte, base uint64) (n int) {
	for i, addr := range samples {
		if i == 32 && n < 8 {
			return n
		}
		if off := addr - base; off < uint64(len(data)) && beginsAt(arch, data, off) {
			n++
		}
	}
	return n
}

// beginsAt tells whether a function may begin at an offset: what stands before is filler,
// a return, or a jump, with its delay slot; what stands there is not all zeros.
func beginsAt(arch *cpu.Arch, data []byte, off uint64) bool {
	const back = 8
	if off < back || off%arch.InsnAlign != 0 {
		return false
	}
	var buf [4]cpu.Insn
	if zeros := [back]byte{}; bytes.HasPrefix(data[off:], zeros[:]) {
		return false
	}
	n := arch.Decoder.Decode(data[off-back:off], off-back, 0, buf[:])
	if n == 0 {
		return false
	}
	last := stepping.Deciding(buf[:n])
	return last.Ends(arch.PC) || last.Flags&cpu.FlagPadding != 0
}

// returns counts the returns among the instructions of data's first bytes.
func returns(arch *cpu.Arch, data []byte) (n int) {
	var buf [256]cpu.Insn
	const most = 1 << 20
	for at := 0; at+4 <= min(len(data), most); {
		k := arch.Decoder.Decode(data[at:], uint64(at), 0, buf[:])
		if k == 0 {
			break
		}
		for i := range k {
			at += int(buf[i].Len)
			if buf[i].Op == cpu.OpReturn {
				n++
			}
		}
	}
	return n
}

// relocated finds where a relocatable kernel is linked, whose table of names has no base
// until the kernel has relocated itself: an entry of its relocation table (Elf64_Rela) says
// that the word with the base is to hold the address of the lowest symbol.
//
//	r_offset  the address of kallsyms_relative_base
//	r_info    R_AARCH64_RELATIVE or R_RISCV_RELATIVE
//	r_addend  the address of the lowest symbol
func relocated(data []byte, order binary.ByteOrder, baseAt int, lowestAt uint64) (base uint64, ok bool) {
	const entry = 24
	for at := 0; at+entry <= len(data); at += 8 {
		info := order.Uint64(data[at+8:])
		if info != rAArch64Relative && info != rRISCVRelative {
			continue
		}
		base = order.Uint64(data[at:]) - uint64(baseAt)
		if base%pageSize == 0 && base>>63 == 1 && base+lowestAt == order.Uint64(data[at+16:]) {
			return base, true
		}
	}
	return 0, false
}

const (
	rAArch64Relative = 1027
	rRISCVRelative   = 3
)
