package vmcore

import (
	"bytes"
	"context"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/btf"
	"github.com/backsight/backsight/internal/image/kernel"
	"github.com/backsight/backsight/internal/input/linux"
	"github.com/backsight/backsight/internal/kallsyms"
	"github.com/backsight/backsight/internal/vmcoreinfo"
	"github.com/backsight/backsight/target"
)

// kernelImage is the kernel as it lies in memory.
type kernelImage struct {
	module *target.Module // nil where its code is not in the memory
	text   target.Range   // the kernel's code
	start  target.Range   // the code of its start
	gone   bool           // the kernel has given the memory of that code away
	data   target.Range   // what the kernel links in, code included
	ref    linux.Kernel
	table  *kallsyms.Table
	// fields says where the fields of task_struct lie, nil where the kernel has no types.
	fields func(path ...string) (offset uint64, ok bool)
	// types says so of all structures.
	types func(structure string, path ...string) (offset uint64, ok bool)
}

// kernel finds the kernel in memory: code from _stext on, its end and its names by the
// kallsyms tables among its data. Its file adds what memory does not hold.
func (d *dump) kernel(ctx context.Context, k identity, s space, files *input.Files) kernelImage {
	memory := s.memory
	out := kernelImage{ref: linux.Kernel{Release: d.info.Release(), Arch: d.arch, BuildID: buildID(d.info)}}
	stext, stated := d.info.Symbol("_stext")
	switch {
	case stated:
		out.data = linked(d.info, stext)
	case k.text.Hi > k.text.Lo:
		k.text = codeAround(k.text, s)
		out.data = target.Range{Lo: k.text.Lo, Hi: (k.at+k.offset)&d.arch.AddrMask() + moreData}
	default:
		d.issue(target.IssueCapture, "VMCOREINFO does not say where the kernel's code is")
		return out
	}
	content, run := across(memory, out.data.Lo, int(out.data.Hi-out.data.Lo))
	out.text = target.Range{Lo: out.data.Lo, Hi: out.data.Lo + uint64(run)}
	if !stated {
		out.text.Hi = min(out.text.Hi, k.text.Hi)
	}
	if table, err := kallsyms.Find(ctx, content, d.arch.AddrSize); err == nil && !table.Relative {
		if out.table = table; table.FromData {
			out.table = table.Moved(out.data.Lo)
		}
	}
	if types, err := btf.Find(content, d.arch.BigEndian); err == nil {
		if task, ok := types.Struct("task_struct"); ok {
			out.fields = task.Offset
			out.types = func(structure string, path ...string) (uint64, bool) {
				s, _ := types.Struct(structure)
				return s.Offset(path...)
			}
		}
	}
	out.ref.Banner = kernel.FindBanner(content)
	img, bias := d.file(&out, files, content)
	at := func(name string) uint64 {
		switch {
		case out.table != nil:
			s, _ := out.table.Named(name)
			return s.Addr
		case img != nil:
			s, _ := img.Symbols.Named(name)
			return (s.Addr + bias) & d.arch.AddrMask()
		}
		return 0
	}
	if stext := at("_stext"); !stated && out.text.Contains(stext) {
		content = content[stext-out.text.Lo:]
		out.text.Lo, out.data.Lo = stext, stext
	}
	if etext := at("_etext"); out.text.Contains(etext) {
		out.text.Hi = etext
	}
	if !stated {
		out.endAt(at("_end"))
	}
	out.start = target.Range{Lo: at("_sinittext"), Hi: at("_einittext")}
	out.gone = out.givenAway(memory)
	out.module = d.fromMemory(&out, content, img, bias, files)
	return out
}

// givenAway tells whether the memory of the kernel's start is somebody else's by now: it can be written, and the
// kernel's code cannot (arch/x86/mm/init.c, free_init_pages; mark_readonly comes behind).
func (k *kernelImage) givenAway(memory *target.Memory) bool {
	code, ok := memory.PermAt(k.text.Lo)
	start, ok2 := memory.PermAt(k.start.Lo)
	return ok && ok2 && code&(target.PermWrite|target.PermExec) == target.PermExec && start&target.PermWrite != 0
}

// moreData bounds how far behind the answer to uname the kernel's data go on, where no name tells: the list of
// modules and the log lie among them.
const moreData = 8 << 20

// endAt is told where the kernel's names say that what it links in ends, 0 where they do not: behind moreData, too, as Linux 7.2's
// buffers for the log do on amd64.
func (k *kernelImage) endAt(end uint64) {
	if end > k.text.Hi && end-k.data.Lo < mostLinked {
		k.data.Hi = end
	}
}

// mostLinked bounds what a kernel links in.
const mostLinked = 256 << 20

