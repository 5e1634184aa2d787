package minidump

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
)

const (
	// maxStackWords bounds the words of stacks that are looked at.
	maxStackWords = 1 << 16
	// maxPlaces bounds the places whose code is looked at; maxPlace is more than writers store of one.
	maxPlaces, maxPlace = 16, 4096
	// beforeReturn is how much code in front of a return address tells of a call.
	beforeReturn = 16
)

// variant is the instruction set of a dump's processor where there are several of one ABI, which a dump does not name: the one by
// which most words on the stacks that lead into captured code stand behind calls.
//
//	404228: ebfffff5   release 6: balc 404200; before: a store of coprocessor 2
//	40422c: …          on the stack of a function that calls itself
func (d *dump) variant(arch *cpu.Arch, archs cpu.Set, runs []run) *cpu.Arch {
	best, most := arch, 0
	all := slices.DeleteFunc(slices.Clone(archs), func(a *cpu.Arch) bool {
		return a.Name != arch.Name || a.ABI != arch.ABI || a.BigEndian != arch.BigEndian || a.Decoder == nil
	})
	if len(all) < 2 {
		return arch
	}
	words := d.codeWords(arch, runs)
	for _, a := range all {
		n := 0
		for i := range words {
			pc, mode := a.SplitCode(words[i].addr)
			if _, ok := a.Decoder.CallBefore(words[i].data, pc, mode); ok {
				n++
			}
		}
		if n > most {
			best, most = a, n
		}
	}
	return best
}

// codeWords are the words of the threads' stacks that lead into captured code, each with the code in front.
func (d *dump) codeWords(arch *cpu.Arch, runs []run) (words []run) {
	left, size := maxStackWords, arch.RegSize
	places := slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return len(r.data) > maxPlace })
	places = places[:min(len(places), maxPlaces)]
	for r := range d.entries(threadList, threadSize) {
		t := readThread(&r)
		for stack := d.at(t.stack); len(stack) >= size && left > 0; stack = stack[size:] {
			left--
			word := bin.Uint(stack[:size], arch.BigEndian)
			pc, _ := arch.SplitCode(word)
			if code := codeBefore(places, t.from, pc); code != nil {
				words = append(words, run{word, code})
			}
		}
	}
	return words
}

// codeBefore is the captured code in front of an address, nil where there is none, or a stack.
func codeBefore(places []run, stack, pc uint64) []byte {
	for i := range places {
		if r := &places[i]; r.addr != stack && pc-r.addr >= beforeReturn && pc-r.addr <= uint64(len(r.data)) {
			return r.data[pc-r.addr-beforeReturn : pc-r.addr]
		}
	}
	return nil
}
