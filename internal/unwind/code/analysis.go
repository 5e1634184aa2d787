package code

import (
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/unwind"
)

// analysis is what is known of one image's code. It grows on demand and is
// shared by all walkers.
type analysis struct {
	img  *image.Image
	arch *cpu.Arch
	src  *Source

	answers kept[question, keptAnswer]
	reached kept[reach, unwind.Answer]

	// mu guards what follows; the entry lists are immutable once built.
	mu        sync.Mutex
	functions map[jump]*function
	older     map[jump]*function
	summaries map[uint64]*summaries // by key, as what follows
	callees   map[uint64]callee
	searches  [summaryDepth]search
	exitCache map[exitKey][]exit
	sketches  map[uint64]*sketch // nil: there is none
	pencils   [nested]*pencil
	drawing   int // pencils in use
	// soon tells whether somebody will ask for the sketch of a function; nil: nobody knows.
	soon  func(entry uint64) bool
	stubs map[jump]*stub

	strongOnce, weakOnce, dataOnce sync.Once
	strong, weak, taken, data      []uint64 // sorted keys
	singles                        []uint64 // targets of one possible call each (x86)
	tables                         bool     // unwind tables list functions
	literals                       *marks   // words of the text that code reads relative to the PC
	listed                         bool     // and all of them
	// global is what the registers in Arch.Globals hold, where it is known.
	global    uint64
	hasGlobal bool
	// crossings are the jumps that leave the function they stand in, by target.
	crossings []cpu.CallRef
}

type analysisKey struct{}

// of returns the image's analysis.
func (s *Source) of(img *image.Image) *analysis {
	return img.Memo(analysisKey{}, func() any { return newAnalysis(s, img) }).(*analysis)
}

func newAnalysis(s *Source, img *image.Image) *analysis {
	return &analysis{img: img, arch: img.Arch, src: s, functions: map[jump]*function{},
		summaries: map[uint64]*summaries{}, callees: map[uint64]callee{}, exitCache: map[exitKey][]exit{}, sketches: map[uint64]*sketch{}, stubs: map[jump]*stub{}}
}

// generation is how many functions are kept before the older half may go.
const generation = 512

// function returns the analysis of the function that begins at entry.
func (an *analysis) function(entry uint64, mode cpu.Mode) *function {
	k := jump{entry, mode}
	if f, ok := an.functions[k]; ok {
		return f
	}
	f, ok := an.older[k]
	if !ok {
		f = analyze(an, entry, mode)
	}
	if len(an.functions) >= generation {
		an.older, an.functions = an.functions, map[jump]*function{}
	}
	an.functions[k] = f
	return f
}

// skipOne returns the address behind the instruction at pc if that is filler.
func (an *analysis) skipOne(pc uint64, mode cpu.Mode) uint64 {
	var buf [1]cpu.Insn
	if an.arch.Decoder.Decode(an.img.Code(pc), pc, mode, buf[:]) == 1 && buf[0].Flags&cpu.FlagPadding != 0 {
		return pc + uint64(buf[0].Len)
	}
	return pc
}

// skipPadding returns the first address from pc on that is not filler between
// functions.
func (an *analysis) skipPadding(pc uint64, mode cpu.Mode) uint64 {
	var buf [8]cpu.Insn
	for range 64 {
		n := an.arch.Decoder.Decode(an.img.Code(pc), pc, mode, buf[:])
		if n == 0 {
			return pc
		}
		for i := range n {
			if buf[i].Flags&cpu.FlagPadding == 0 {
				return pc
			}
			pc += uint64(buf[i].Len)
		}
	}
	return pc
}