// buildID is the kernel's, where VMCOREINFO has it (since Linux 5.9).
func buildID(info vmcoreinfo.Info) []byte {
	var id []byte
	text := info["BUILD-ID"]
	for i := 0; i+1 < len(text); i += 2 {
		hi, lo := nibble(text[i]), nibble(text[i+1])
		if hi|lo > 15 {
			return nil
		}
		id = append(id, hi<<4|lo)
	}
	return id
}

func nibble(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

// linked is the range of what the kernel links in, as far as VMCOREINFO's symbols tell: all
// within 256 MB from _stext on.
func linked(info vmcoreinfo.Info, stext uint64) target.Range {
	const margin = 1 << 20
	r := target.Range{Lo: stext, Hi: stext + margin}
	info.Symbols(func(_ string, addr uint64) {
		if addr-stext < mostLinked {
			r.Hi = max(r.Hi, addr+margin)
		}
	})
	return r
}

// file finds the kernel's file, which may have what memory has not: names, debug information, the
// code of the kernel's start. bias is where the kernel ran minus where it is linked.
func (d *dump) file(k *kernelImage, files *input.Files, content []byte) (img *image.Image, bias uint64) {
	img, issues := linux.Find(files, k.ref)
	d.issues = append(d.issues, issues...)
	if img == nil {
		return nil, 0
	}
	ran, stated := d.info.Symbol("_stext")
	linked, named := img.Symbols.Named("_stext")
	if at := linked.Addr; stated && named {
		return img, (ran - at) & d.arch.AddrMask()
	}
	text := []byte(kernel.Banner(img) + "\n\x00")
	at, found := placeOf(img, text)
	if n := bytes.Index(content, text); n >= 0 && found {
		return img, (k.data.Lo + uint64(n) - at) & d.arch.AddrMask()
	}
	return nil, 0
}

// placeOf is the image address at which bytes stand in an image.
func placeOf(img *image.Image, want []byte) (addr uint64, ok bool) {
	for i := range img.Segments {
		if n := bytes.Index(img.Segments[i].Data, want); n >= 0 {
			return img.Segments[i].Addr + uint64(n), true
		}
	}
	return 0, false
}

// fromMemory makes the module of the kernel: bytes are memory's, at the addresses at which
// the kernel's file has them, if there is one; names are the file's, else memory's.
func (d *dump) fromMemory(k *kernelImage, content []byte, file *image.Image, bias uint64, files *input.Files) *target.Module {
	if len(content) == 0 {
		return nil
	}
	if offset, ok := d.info.KernelOffset(); ok && file == nil {
		bias = offset
	}
	h := image.Header{Path: "vmlinux", Arch: d.arch, OneMode: machineOf(d.arch).mips}
	if file != nil && bias != 0 && h.OneMode {
		content = unmoved(content, k.text.Lo-bias, bias, file)
	}
	if file != nil {
		restoreStart(content, k.text.Lo-bias, target.Range{Lo: k.start.Lo - bias, Hi: k.start.Hi - bias}, file)
		k.gone = false
	}
	h.Segments = k.segments(d.arch, content, bias)
	var img *image.Image
	switch {
	case file != nil:
		h.BuildID, h.Tables = file.BuildID, file.Tables
		img = image.New(h, file.Container())
	case k.table != nil:
		img = kallsyms.Named(image.New(h, nil), k.table.Moved(-bias))
	default:
		img = files.Rename(image.New(h, nil))
	}
	return target.NewModule("vmlinux", img, bias)
}

// segments are the kernel's code and data, by image addresses. Memory may no longer show the code of the
// kernel's start (arm64 unmaps it, free_initmem), or what others keep there since; its segment is executable all the same.
func (k *kernelImage) segments(arch *cpu.Arch, content []byte, bias uint64) (list []image.Segment) {
	end := k.text.Lo + uint64(len(content))
	add := func(lo, hi uint64, exec bool) {
		if hi = min(hi, end); lo >= hi {
			return
		}
		data := content[lo-k.text.Lo : hi-k.text.Lo]
		if exec && (blank(data) || k.gone && lo == k.start.Lo) {
			data = nil
		}
		list = append(list, image.Segment{Addr: (lo - bias) & arch.AddrMask(), Size: hi - lo, Data: data, Read: true, Write: !exec, Exec: exec})
	}
	add(k.text.Lo, k.text.Hi, true)
	if at := k.text.Hi; k.start.Lo >= at && k.start.Hi > k.start.Lo && k.start.Hi <= end {
		add(at, k.start.Lo, false)
		add(k.start.Lo, k.start.Hi, true)
		add(k.start.Hi, end, false)
	} else {
		add(at, end, false)
	}
	return list
}
