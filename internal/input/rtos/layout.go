package rtos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
	"github.com/backsight/backsight/target"
)

// layout says where a kernel's port keeps the registers of a task that does not run. The
// task control block has the saved SP at some offset; saved is what lies there, and behind
// the SP in the control block itself.
type layout struct {
	kernel string
	cpus   string // prefix of cpu.Arch.Name
	micro  bool   // of ARM's microcontroller profile
	// embedded: of RV32E.
	embedded bool
	// saved are the words from the saved SP on: registers by name, "-" for others, "-16" for so
	// many of them, "context" for the secure context's number, "exc" for EXC_RETURN, "floats" for s16–s31 where EXC_RETURN says so, "flag" and "flagfloats" where a
	// flag does, "ftype" for the one bit of EXC_RETURN that says so, "frame" for what the processor pushed, of which "copy" has the words and "psp" the address where these stand before,
	// "mstatus" of machine mode, "fs4" and "fs8" for 33 registers of 4 or 8 bytes where mstatus.FS is dirty, "vs16" for 4 words and 32 registers
	// of 16 bytes where mstatus.VS is, "nesting" of critical sections, "cpsr" of a mode that tasks run in, "zero".
	saved []string
	// preempted are the words in place of saved where the first is 1.
	preempted []string
	// owned: contexts of FreeRTOS alone, which are looked for in blocks that their owners mark.
	owned bool
	// ends: the saved SP points behind these words, which lie in the control block, and of which each has one size.
	ends bool
	// before and after are registers in the control block: the words that end at the one with
	// SP, and the words behind that.
	before, after []string
	// returnAt is where the control block has the lowest byte of EXC_RETURN, in bytes from the
	// word with SP; 0: it has none.
	returnAt int
}

// words expands "r4-r11 -16 frame".
func words(text string) (out []string) {
	for word := range strings.FieldsSeq(text) {
		first, last, ranges := strings.Cut(word, "-")
		name := strings.TrimRight(first, "0123456789")
		hi, err := strconv.Atoi(strings.TrimPrefix(last, name))
		lo, _ := strconv.Atoi(first[len(name):])
		switch {
		case !ranges || err != nil:
			out = append(out, word)
		case first == "":
			out = append(out, slices.Repeat([]string{"-"}, hi)...)
		default:
			for i := lo; i <= hi; i++ {
				out = append(out, name+strconv.Itoa(i))
			}
		}
	}
	return out
}

// fits tells whether the layout is of a processor. That of RV32E fits other 32-bit ones, too: a raw image does not say.
func (l *layout) fits(arch *cpu.Arch) bool {
	return strings.HasPrefix(arch.Name, l.cpus) && l.micro == arch.Micro() && (l.embedded || arch.ABI != embedded)
}

// embedded is the ABI of RV32E.
const embedded = "ilp32e"

// checked tells whether contexts of the layout have a status word, whose value shows that memory is a
// context.
func (l *layout) checked() bool {
	return slices.Contains(l.saved, "frame") || slices.Contains(l.saved, "cpsr")
}

// statesSP tells whether a context has the stack pointer among its registers. That pointer lies on
// the task's own stack, above the context, as few other words do by chance.
func (l *layout) statesSP() bool { return slices.Contains(l.saved, "sp") }

// registers is a task's registers, the stack pointer among them, and what was saved on the stack, from saved to end.
type registers struct {
	regs  cpu.Registers
	sp    uint64
	saved uint64
	end   uint64
}

// told is what words of a context tell of the words behind.
type told struct {
	ret     cortexm.ExcReturn
	mstatus uint64
	copied  uint64 // where the copy of a frame is
	secure  bool   // the task has called the secure world
}

// compiled is a layout for one processor: no names are looked up any more.
type compiled struct {
	*layout
	arch   *cpu.Arch
	saved  []item
	other  []item // preempted
	before []item
	after  []item
	psp    cpu.Reg // NoReg where contexts have none
}

// item is one word of a layout, or several.
type item struct {
	reg  cpu.Reg // NoReg: none
	kind string  // "" for a register or nothing
}

