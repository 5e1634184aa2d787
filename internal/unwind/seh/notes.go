package seh

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/pdata"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

var _ stackwalk.Explainer = Source{}

// Notes tell the entry of a place, and what it says of prologue and epilogues, in the words of the specifications.
func (Source) Notes(q *stackwalk.Query) []string {
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

func x64Notes(q *stackwalk.Query, f *pdata.Function) (lines []string) {
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
		lines = append(lines, c.text(&info))
	}
	return append(lines, handler(q, info.Handler)...)
}

// handler tells the function that handles exceptions, if there is one.
func handler(q *stackwalk.Query, rva uint32) []string {
	if rva == 0 {
		return nil
	}
	return []string{fmt.Sprintf("handler 0x%0*x", 2*q.Arch.AddrSize, q.Image.Table(image.RuntimeFunctions).Base+uint64(rva))}
}

// texts are the codes as Microsoft names them.
var texts = [...]string{pushNonvol: "PUSH_NONVOL reg=%[1]s", allocLarge: "ALLOC_LARGE size=%[2]d", allocSmall: "ALLOC_SMALL size=%[2]d",
	setFPReg: "SET_FPREG reg=%[4]s, offset=0x%[5]X", saveNonvol: "SAVE_NONVOL reg=%[1]s, offset=0x%[2]X", saveNonvolFar: "SAVE_NONVOL_FAR reg=%[1]s, offset=0x%[2]X",
	epilog: "EPILOG", spare: "", saveXMM: "SAVE_XMM128 reg=XMM%[3]d, offset=0x%[2]X", saveXMMFar: "SAVE_XMM128_FAR reg=XMM%[3]d, offset=0x%[2]X",
	pushMachFrame: "PUSH_MACHFRAME errcode=%[6]s"}

// text is a code with its operands.
func (c *code) text(info *pdata.UnwindInfo) string {
	number := func(n uint8) string { return strings.ToUpper(x64Registers[n]) }
	pushed := [2]string{"no", "yes"}[c.info&1]
	text := fmt.Sprintf(texts[c.op]+"%[7]s", number(c.info), c.value, c.info, number(info.FrameReg), info.FrameOff, pushed, "")
	return fmt.Sprintf("0x%02X: ", c.offset) + text
}

func arm64Notes(q *stackwalk.Query, f *pdata.Function) []string {
	fr, kind, v := readFrame(q.Image, f.Info)
	if v != unwind.Found {
		return []string{kind + ": " + v.String()}
	}
	lines := []string{fmt.Sprintf("%s, %d bytes", kind, fr.words*4), "prologue, backwards: " + fr.prologue.text()}
	for _, e := range fr.epilogues {
		lines = append(lines, fmt.Sprintf("epilogue at 0x%0*x: %s", 2*q.Arch.AddrSize, f.Lo+uint64(e.start)*4, e.steps.text()))
	}
	return append(lines, handler(q, fr.handler)...)
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
	switch t.op {
	case opAlloc:
		return fmt.Sprintf("sub sp, #%d", t.off)
	case opSave:
		return fmt.Sprintf("%s, [sp, #%d]", t.stored(), t.off)
	case opSavePush:
		return fmt.Sprintf("%s, [sp, #-%d]!", t.stored(), t.off)
	case opSaveLRPair:
		return fmt.Sprintf("stp x%d, lr, [sp, #%d]", t.first, t.off)
	case opAddFP:
		return fmt.Sprintf("add x29, sp, #%d", t.off)
	}
	return [...]string{opEnd: "end", opEndChained: "end of the part", opSaveNext: "save next", opSetFP: "mov x29, sp", opNop: "nop",
		opSign: "pacibsp", opMachineFrame: "machine frame", opContext: "context", opNoCall: "not called", opUnsupported: "unsupported"}[t.op]
}

// stored is the store of a register or two.
func (t *step) stored() string {
	if t.count == 2 {
		return "stp " + registerName(t.first) + ", " + registerName(t.first+1)
	}
	return "str " + registerName(t.first)
}

func registerName(n uint8) string {
	switch {
	case n == numberLR:
		return "lr"
	case n >= numberQ:
		return fmt.Sprintf("q%d", n-numberQ)
	case n >= numberD:
		return fmt.Sprintf("d%d", n-numberD)
	}
	return fmt.Sprintf("x%d", n)
}
