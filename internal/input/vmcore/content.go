package vmcore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/vmcoreinfo"
	"github.com/backsight/backsight/target"
)

// Kernels that are not built for dumps, as those of routers and set-top boxes, have no VMCOREINFO
// (CONFIG_CRASH_CORE, which CONFIG_KEXEC and CONFIG_PROC_KCORE select). What that text would say, the
// memory shows:
//
//	which kernel and processor   the answer to uname
//	virtual − physical address   heads of empty lists, which point to themselves
//	the kernel's code            direct calls of functions that are called time and again (code.go)
//	page tables                  those by which these addresses are translated (tables.go)

const (
	// maxAnswers bounds the answers to uname (struct new_utsname) that are looked at. Memory holds
	// the kernel's answer, an answer for each container with a host name of its own, and what
	// is left of the kernels that this kernel was started from.
	maxAnswers = 32
	// maxPlaces bounds the distances between virtual and physical addresses that are tried for
	// each answer.
	maxPlaces = 3
	// maxKernels bounds the kernels that are tried.
	maxKernels = 8
	// codeFloor and codePerByte bound the bytes that are taken for code: of each place, those that lie before
	// a kernel's data. A kernel that moved itself away has six places, three for each copy of its data.
	codeFloor, codePerByte = 2 * maxCode, 3
	// leastHeads is how many heads of empty lists around the kernel's data must agree on the place.
	// A kernel's data has some hundred to some thousand of them.
	leastHeads = 16
)

// byContent finds the copies of the kernel in memory by their contents. Of all candidates the best
// tells the release and the processor; candidates of others are dropped.
func (d *dump) byContent(ctx context.Context, archs cpu.Set) (all []identity) {
	found := contents{ctx, d.physical, d.arch, archs}.candidates()
	work := budget.New("bytes of code", codeFloor, codePerByte*d.physical.Size())
	for _, c := range found {
		if best := &found[0]; c.arch != best.arch || c.release != best.release || len(all) == maxKernels {
			continue
		}
		in := beforeData(d.physical, c.identity)
		if !work.Draw(int(in.Hi - in.Lo)) {
			d.issue(target.IssueCapture, "not all places where a kernel may lie were tried: %v", work.Err())
			break
		}
		if c.text = codeIn(ctx, d.physical, c.arch, c.identity, in); c.text.Hi > c.text.Lo {
			all = append(all, c.identity)
		}
	}
	if len(all) > 0 {
		d.arch = found[0].arch
		d.info = vmcoreinfo.Info{"OSRELEASE": found[0].release}
		d.issue(target.IssueCapture, "the kernel %s has no VMCOREINFO; it was found by its contents", found[0].release)
	}
	return all
}

// contents is memory in which kernels are looked for.
type contents struct {
	ctx      context.Context // ends the search
	physical *target.Memory
	arch     *cpu.Arch // as the dump's header states; nil if no header does
	archs    cpu.Set
}

// candidates are places that may be kernels, those with the most list heads first.
func (c contents) candidates() (found []candidate) {
	answers := 0
	search(c.ctx, c.physical, "Linux\x00", func(at uint64) bool {
		uts := bytesAt(c.physical, at, utsSize)
		if !isAnswer(uts) {
			return true
		}
		for _, a := range c.processors(field(uts, 4)) {
			for _, p := range listHeads(c.physical, a, at) {
				found = append(found, candidate{identity{machine: field(uts, 4), offset: p.offset, at: at}, a, field(uts, 2), p.heads})
			}
		}
		answers++
		return answers < maxAnswers
	})
	slices.SortStableFunc(found, func(a, b candidate) int { return b.heads - a.heads })
	return found
}

// processors are the descriptors of the processor that uname calls by a name, in both byte orders; or
// only the processor that the dump's header states.
func (c contents) processors(machine string) (list []*cpu.Arch) {
	if c.arch != nil {
		return []*cpu.Arch{c.arch}
	}
	for _, big := range []bool{false, true} {
		if a := archNamed(c.archs, machine, big); a != nil && a.Decoder != nil {
			list = append(list, a)
		}
	}
	return list
}

// candidate is a place that may be a kernel; heads counts the list heads that agree with the place.
type candidate struct {
	identity
	arch    *cpu.Arch
	release string
	heads   int
}

// isAnswer tells whether bytes are a struct new_utsname that a kernel filled in.
func isAnswer(uts []byte) bool {
	if len(uts) < utsSize || field(uts, 0) != "Linux" || !strings.HasPrefix(field(uts, 3), "#") {
		return false
	}
	release := field(uts, 2)
	return release != "" && release[0] >= '0' && release[0] <= '9'
}

// place is a distance of virtual and physical addresses, and how many heads of lists speak for that.
type place struct {
	offset uint64
	heads  int
}

// listHeads finds the distance of virtual and physical addresses of what lies around a physical
// address: the head of an empty list (struct list_head: next, prev) has its own address twice. There may
// be several: what the kernel allocated right behind its data is seen elsewhere (arm64's linear mapping).
func listHeads(physical *target.Memory, a *cpu.Arch, around uint64) (places []place) {
	const reach = 1 << 20
	word := uint64(a.AddrSize)
	from := (around - min(around, reach)) &^ (pageSize - 1)
	r := bin.New(filled(physical, from, 2*reach), a.BigEndian)
	votes := make(map[uint64]int)
	upper := uint64(1) << (8*word - 1)
	last := uint64(0)
	for at := from - word; r.Len() >= int(word); at += word {
		v := r.Uint(int(word))
		if v == last && v&upper != 0 && (v-at)%pageSize == 0 {
			votes[(v-at)&a.AddrMask()]++
		}
		last = v
	}
	for offset, heads := range votes {
		if heads >= leastHeads {
			places = append(places, place{offset, heads})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(b.heads-a.heads, cmp.Compare(a.offset, b.offset)) })
	return places[:min(len(places), maxPlaces)]
}