func (l *layout) compile(arch *cpu.Arch) *compiled {
	c := &compiled{layout: l, arch: arch, psp: cpu.NoReg}
	if slices.Contains(l.saved, "psp") {
		c.psp, _ = arch.RegByName("psp")
	}
	c.other = items(arch, l.preempted)
	c.saved, c.before, c.after = items(arch, l.saved), items(arch, l.before), items(arch, l.after)
	return c
}

func items(arch *cpu.Arch, words []string) (out []item) {
	for _, w := range words {
		r, ok := arch.RegByName(w)
		switch {
		case w == "cpsr":
			out = append(out, item{reg: r, kind: w})
		case ok:
			out = append(out, item{reg: r})
		case w == "-":
			out = append(out, item{reg: cpu.NoReg})
		default:
			out = append(out, item{reg: cpu.NoReg, kind: w})
		}
	}
	return out
}

// read reads the context of a task whose control block has the saved SP sp at an address.
func (c *compiled) read(mem *target.Memory, at, sp uint64) (ctx registers, ok bool) {
	w := uint64(c.arch.RegSize)
	if c.ends {
		sp -= w*uint64(len(c.saved)-2) + cortexm.BasicFrame // all but the frame, and the copy as what it is
	}
	ctx.saved, ctx.end = sp, sp
	t := told{ret: c.excReturn(mem, at)}
	saved := c.saved
	if first, _ := mem.Uint(sp, int(w)); first == 1 && len(c.other) > 0 {
		saved = c.other
	}
	for _, it := range saved {
		if it.kind == "frame" {
			return c.frame(mem, ctx, &t, at)
		}
		if it.kind == "copy" {
			t.copied, ctx.end = ctx.end, ctx.end+cortexm.BasicFrame
			continue
		}
		if n, is := t.floats(it.kind, w); is {
			ctx.end += n
			continue
		}
		v, ok := mem.Uint(ctx.end, int(w))
		if ctx.end += w; !ok || !c.accepts(it, v, &ctx, &t) {
			return ctx, false
		}
	}
	if stated, ok := ctx.regs.Lookup(c.arch.SP); !ok {
		ctx.regs.Set(c.arch.SP, ctx.end)
	} else if stated < ctx.end {
		return ctx, false
	}
	if v, ok := ctx.regs.Lookup(c.arch.Status); ok && v>>c.arch.StatusModeBit&1 != 0 {
		ctx.regs.Set(c.arch.PC, ctx.regs.Val[c.arch.PC]|1)
	}
	ctx.sp = ctx.regs.Val[c.arch.SP]
	return ctx, c.block(mem, &ctx, at)
}

// floats is how many bytes registers of floating point or vectors take in a context, where an item is these.
func (t *told) floats(kind string, word uint64) (n uint64, is bool) {
	const clean, fs, vs = 2, 13, 9
	dirty := func(field int) bool { return t.mstatus>>field&3 > clean }
	switch kind {
	case "floats", "flagfloats":
		if t.ret.Extended() {
			n = 16 * 4
		}
	case "fs4", "fs8":
		if dirty(fs) {
			n = 33 * uint64(kind[2]-'0')
		}
	case "vs16":
		if dirty(vs) {
			n = 4*word + 32*16
		}
	default:
		return 0, false
	}
	return n, true
}

// accepts takes one word of a context, and tells whether the word can be what the layout says.
func (c *compiled) accepts(it item, v uint64, ctx *registers, t *told) bool {
	switch it.kind {
	case "exc":
		t.ret = cortexm.ExcReturn(v)
		return c.resumesBy(t.ret) && !(t.secure && t.ret.Secure()) // the frame is on the secure stack
	case "context":
		const most = 1 << 8 // in place of the number there may be the stack's limit
		t.secure = v > 0 && v < most
	case "zero":
		return v == 0
	case "nesting":
		const most = 1 << 8
		return v < most
	case "mstatus":
		t.mstatus = v
		return machineMode(v)
	case "ftype":
		const basic = 1 << 4
		t.ret = cortexm.ExcReturn(0xffff_ffed | v)
		return v&^basic == 0
	case "flag":
		if v == 1 {
			t.ret = 0xffff_ffed
		}
		return v <= 1
	}
	ctx.regs.Set(it.reg, v)
	return it.kind != "cpsr" || taskMode(v)
}

