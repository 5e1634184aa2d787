// Package kernel opens Linux kernels as machines boot them: the kernel unwraps itself, so
// that the file has headers of boot loaders, a decompressor, and the compressed kernel.
//
//	bzImage, zImage, EFI zboot, uImage, FIT, MIPS's ELF with a payload ─► unwrap ─┐
//	Image.gz, vmlinux.xz, … ───────────────────────────────────────────► unpack ─┤
//	Image, vmlinux.bin ─────────────────────────────────────────────────────────┴─► flat: link address, kallsyms
//	vmlinux ────────────────────────────────────────────────────────────────────► ELF: kallsyms where it is stripped
//
// Names come from the kallsyms tables that the kernel carries.
//
// Specifications: Documentation/arch/x86/boot.rst, arm64/booting.rst,
// riscv/boot-image-header.rst, arm/booting.rst, drivers/firmware/efi/libstub/zboot-header.S;
// U-Boot's include/image.h.
package kernel

import (
	"bytes"
	"context"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/kallsyms"
	"github.com/backsight/backsight/internal/unpack"
)

// Format describes this package to image.Open. It comes before ELF, whose files it takes
// where they are loaded into the kernel's half of the address space.
func Format() image.Format {
	return image.Format{Name: "kernel", Sniff: sniff, Open: open}
}

func sniff(head []byte) bool {
	if _, ok := readHead(head); ok {
		return true
	}
	_, packed := unpack.Recognise(head)
	return packed || isKernelELF(head)
}

// isKernelELF tells whether an ELF file's first segment or its entry lies in the upper half
// of the address space.
func isKernelELF(head []byte) bool {
	if len(head) < 64 || string(head[:4]) != "\x7fELF" || head[4] != 1 && head[4] != 2 || head[5] != 1 && head[5] != 2 {
		return false
	}
	word, vaddr := 4*int(head[4]), uint64(8*head[4]) // p_vaddr: behind two or three fields
	r := bin.New(head, head[5] == 2)
	r.Seek(24)
	entry, phoff := r.Uint(word), r.Uint(word)
	first := uint64(0)
	if phoff != 0 && phoff < uint64(len(head)) {
		r = bin.NewAt(head, phoff+vaddr, head[5] == 2)
		first = r.Uint(word)
	}
	upper := uint64(1) << (8*word - 1)
	return (entry|first)&upper != 0
}

// banner begins linux_banner, which every kernel has, and no decompressor.
var banner = []byte("Linux version ")

// open unwraps the file.
func open(f *image.File, opt image.Options) (*image.Image, error) {
	p := payload{ctx: opt.Context, data: f.Data, arch: opt.Raw}
	for range maxWraps {
		h, _ := readHead(p.data)
		p.learn(h)
		kernel, inner := h.size == 0 && bytes.Contains(p.data, banner), []byte(nil)
		if !kernel {
			inner = h.search(p.ctx, p.data)
		}
		switch {
		case isELF(p.data):
			img, err := p.elf(f, opt)
			if err != nil || inner == nil {
				return img, err
			}
			p.arch = img.Arch // a decompressor: MIPS's kernels
		case kernel && !p.findArch(opt.Archs):
			return nil, f.Errorf(0, "a kernel without headers, of a processor that nothing tells; it needs to be stated")
		case kernel:
			return p.flat(f), nil
		case inner == nil:
			return nil, f.Errorf(0, "no kernel was found in this %s", kindOf(h))
		}
		p.data, p.owned = inner, true
	}
	return nil, f.Errorf(0, "a kernel that is wrapped more than %d times", maxWraps)
}

// maxWraps bounds how often a kernel is wrapped: a uImage of a zImage of a kernel.
const maxWraps = 4

func kindOf(h head) string {
	if h.kind == "" {
		return "file"
	}
	return h.kind
}

func isELF(b []byte) bool { return bytes.HasPrefix(b, []byte("\x7fELF")) }

// payload is what was unwrapped so far.
type payload struct {
	ctx   context.Context // ends searches
	data  []byte
	owned bool      // data was decompressed, and is not the file's
	arch  *cpu.Arch // nil: not known, or told by said
	said  head      // the last head that named a processor
	load  uint64    // where a wrapper says that the payload is loaded
}

// learn keeps what a head says.
func (p *payload) learn(h head) {
	if h.arch != "" {
		p.said = h
	}
	if h.load != 0 {
		p.load = h.load
	}
}

// findArch finds the processor of the innermost payload.
func (p *payload) findArch(archs cpu.Set) bool {
	if a, ok := p.said.archOf(archs, p.data); ok {
		p.arch = a
	}
	return p.arch != nil
}

// file is the payload as a file of its own.
func (p *payload) file(f *image.File) *image.File {
	if !p.owned {
		return f
	}
	return &image.File{Name: f.Name, Data: p.data}
}

// elf opens an ELF file. Where it has no symbols they come from kallsyms.
func (p *payload) elf(f *image.File, opt image.Options) (*image.Image, error) {
	img, err := elf.Format().Open(p.file(f), opt)
	if err != nil {
		return nil, err
	}
	if img.Symbols.HasFunctions() {
		return p.keep(img, f), nil
	}
	table, err := kallsyms.Find(p.ctx, p.data, img.Arch.AddrSize)
	if err != nil || table.Relative {
		return p.keep(img, f), nil
	}
	if table.FromData {
		table = table.Moved(linkOffset(img.Segments, uint64(table.Entries)))
	}
	return p.keep(kallsyms.Named(img, table), f), nil
}

// linkOffset is how far the bytes of a file lie from their addresses, around an offset.
func linkOffset(segments image.Segments, offset uint64) uint64 {
	for _, s := range segments {
		if offset-s.FileOff < uint64(len(s.Data)) {
			return s.Addr - s.FileOff
		}
	}
	return 0
}

// keep closes the file with the image, where the image does not read it.
func (p *payload) keep(img *image.Image, f *image.File) *image.Image {
	if !p.owned {
		return img
	}
	return image.New(img.Header, &closing{img.Container(), f})
}
