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
	// saved are the words from the saved SP on: registers by name, "-" for others, "-16" for so
	// many of them, "exc" for EXC_RETURN, "floats" for s16–s31 where EXC_RETURN says so, "flag" and "flagfloats" where a
	// flag does, "frame" for what the processor pushed, "mstatus" of machine mode, "cpsr" of a
	// mode that tasks run in, "zero".
	saved []string
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

// fits tells whether the layout is of a processor.
func (l *layout) fits(arch *cpu.Arch) bool {
	return strings.HasPrefix(arch.Name, l.cpus) && l.micro == arch.Micro()
}

// checked tells whether contexts of the layout have a status word, whose value shows that memory is a
// context.
func (l *layout) checked() bool {
	return slices.Contains(l.saved, "frame") || slices.Contains(l.saved, "cpsr")
}

// statesSP tells whether a context has the stack pointer among its registers. That pointer lies on
// the task's own stack, above the context, as few other words do by chance.
func (l *layout) statesSP() bool { return slices.Contains(l.saved, "sp") }

// registers is a task's registers, the stack pointer among them, and the address behind what
// was saved.
type registers struct {
	regs cpu.Registers
	sp   uint64
	end  uint64
}

// compiled is a layout for one processor: no names are looked up any more.
type compiled struct {
	*layout
	arch   *cpu.Arch
	saved  []item
	before []item
	after  []item
}

// item is one word of a layout, or several.
type item struct {
	reg  cpu.Reg // NoReg: none
	kind string  // "" for a register or nothing
}

func (l *layout) compile(arch *cpu.Arch) *compiled {
	c := &compiled{layout: l, arch: arch}
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
	ctx.end = sp
	ret := c.excReturn(mem, at)
	for _, it := range c.saved {
		switch it.kind {
		case "floats", "flagfloats":
			if ret.Extended() {
				ctx.end += 16 * 4
			}
			continue
		case "frame":
			return c.frame(mem, ctx, ret, at)
		}
		v, ok := mem.Uint(ctx.end, int(w))
		if ctx.end += w; !ok || !c.accepts(it, v, &ctx, &ret) {
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

// accepts takes one word of a context, and tells whether the word can be what the layout says.
func (c *compiled) accepts(it item, v uint64, ctx *registers, ret *cortexm.ExcReturn) bool {
	switch it.kind {
	case "exc":
		*ret = cortexm.ExcReturn(v)
		return c.resumesBy(*ret)
	case "zero":
		return v == 0
	case "mstatus":
		return machineMode(v)
	case "flag":
		if v == 1 {
			*ret = 0xffff_ffed
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

// frame reads what the processor pushed.
func (c *compiled) frame(mem *target.Memory, ctx registers, ret cortexm.ExcReturn, at uint64) (registers, bool) {
	if c.kernel == zephyr && ctx.end%4 != 0 {
		return ctx, false
	}
	if v, ok := mem.Uint(ctx.end+cortexm.BasicFrame-4, 4); !ok || !inThread(v) {
		return ctx, false
	}
	stacked, ok := cortexm.Stacked(c.arch, mem, ctx.end)
	if !ok {
		return ctx, false
	}
	for s := stacked.Known; s != 0; s = s.Without(s.First()) {
		ctx.regs.Set(s.First(), stacked.Val[s.First()])
	}
	status := stacked.Val[c.arch.Status]
	ctx.end += ret.FrameSize(status)
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