// resumesBy tells whether a task can go on by an EXC_RETURN. Tasks run on the process stack;
// those of NuttX without a stack for interrupts on the main stack.
func (c *compiled) resumesBy(ret cortexm.ExcReturn) bool {
	return ret.Valid() && (ret.ProcessStack() || c.kernel == nuttX && ret.Thread())
}

// excReturn is EXC_RETURN as far as the control block at an address has it, else that of a
// basic frame.
func (c *compiled) excReturn(mem *target.Memory, at uint64) cortexm.ExcReturn {
	if v, ok := mem.Uint(at+uint64(int64(c.returnAt)), 1); ok && c.returnAt != 0 {
		return cortexm.ExcReturn(0xffff_ff00 | v)
	}
	return 0xffff_fffd
}

// taskMode tells whether a word is the CPSR of a task on a Cortex-R or Cortex-A: in User,
// Supervisor or System mode, with the bits clear that are reserved or of Java's state (DDI
// 0406, B1.3.3).
func taskMode(v uint64) bool {
	const user, supervisor, system, reserved = 0x10, 0x13, 0x1f, 0x01f0_0000
	mode := v & 31
	return v&reserved == 0 && (mode == user || mode == supervisor || mode == system)
}

// machineMode tells whether a word is mstatus with MPP, bits 11 and 12, of machine mode, in
// which tasks run. Above the lowest 20 bits only SD and, of 64-bit processors, UXL and SXL are
// ever set.
func machineMode(v uint64) bool {
	const mpp, low, sd32, xl, sd64 = 3 << 11, 1<<20 - 1, 1 << 31, 0xf << 32, 1 << 63
	return v&mpp == mpp && v&^(low|sd32|xl|sd64) == 0
}

// frame reads what the processor pushed, or its copy.
func (c *compiled) frame(mem *target.Memory, ctx registers, t *told, at uint64) (registers, bool) {
	from := ctx.end
	if c.psp != cpu.NoReg {
		from, ctx.saved = t.copied, ctx.regs.Val[c.psp]
		ctx.end = ctx.saved
		ctx.regs.Forget(c.psp)
	}
	if c.kernel == zephyr && from%4 != 0 {
		return ctx, false
	}
	if v, ok := mem.Uint(from+cortexm.BasicFrame-4, 4); !ok || !inThread(v) {
		return ctx, false
	}
	stacked, ok := cortexm.Stacked(c.arch, mem, from)
	if !ok {
		return ctx, false
	}
	for s := stacked.Known; s != 0; s = s.Without(s.First()) {
		ctx.regs.Set(s.First(), stacked.Val[s.First()])
	}
	status := stacked.Val[c.arch.Status]
	ctx.end += t.ret.FrameSize(status)
	ctx.regs.Set(c.arch.SP, ctx.end)
	ctx.sp = ctx.end
	return ctx, c.block(mem, &ctx, at)
}

// inThread tells whether a word is the xPSR of a task: in Thumb state, without an exception's
// number and with the bits clear that have no meaning. Armv8-M stacks SFPA in bit 20,
// Armv8.1-M has B in bit 21.
func inThread(xpsr uint64) bool {
	const reserved = 3 << 22
	return cortexm.Thumb(xpsr) && cortexm.ExceptionNumber(xpsr) == 0 && xpsr&reserved == 0
}

// block adds the registers in the control block.
func (c *compiled) block(mem *target.Memory, ctx *registers, at uint64) bool {
	w := uint64(c.arch.RegSize)
	for i, it := range c.before {
		v, ok := mem.Uint(at-w*uint64(len(c.before)-i), int(w))
		if !ok {
			return false
		}
		ctx.regs.Set(it.reg, v)
	}
	for i, it := range c.after {
		v, ok := mem.Uint(at+w*uint64(i+1), int(w))
		if !ok {
			return false
		}
		ctx.regs.Set(it.reg, v)
	}
	return true
}
