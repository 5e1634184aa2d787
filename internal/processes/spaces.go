package processes

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/tasks"
)

const (
	// beforeComm bounds how far before comm task_struct has mm, and sizeMM where in mm_struct its vector lies.
	beforeComm = 8 << 10
	sizeMM     = 4 << 10
)

// spaces finds task_struct.mm, and the address spaces of tasks by it: of the pairs of equal pointers in user tasks, mm and
// active_mm, those to structures with an auxiliary vector. Threads of the kernel have no mm.
func (f *finder) spaces(list []tasks.Task) []Process {
	voters := votersOf(list)
	for back := range f.backs() {
		mms := f.pairs(voters, back)
		if len(mms) == 0 || !f.findAuxv(mms) {
			continue
		}
		if found := f.shared(list, back); len(found) > 0 {
			return found
		}
	}
	return nil
}

// votersOf are some tasks: the first, which are the kernel's for the most part, and the last ones.
func votersOf(list []tasks.Task) []tasks.Task {
	if len(list) <= maxVoters {
		return list
	}
	const first = 8
	return append(append([]tasks.Task(nil), list[:first]...), list[len(list)-maxVoters+first:]...)
}

// backs are the distances from mm to comm, in bytes.
func (f *finder) backs() func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		if f.Types != nil {
			comm, ok := f.Types("task_struct", "comm")
			if mm, found := f.Types("task_struct", "mm"); ok && found && mm < comm && !yield(comm-mm) {
				return
			}
		}
		for back := 2 * f.word; back < beforeComm && f.ctx.Err() == nil && yield(back); back += f.word {
		}
	}
}

// pairs are the pointers that may be mm, at a distance before comm; nil where one of the tasks has something else there.
func (f *finder) pairs(voters []tasks.Task, back uint64) (mms []uint64) {
	seen := map[uint64]bool{}
	for i := range voters {
		t := &voters[i]
		mm, active := f.at(t.At-back), f.at(t.At-back+f.word)
		if mm == 0 {
			continue
		}
		if t.PID == kthreadd || mm != active || !f.isKernel(mm) || mm == t.At-back { // a list head without a list

			return nil
		}
		if !seen[mm] {
			seen[mm] = true
			mms = append(mms, mm)
		}
	}
	return mms
}

// kthreadd is the number of the second task of every kernel, which is none of a program.
const kthreadd = 2

// shared are the tasks by their mm.
func (f *finder) shared(list []tasks.Task, back uint64) (found []Process) {
	index := map[uint64]int{}
	for i := range list {
		mm := f.at(list[i].At - back)
		if !f.isKernel(mm) {
			continue
		}
		n, known := index[mm]
		if !known {
			auxv, word := f.readAuxv(mm + f.auxv.at)
			if word == 0 || !f.work.Draw(1) {
				continue // the kernel's own
			}
			n = len(found)
			index[mm] = n
			found = append(found, Process{mm: mm, Auxv: auxv, Word: word})
		}
		found[n].Tasks = append(found[n].Tasks, i)
	}
	return found
}

// Keys of the auxiliary vector (include/uapi/linux/auxvec.h).
const (
	atPHdr, atPageSize, atEntry, atRandom, atExecFn = 3, 6, 9, 25, 31
	// maxKey is above all keys, maxAuxv above their number.
	maxKey, maxAuxv = 64, 48
)

// findAuxv finds mm_struct.saved_auxv: where most of some address spaces have one.
func (f *finder) findAuxv(mms []uint64) bool {
	for off := range f.offsets(sizeMM, "mm_struct", []string{"saved_auxv"}) {
		n := 0
		for i, mm := range mms {
			if _, word := f.readAuxv(mm + off); word != 0 {
				n++
			}
			if i == 4 && n == 0 {
				break
			}
		}
		if n*2 > len(mms) {
			f.auxv = field{off, true}
			return true
		}
	}
	return false
}

// readAuxv reads an auxiliary vector, of the kernel's words or of 4 bytes; word is 0 where there is none.
func (f *finder) readAuxv(addr uint64) (auxv []byte, word int) {
	buf := make([]byte, 2*maxAuxv*f.word)
	buf = buf[:f.Memory.Read(addr, buf)]
	for _, word := range [...]int{int(f.word), 4} {
		if n := f.auxvSize(buf, word); n > 0 {
			return buf[:n], word
		}
	}
	return nil, 0
}

// auxvSize is how long a vector is with the pair that ends it, 0 where it is none.
func (f *finder) auxvSize(buf []byte, size int) int {
	has := 0
	for at := 0; at+2*size <= len(buf); at += 2 * size {
		switch key, v := word(buf[at:], size, f.Arch), word(buf[at+size:], size, f.Arch); {
		case key == 0 && has == 3:
			return at + 2*size
		case key == 0 || key >= maxKey:
			return 0
		case key == atPageSize && v >= pageSize && v <= 64<<10 && v&(v-1) == 0, key == atPHdr && v != 0, key == atEntry && v != 0:
			has++
		}
	}
	return 0
}

// word decodes a word of size bytes.
func word(b []byte, size int, arch *cpu.Arch) (v uint64) {
	for i := range size {
		if arch.BigEndian {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v
}

// aux is the value of a key of a process, 0 for none.
func (f *finder) aux(p *Process, key uint64) uint64 { return p.Aux(f.Arch, key) }

// Aux is the value of a key in the auxiliary vector, 0 for none; arch tells the byte order.
func (p *Process) Aux(arch *cpu.Arch, key uint64) uint64 {
	for at := 0; at+2*p.Word <= len(p.Auxv); at += 2 * p.Word {
		if word(p.Auxv[at:], p.Word, arch) == key {
			return word(p.Auxv[at+p.Word:], p.Word, arch)
		}
	}
	return 0
}

// stack is an address on a program's first stack, where the kernel put strings for it; 0 where it is not known.
func (f *finder) stack(p *Process) uint64 {
	if at := f.aux(p, atRandom); at != 0 {
		return at
	}
	return f.aux(p, atExecFn)
}
