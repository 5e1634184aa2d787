package kernellog

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// A kernel that moved itself when it started (KASLR) says how far only when it panics, and the
// trace of a report may name functions of modules alone: an oops in a module's thread. The words
// that the report prints tell then: they are return addresses and pointers to functions of the
// kernel, at one distance from the file only.
//
//	$31 c00a5658  stack … c00a5688 … 81cfe49c 81cfe388 … 81c93d38
//	                                 kthread+0x114, kthread, ret_from_kernel_thread+0x14
const (
	// moveStep divides what kernels move by: 64 KB on MIPS (arch/mips/kernel/relocate.c), and
	// multiples of that elsewhere.
	moveStep = 64 << 10
	// leastFits is how many words must fit, and fitsAhead how many more than at any other
	// distance. A word fits by chance at one distance of ten.
	leastFits, fitsAhead = 4, 2

	maxFitted    = 256     // words that are looked at
	maxDistances = 1 << 16 // distances that are tried

	// kernelStack is the size of a kernel's stack on most processors, at least.
	kernelStack = 16 << 10
)

// moved finds how far a kernel moved itself, by the words that reports print.
func (k *kernelLog) moved(img *image.Image) (distance uint64, ok bool) {
	f := fitting{img: img, text: textOf(img), words: k.printed(img.Arch.AddrMask())}
	if f.text.Lo >= f.text.Hi || img.Arch.Decoder == nil {
		return 0, false
	}
	most, second := 0, 0
	unnamed := k.unnamed(img)
	for _, d := range f.distances() {
		if slices.ContainsFunc(unnamed, func(at uint64) bool { return f.text.Contains((at - d) & img.Arch.AddrMask()) }) {
			continue
		}
		switch n := f.fits(d); {
		case n > most:
			most, second, distance = n, most, d
		case n > second:
			second = n
		}
	}
	if most < leastFits || most < second+fitsAhead {
		return 0, false
	}
	return distance, true
}

// textOf is the kernel's code: what lies between the symbols that linkers put around the code, else the
// first executable segment.
func textOf(img *image.Image) target.Range {
	lo, ok := img.Symbols.Named("_stext")
	hi, ok2 := img.Symbols.Named("_etext")
	if ok && ok2 && lo.Addr < hi.Addr {
		return target.Range{Lo: lo.Addr, Hi: hi.Addr}
	}
	for _, s := range img.Segments {
		if s.Exec {
			return target.Range{Lo: s.Addr, Hi: s.Addr + uint64(len(s.Data))}
		}
	}
	return target.Range{}
}

// printed are the words of stacks and registers that reports print, each once. Pointers to the stack itself lie close
// together: what some of them fit, others fit too, anywhere.
func (k *kernelLog) printed(mask uint64) (words []uint64) {
	for _, r := range k.records {
		all := r.stack.values()
		for i := range r.regs {
			if r.regs[i].known {
				all = append(all, r.regs[i].value)
			}
		}
		if sp := r.reg("sp", "$29", "rsp", "esp"); sp != nil && sp.known {
			all = slices.DeleteFunc(all, func(w uint64) bool { return w-sp.value+kernelStack < 2*kernelStack })
		}
		if words = append(words, all...); len(words) >= maxFitted {
			break
		}
	}
	for i := range words {
		words[i] &= mask
	}
	slices.Sort(words)
	words = slices.Compact(words)
	return words[:min(len(words), maxFitted)]
}

// fitting compares words with a kernel's code.
type fitting struct {
	img   *image.Image
	text  target.Range // image addresses
	words []uint64     // target addresses
}

// distances are those at which a word is an address of the kernel's code.
func (f *fitting) distances() (list []uint64) {
	for _, w := range f.words {
		for d := (w - f.text.Hi + moveStep) &^ (moveStep - 1); w-d-f.text.Lo < f.text.Hi-f.text.Lo && len(list) < maxDistances; d += moveStep {
			list = append(list, d&f.img.Arch.AddrMask())
		}
	}
	slices.SortFunc(list, cmp.Compare)
	return slices.Compact(list)
}

// fits counts the words that are return addresses or beginnings of functions at a distance, less
// those that are in code and neither.
func (f *fitting) fits(distance uint64) (n int) {
	mask := f.img.Arch.AddrMask()
	for _, w := range f.words {
		at, mode := f.img.Arch.SplitCode((w - distance) & mask)
		if !f.text.Contains(at) {
			continue
		}
		_, call := f.img.Arch.Decoder.CallBefore(f.img.Segments.Before(at, 16), at, mode)
		if s, ok := f.img.Symbols.At(at); call || ok && s.Addr == at {
			n++
		} else {
			n--
		}
	}
	return n
}
