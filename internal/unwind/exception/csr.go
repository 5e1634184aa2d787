package exception

import "github.com/backsight/backsight/cpu"

// csr is an instruction that works on a control and status register: dst = old value, 0 for
// none; src is the new one in some way, NoReg where the instruction has an immediate.
type csr struct {
	number   uint32
	dst, src cpu.Reg
	reads    bool // nothing else: csrr
	swaps    bool // csrrw: src is the new value
}

// csrOf decodes SYSTEM with a CSR (unprivileged specification, Zicsr).
func csrOf(w uint32) (c csr, ok bool) {
	kind := w >> 12 & 7
	if w&0x7f != 0x73 || kind&3 == 0 {
		return c, false
	}
	c = csr{number: w >> 20, dst: cpu.Reg(w >> 7 & 31), src: cpu.Reg(w >> 15 & 31)}
	c.reads = kind&3 != 1 && c.src == 0
	c.swaps = kind == 1
	if kind >= 4 {
		c.src = cpu.NoReg
	}
	return c, true
}

// isEPC and isScratch tell whether a number is xepc or xscratch, of machine, supervisor or
// user mode.
func isEPC(n uint32) bool     { return n == 0x341 || n == 0x141 || n == 0x041 }
func isScratch(n uint32) bool { return n == 0x340 || n == 0x140 || n == 0x040 }

// csr executes an instruction that reads or writes a control and status register.
func (st *entryState) csr(c *csr) {
	old, src := value{}, st.get(c.src)
	if isEPC(c.number) {
		old, st.read = st.regs[epc], true
		if !c.reads {
			st.regs[epc] = value{}
		}
	} else if isScratch(c.number) {
		old = st.regs[scratch]
		switch {
		case c.swaps:
			st.regs[scratch] = src
		case !c.reads:
			st.regs[scratch] = value{}
		}
	}
	st.set(c.dst, old)
}
