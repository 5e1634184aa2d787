package kernellog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// bias is the distance of where the kernel ran from where it is linked: as the kernel says
// when it panics, else as addresses tell that reports print with their symbols, else as the words
// of stacks do, or the part of the log before. Where nothing tells, addresses are as linked, or apart from what else lies there.
func (k *scanner) bias(img *image.Image, names *symbols, printed []place, before *binaries) (distance uint64, issues []target.Issue) {
	f := &k.facts
	if f.hasOffset {
		if text, ok := img.Symbols.Named("_text"); ok && f.linked != 0 {
			return f.linked + f.offset - text.Addr, nil
		}
		return f.offset, nil
	}
	votes := map[uint64]int{}
	for i := range printed {
		if p := &printed[i]; p.hasAddr && p.module == "" && len(votes) < maxVotes {
			if at, ok := names.addressOf(img, p); ok {
				votes[p.addr-at]++
			}
		}
	}
	if len(votes) > 0 {
		return mostVoted(votes), nil
	}
	if before != nil && before.kernel != nil && before.kernel.Image == img {
		return before.kernel.Bias, nil
	}
	d, ok := biasOfWords(img, k.records)
	if !ok {
		d = leastBias(img, k.records)
	}
	switch {
	case !ok && d != 0:
		issues = append(issues, target.Issue{Kind: target.IssueCapture, Subject: img.Path,
			Text: fmt.Sprintf("%s: the log does not say where the kernel ran; not where it is linked, for a place without a symbol is there: %#x is added to the kernel's addresses", img.Path, d)})
	case d != 0:
		issues = append(issues, target.Issue{Kind: target.IssueCapture, Subject: img.Path,
			Text: fmt.Sprintf("%s: the log names no address of the kernel; that it ran %#x above where it is linked, printed words of the stack tell", img.Path, d)})
	}
	return d, issues
}

// maxVotes bounds the distances that reports vote for.
const maxVotes = 1024

// mostVoted is what most voted for, the lowest of equals; 0 without votes.
func mostVoted(votes map[uint64]int) (best uint64) {
	for _, v := range slices.Sorted(maps.Keys(votes)) {
		if votes[v] > votes[best] {
			best = v
		}
	}
	return best
}

// places are those that reports print, with their symbols.
func places(records []*record) (list []place) {
	for _, r := range records {
		for _, p := range [...]place{r.at, r.work} {
			if p.symbol != "" {
				list = append(list, p)
			}
		}
		for i := range r.regs {
			if reg := &r.regs[i]; reg.at.symbol != "" {
				p := reg.at
				if reg.known {
					p.addr, p.hasAddr = reg.value, true
				}
				list = append(list, p)
			}
		}
		for _, l := range r.trace.listed {
			if l.Size != 0 {
				list = append(list, place{addr: l.PC, hasAddr: l.PC != 0, symbol: l.Symbol, module: l.Module, offset: l.Offset, size: l.Size})
			}
		}
	}
	return list
}

// isLower tells whether a kernel lies in the lower half of the address space, as those without an MMU do (Linux for the
// K210): so do most of the places that it prints.
func isLower(places []place) bool {
	lower := 0
	for i := range places {
		switch p := &places[i]; {
		case !p.hasAddr:
		case p.addr>>63 == 0:
			lower++
		default:
			lower--
		}
	}
	return lower > 0
}

// A kernel that moved itself and prints symbols without addresses, as arm64's does, does not say where
// it ran. Its addresses are then shown as linked, unless a processor stood at one of them that the
// kernel has no symbol for: stacks of arm64 are mapped where kernels are linked, and a program jumped
// to its stack.
//
//	pc : 0xffff8000080b3ba8
//	lr : execute_location+0x74/0x94 [lkdtm]
//	sp : ffff8000080b3b60

const (
	// apartStep is what kernels move by on arm64 and x86-64, with pages of 4 KB.
	apartStep = 2 << 20
	// maxApart bounds the distance: no kernel's code is as large.
	maxApart = 1 << 30
)

// leastBias is the least distance from where a kernel is linked at which the kernel has none of the places
// without a symbol.
func leastBias(img *image.Image, records []*record) (distance uint64) {
	for _, at := range placesWithoutSymbol(img, records) {
		for img.Segments.Executable((at-distance)&img.Arch.AddrMask()) && distance < maxApart {
			distance += apartStep
		}
	}
	return distance
}

// placesWithoutSymbol are the places where processors stood that the kernel had no symbol for, in ascending order.
func placesWithoutSymbol(img *image.Image, records []*record) (list []uint64) {
	for _, r := range records {
		if pc := pcOf(r); pc != nil && pc.known && pc.at.symbol == "" && pc.value != 0 {
			list = append(list, pc.value&img.Arch.AddrMask())
		}
	}
	slices.Sort(list)
	return list
}

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

// biasOfWords finds how far a kernel moved itself, by the words that reports print.
func biasOfWords(img *image.Image, records []*record) (distance uint64, ok bool) {
	f := fitting{img: img, text: textOf(img), words: printedWords(records, img.Arch.AddrMask())}
	if f.text.Lo >= f.text.Hi || img.Arch.Decoder == nil {
		return 0, false
	}
	most, second := 0, 0
	without := placesWithoutSymbol(img, records)
	for _, d := range f.distances() {
		if slices.ContainsFunc(without, func(at uint64) bool { return f.text.Contains((at - d) & img.Arch.AddrMask()) }) {
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

// printedWords are the words of stacks and registers that reports print, each once. Pointers to the stack itself lie close
// together: what some of them fit, others fit too, anywhere.
func printedWords(records []*record, mask uint64) (words []uint64) {
	for _, r := range records {
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
