package vmcore

import (
	"context"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

const (
	// maxCode bounds how far before its data a kernel's code begins: the largest kernels are of
	// some 40 MB.
	maxCode = 64 << 20
	// oftenCalled is from how many calls on a target is taken for a function. Of what reads as a
	// call by chance, hardly two go to one place.
	oftenCalled = 3
	// callsPerPage is how many calls of such functions a page of code has at least, for the most part.
	callsPerPage = 2
)

// beforeData is the physical memory in which the code of a kernel may lie, which is linked before its data.
func beforeData(physical *target.Memory, k identity) target.Range {
	lo := max(k.at-min(k.at, maxCode), physical.RangeAt(k.at).Lo)
	return target.Range{Lo: min((lo+pageSize-1)&^(pageSize-1), k.at), Hi: k.at}
}

// codeIn finds the code of a kernel in physical memory: the pages from which direct calls go to functions
// that others call, too. It is empty where there are none.
func codeIn(ctx context.Context, physical *target.Memory, a *cpu.Arch, k identity, in target.Range) (text target.Range) {
	code := bytesAt(physical, in.Lo, int(in.Hi-in.Lo))
	start := (in.Lo + k.offset) & a.AddrMask()
	most := 0
	for mode := range machineOf(a).modes {
		first, end, pages := lastRun(callers(ctx, a, code, start, mode))
		if pages > most {
			most = pages
			text = target.Range{Lo: start + first*pageSize, Hi: start + end*pageSize}
		}
	}
	return text
}

// callers counts for each page of bytes at an address the direct calls of functions that are
// called often. Calls are decoded a piece at a time: a page full of what reads as calls has a thousand.
func callers(ctx context.Context, a *cpu.Arch, code []byte, start uint64, mode cpu.Mode) (pages []int) {
	pages = make([]int, len(code)/pageSize+1)
	called := make([]uint8, len(code)/2+1)
	var calls []cpu.CallRef
	inside := func(visit func(site, target uint64)) {
		for at := 0; at < len(code) && ctx.Err() == nil; at += piece {
			calls = a.Decoder.Calls(code[at:min(at+piece, len(code))], start+uint64(at), mode, calls[:0])
			for _, c := range calls {
				if site, to := c.Site-start, c.Target-start; max(site, to) < uint64(len(code)) {
					visit(site, to)
				}
			}
		}
	}
	inside(func(_, to uint64) { called[to/2] = min(called[to/2]+1, oftenCalled) })
	inside(func(site, to uint64) {
		if called[to/2] == oftenCalled {
			pages[site/pageSize]++
		}
	})
	return pages
}

// variantOf is the variant of a dump's processor by whose instructions the kernel's code calls. uname does not tell: MIPS of
// release 6 is "mips64", and calls by balc most times, which other releases do not have.
func variantOf(ctx context.Context, d *dump, archs cpu.Set, k *identity) *cpu.Arch {
	const sample, more = 4 << 20, 2
	start := k.text.Lo
	if at, stated := d.info.Symbol("_stext"); stated {
		start = at & d.arch.AddrMask()
	}
	if !machineOf(d.arch).mips || start == 0 {
		return d.arch
	}
	code := bytesAt(d.physical, (start-k.offset)&d.arch.AddrMask(), sample)
	best, most := d.arch, more*calls(ctx, d.arch, code, start)
	for _, a := range archs {
		if a.Name != d.arch.Name || a.ABI != d.arch.ABI || a.BigEndian != d.arch.BigEndian || a.Decoder == nil {
			continue
		}
		if n := calls(ctx, a, code, start); n > most {
			best, most = a, n
		}
	}
	return best
}

// calls counts the calls in bytes at an address of functions that are called often.
func calls(ctx context.Context, a *cpu.Arch, code []byte, start uint64) (n int) {
	for _, calls := range callers(ctx, a, code, start, 0) {
		n += calls
	}
	return n
}

// piece is how many bytes of code are decoded at a time.
const piece = 256 << 10

// lastRun is the last long run of pages of code, and how many these are. A kernel that moved itself away
// (CONFIG_RELOCATABLE) leaves its code where it was loaded, which may be before; code that only the start
// needs may lie behind, in a short run.
func lastRun(pages []int) (first, end uint64, most int) {
	var runs []run
	for i, calls := range pages {
		if calls < callsPerPage {
			continue
		}
		if n := len(runs); n == 0 || i-runs[n-1].end > maxGap {
			runs = append(runs, run{first: i})
		}
		last := &runs[len(runs)-1]
		last.end = i + 1
		last.pages++
		most = max(most, last.pages)
	}
	for _, r := range runs {
		if r.pages*2 > most {
			first, end = uint64(r.first), uint64(r.end)
		}
	}
	return first, end, most
}

// run is a run of pages in which no more than maxGap others follow one another: tables among code. pages
// are those of code.
type run struct{ first, end, pages int }

const maxGap = 64

// entryCode bounds how far before the first calls a kernel's code begins: exceptions enter the kernel
// there, by code that calls little.
const entryCode = 32 << 10

// codeAround is all of the kernel's code, of which most was found: what the page tables let run and not
// write, or some more of it at the beginning where they do not tell.
func codeAround(most target.Range, s space) target.Range {
	middle := most.Lo + (most.Hi-most.Lo)/2
	for _, m := range s.mappings {
		if middle-m.Virtual < m.Size && m.Exec && !m.Write {
			return target.Range{Lo: m.Virtual, Hi: m.Virtual + m.Size}
		}
	}
	whole := s.memory.RangeAt(middle)
	return target.Range{Lo: max(most.Lo-min(most.Lo, entryCode), whole.Lo), Hi: min(most.Hi, whole.Hi)}
}

// restoreStart puts the code of the kernel's start back, whose memory the kernel gives away once it runs
// (free_initmem): the bytes are the file's unless most of those in memory are the same. The idle task of the
// first processor has returned from none of these functions. at is the image address of the first byte,
// start the code's image addresses.
func restoreStart(content []byte, at uint64, start target.Range, file *image.Image) {
	for i := range file.Segments {
		s := &file.Segments[i]
		lo, hi := max(start.Lo, s.Addr, at), min(start.Hi, s.Addr+uint64(len(s.Data)), at+uint64(len(content)))
		if lo >= hi {
			continue
		}
		ran, linked := content[lo-at:hi-at], s.Data[lo-s.Addr:hi-s.Addr]
		same := 0
		for k := range ran {
			if ran[k] == linked[k] {
				same++
			}
		}
		if same*4 < len(ran)*3 {
			copy(ran, linked)
		}
	}
}
