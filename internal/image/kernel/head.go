package kernel

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/unpack"
)

// head is what the first bytes of a file say of the kernel in it.
type head struct {
	kind string
	// arch and abi are names of cpu.Arch, "" where nothing is said; order is the byte order
	// where that is said.
	arch, abi string
	order     binary.ByteOrder
	// offset and size are where the payload lies; size 0: somewhere.
	offset, size uint64
	load         uint64 // the payload's address, 0 unknown
}

// The heads' magic numbers and where they stand.
const (
	zImageMagic   = 0x016f2818 // at 0x24
	uImageMagic   = 0x27051956
	fitMagic      = 0xd00dfeed // a device tree, which a FIT image is
	bzImageHeader = 0x1f1
	uImageHeader  = 64
)

// readHead recognises the kinds of files that kernels come in.
func readHead(b []byte) (head, bool) {
	if len(b) < 64 {
		return head{}, false
	}
	le, be := binary.LittleEndian, binary.BigEndian
	switch {
	case string(b[0x38:0x3c]) == "ARM\x64":
		return head{kind: "arm64 Image", arch: "aarch64", order: order(b[24]&1 != 0)}, true
	case string(b[0x38:0x3c]) == "RSC\x05":
		return head{kind: "RISC-V Image", arch: "riscv64", order: le}, true
	case string(b[:2]) == "MZ" && string(b[4:8]) == "zimg":
		return head{kind: "EFI zboot image", offset: uint64(le.Uint32(b[8:])), size: uint64(le.Uint32(b[12:]))}, true
	case le.Uint32(b[0x24:]) == zImageMagic:
		return head{kind: "zImage", arch: "arm", order: le}, true
	case be.Uint32(b[0x24:]) == zImageMagic:
		return head{kind: "zImage", arch: "arm", order: be}, true
	case be.Uint32(b) == uImageMagic:
		return uImage(b), true
	case be.Uint32(b) == fitMagic:
		return head{kind: "FIT image"}, true
	case len(b) > 0x250 && string(b[0x202:0x206]) == "HdrS":
		return bzImage(b), true
	}
	return head{}, false
}

func order(big bool) binary.ByteOrder {
	if big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// bzImage: from boot protocol 2.08 on the header says where the payload lies, counted from
// the end of the real-mode code (Documentation/arch/x86/boot.rst). The kernel in it is an
// ELF file.
func bzImage(b []byte) head {
	h := head{kind: "bzImage", order: binary.LittleEndian}
	if binary.LittleEndian.Uint16(b[0x206:]) < 0x208 {
		return h
	}
	sectors := uint64(b[bzImageHeader])
	if sectors == 0 {
		sectors = 4
	}
	h.offset = (sectors+1)*512 + uint64(binary.LittleEndian.Uint32(b[0x248:]))
	h.size = uint64(binary.LittleEndian.Uint32(b[0x24c:]))
	return h
}

// uImage: U-Boot's legacy header, 64 bytes, big-endian.
func uImage(b []byte) head {
	h := head{kind: "uImage", offset: uImageHeader, size: uint64(binary.BigEndian.Uint32(b[12:]))}
	h.load = uint64(binary.BigEndian.Uint32(b[16:]))
	switch b[29] { // ih_arch
	case 2:
		h.arch = "arm"
	case 3:
		h.arch = "i386"
	case 5:
		h.arch, h.abi = "mips", "o32"
	case 6:
		h.arch, h.abi = "mips64", "n64"
		h.load = uint64(int64(int32(h.load)))
	case 22:
		h.arch, h.load = "aarch64", 0 // a physical address
	case 26:
		h.arch, h.load = "riscv64", 0
	}
	return h
}

// archOf finds the processor. Where only its name is said, the byte order decides in which
// the payload's functions return most often.
func (h *head) archOf(archs cpu.Set, data []byte) (*cpu.Arch, bool) {
	if h.arch == "" {
		return nil, false
	}
	if h.order != nil {
		return archs.ByName(h.arch, h.abi, h.order == binary.ByteOrder(binary.BigEndian))
	}
	little, ok := archs.ByName(h.arch, h.abi, false)
	if big, both := archs.ByName(h.arch, h.abi, true); both && (!ok || returns(big, data) > returns(little, data)) {
		return big, true
	}
	return little, ok
}

// limits of what a kernel decompresses to, and of how many magic numbers are tried.
const (
	maxKernel       = 512 << 20
	unpackFloor     = 64 << 20
	unpackedPerByte = 64
	maxTries        = 64
	magicsPerFormat = 1024
	leastUnpacked   = 1 << 16
)

// search finds the payload: where the head says, else at the first magic number of a
// compression behind which a kernel, or another wrapper of one, lies. nil if nowhere.
//
// Bytes of the decompressor may look like a magic number: Debian's MIPS kernels have the
// xz magic twice, 16 bytes apart, the first time in the decompressor's own data.
func (h head) search(ctx context.Context, data []byte) []byte {
	if h.size != 0 && h.offset < uint64(len(data)) {
		stated := data[h.offset:]
		stated = stated[:min(uint64(len(stated)), h.size)]
		if f, ok := unpack.Recognise(stated); ok {
			if out, _ := f.Unpack(stated, bound(stated)); holdsKernel(out) {
				return out
			}
		}
		if holdsKernel(stated) {
			return stated
		}
	}
	if h.kind == "" {
		if f, ok := unpack.Recognise(data); ok {
			if out, _ := f.Unpack(data, bound(data)); holdsKernel(out) {
				return out
			}
			return nil
		}
	}
	places := magics(data)
	for _, at := range places[:min(len(places), maxTries)] {
		if ctx.Err() != nil {
			return nil
		}
		f, _ := unpack.Recognise(data[at:])
		if out, _ := f.Unpack(data[at:], bound(data)); holdsKernel(out) {
			return out
		}
	}
	return nil
}

func bound(packed []byte) int {
	return min(maxKernel, unpackFloor+unpackedPerByte*len(packed))
}

// magics are the offsets at which a compressed stream may begin, ascending.
func magics(data []byte) (places []int) {
	for _, f := range unpack.Formats() {
		for at := 0; len(places) < magicsPerFormat; {
			n := f.Index(data[at:])
			if n < 0 {
				break
			}
			if places = append(places, at+n); len(places) == magicsPerFormat {
				break
			}
			at += n + 1
		}
	}
	slices.Sort(places)
	return places
}

// holdsKernel tells whether decompressed bytes are a kernel, or what a kernel is wrapped in.
func holdsKernel(b []byte) bool {
	if len(b) < leastUnpacked {
		return false
	}
	if bytes.Contains(b, banner) {
		return true
	}
	_, wrapped := readHead(b)
	return wrapped || isELF(b)
}
