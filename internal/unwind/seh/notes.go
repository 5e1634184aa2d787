package seh

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/pdata"
	"github.com/backsight/backsight/unwind"
)

var _ unwind.Explainer = Source{}

// Notes tell the entry of a place, and what it says of prologue and epilogues, in the words of the specifications.
func (Source) Notes(q *unwind.Query) []string {
	f, ok := pdata.Find(q.Image, q.PC)
	if !ok {
		return nil
	}
	digits := 2 * q.Arch.AddrSize
	head := fmt.Sprintf("entry 0x%0*x to 0x%0*x", digits, f.Lo, digits, f.Hi)
	if f.Entry != f.Lo {
		head += fmt.Sprintf(", part of the function at 0x%0*x", digits, f.Entry)
	}
	if q.Arch.CallPushesRA {
		return append([]string{head}, x64Notes(q, &f)...)
	}
	return append([]string{head}, arm64Notes(q, &f)...)
}

func x64Notes(q *unwind.Query, f *pdata.Function) (lines []string) {
	info := pdata.UnwindInfoAt(q.Image, f.Info)
	line := fmt.Sprintf("version %d, prologue of %d bytes", info.Version, info.Prologue)
	if info.FrameReg != 0 {
		line += fmt.Sprintf(", frame register %s%+d", strings.ToUpper(x64Registers[info.FrameReg]), -info.FrameOff)
	}
	lines = append(lines, line)
	for r := bin.New(info.Codes, false); r.Len() > 0; {
		c, v := readCode(&r)
		if v != unwind.Found {
			return append(lines, "a code that is "+v.String())
		}
		lines = append(lines, c.text())
	}
	return lines
}

// text is a code as Microsoft names it.
func (c *code) text() string {
	reg := strings.ToUpper(x64Registers[c.info])
	s := fmt.Sprintf("0x%02X: ", c.offset)
	switch c.op {
	case pushNonvol:
		return s + "PUSH_NONVOL reg=" + reg
	case allocSmall:
		return s + fmt.Sprintf("ALLOC_SMALL size=%d", c.value)
	case allocLarge:
		return s + fmt.Sprintf("ALLOC_LARGE size=%d", c.value)
	case setFPReg:
		return s + "SET_FPREG"
	case saveNonvol:
		return s + fmt.Sprintf("SAVE_NONVOL reg=%s, offset=0x%X", reg, c.value)
	case saveNonvolFar:
		return s + fmt.Sprintf("SAVE_NONVOL_FAR reg=%s, offset=0x%X", reg, c.value)
	case saveXMM:
		return s + fmt.Sprintf("SAVE_XMM128 reg=XMM%d, offset=0x%X", c.info, c.value)
	case saveXMMFar:
		return s + fmt.Sprintf("SAVE_XMM128_FAR reg=XMM%d, offset=0x%X", c.info, c.value)
	case epilog:
		return s + "EPILOG"
	}
	return s + fmt.Sprintf("PUSH_MACHFRAME error code=%t", c.info != 0)
}

func arm64Notes(q *unwind.Query, f *pdata.Function) []string {
	fr, kind, v := readFrame(q.Image, f.Info)
	if v != unwind.Found {
		return []string{kind + ": " + v.String()}
	}
	lines := []string{fmt.Sprintf("%s, %d bytes", kind, fr.words*4), "prologue, backwards: " + fr.prologue.text()}
	for _, e := range fr.epilogues {
		lines = append(lines, fmt.Sprintf("epilogue at 0x%0*x: %s", 2*q.Arch.AddrSize, f.Lo+uint64(e.start)*4, e.steps.text()))
	}
	return lines
}

func (s sequence) text() string {
	var words []string
	for i := range s {
		words = append(words, s[i].text())
	}
	return strings.Join(words, "; ")
}

// text is the instruction of a prologue that a code stands for.
func (t *step) text() string {
	first, second := fmt.Sprintf("x%d", t.first), fmt.Sprintf("x%d", t.first+1)
	if t.first == numberLR {
		first = "lr"
	}
	if t.first == numberFP {
		second = "lr"
	}
	stored := "str " + first
	if t.count == 2 {
		stored = "stp " + first + ", " + second
	}
	switch t.op {
	case opAlloc, opMoveSP:
		return fmt.Sprintf("sub sp, #%d", t.off)
	case opSave:
		return fmt.Sprintf("%s, [sp, #%d]", stored, t.off)
	case opSavePush:
		return fmt.Sprintf("%s, [sp, #-%d]!", stored, t.off)
	case opSaveLRPair:
		return fmt.Sprintf("stp %s, lr, [sp, #%d]", first, t.off)
	case opAddFP:
		return fmt.Sprintf("add x29, sp, #%d", t.off)
	}
	return [...]string{opEnd: "end", opEndChained: "end of the part", opSaveNext: "save next", opSetFP: "mov x29, sp", opNop: "nop",
		opSign: "pacibsp", opMachineFrame: "machine frame", opContext: "context", opNoCall: "not called", opUnsupported: "unsupported"}[t.op]
}
