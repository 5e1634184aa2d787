package gdbremote

import (
	"bytes"
	"fmt"

	"github.com/backsight/backsight/cpu"
)

// layout says where the g packet has registers, and which numbers they have.
type layout struct {
	cpu.Layout
	numbers []int // by slot; nil: not known
}

// use makes arch the program's processor. Its registers are found by the server's target description,
// or by arch's own layout of the g packet where the server has none.
func (c *Client) use(arch *cpu.Arch) {
	c.arch, c.layout = arch, layout{Layout: arch.Layouts[cpu.GDBPacket]}
	if l := c.description.layout(arch); len(l.Slots) > 0 {
		c.layout = l
	}
}

// Registers reads the register file of the current thread. Those that the server
// has no value for (x digits) stay unknown. Those that the g packet leaves out are asked for one by one: OpenOCD has
// a Cortex-M's msp and psp among the system's registers.
func (c *Client) Registers(out *cpu.Registers) error {
	reply, err := c.must("g")
	if err != nil {
		return err
	}
	out.Known = 0
	all := bytes.Clone(reply)
	for i, s := range c.layout.Slots {
		digits := all[min(2*s.Offset, len(all)):min(2*(s.Offset+s.Size), len(all))]
		if len(digits) == 0 && c.layout.numbers != nil {
			if digits, err = c.Ask(fmt.Sprintf("p%x", c.layout.numbers[i])); err != nil {
				return err
			}
		}
		c.set(out, s, digits)
	}
	return nil
}

// set gives a register the value of hex digits, if they are as many as it has, and all known.
func (c *Client) set(out *cpu.Registers, s cpu.Slot, digits []byte) {
	if len(digits) != 2*s.Size || s.Size > 8 {
		return
	}
	var b [8]byte
	for i := range s.Size {
		v, ok := hexByte(digits[2*i], digits[2*i+1])
		if !ok {
			return
		}
		b[i] = v
	}
	one := c.arch.Read(cpu.Layout{Slots: []cpu.Slot{{Reg: s.Reg, Size: s.Size}}}, b[:])
	out.Set(s.Reg, one.Val[s.Reg])
}
