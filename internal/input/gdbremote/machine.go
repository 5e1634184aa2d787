package gdbremote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// machine asks what there is of a machine without a process: its memory, and how to let it go on. QEMU and OpenOCD
// execute commands of their own monitors.
func (c *Client) machine(p *input.Stopped) {
	p.Readable, p.RAM = c.regions(true), c.regions(false)
	if reply, err := c.Ask("qqemu.PhyMemMode"); err == nil && len(reply) == 1 {
		c.kind = qemu
		c.found = strings.Contains(c.monitor("info status"), "(") // paused (prelaunch), paused (debug), …
		p.RAM, p.Readable = flatView(c.monitor("info mtree -f"))
		p.Physical = &physical{client: c}
		return
	}
	if strings.HasPrefix(c.monitor("version"), "Open On-Chip Debugger") {
		c.kind = openOCD
	}
}

// kind is whose server it is, as far as it matters.
type kind uint8

const (
	other kind = iota
	qemu
	openOCD
)

// flatView reads QEMU's list of what the processors see, the memory in it, and that with what is read only:
//
//	FlatView #1
//	 AS "memory", root: system
//	 AS "cpu-memory-0", root: system
//	 Root memory region: system
//	  0000000040000000-0000000047ffffff (prio 0, ram): mach-virt.ram
//	  0000000000000000-0000000003ffffff (prio 0, romd): virt.flash0
func flatView(text string) (ram, all []target.Range) {
	seen := false
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "FlatView "):
			seen = false
		case strings.HasPrefix(line, "AS "):
			seen = seen || strings.HasPrefix(line, `AS "memory"`) || strings.HasPrefix(line, `AS "cpu-memory`)
		case seen && len(all) < maxRegions:
			r, kind, ok := region(line)
			if ok && kind == "ram" {
				ram = append(ram, r)
			}
			if ok && (kind == "ram" || kind == "rom" || kind == "romd") {
				all = append(all, r)
			}
		}
	}
	return ram, all
}

func region(line string) (r target.Range, kind string, ok bool) {
	bounds, rest, _ := strings.Cut(line, " (")
	from, to, dash := strings.Cut(bounds, "-")
	lo, ok1 := number(from, 16)
	last, ok2 := number(to, 16)
	_, kind, _ = strings.Cut(rest, ", ")
	kind, _, _ = strings.Cut(kind, ")")
	return target.RangeOf(lo, last-lo+1), kind, dash && ok1 && ok2 && lo <= last
}

// maxPhysical bounds the bytes of a machine's memory that are kept.
const maxPhysical = 512 << 20

// physical reads a machine's memory without translation (QEMU docs/system/gdb.rst). What was read is kept, for as
// long as there is room: a kernel is looked for more than once.
type physical struct {
	client *Client
	kept   map[uint64][]byte // nil: a page of zeros
	size   int
}

// ReadPage implements target.Pager.
func (p *physical) ReadPage(addr uint64, page []byte) (int, error) {
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	if b, ok := p.kept[addr]; ok && (b == nil || len(b) == len(page)) {
		clear(page)
		copy(page, b)
		return len(page), nil
	}
	if err := p.client.translate(false); err != nil {
		return 0, err
	}
	n, err := p.client.Memory(addr, page)
	if err == nil && n == len(page) {
		p.keep(addr, page)
	}
	return n, err
}

// keep keeps a whole page, while there is room.
func (p *physical) keep(addr uint64, page []byte) {
	if p.kept == nil {
		p.kept = make(map[uint64][]byte)
	}
	if len(bytes.TrimLeft(page, "\x00")) == 0 {
		p.kept[addr] = nil
	} else if p.size += len(page); p.size <= maxPhysical {
		p.kept[addr] = bytes.Clone(page)
	}
}

// translate has the server read memory as the processor sees it, or as it lies in the machine.
func (c *Client) translate(on bool) error {
	if on == !c.physical {
		return nil
	}
	mode := "1"
	if on {
		mode = "0"
	}
	err := c.Command("Qqemu.PhyMemMode:" + mode)
	if err == nil {
		c.physical = !on
	}
	return err
}

// farewell is how long a server may take for an answer while it is left.
const farewell = 2 * time.Second

// Leave lets the target go on, and detaches; a target that stood before stays as it was found, and so does one
// that is to be kept. A server that has not answered is told all the same.
func (c *Client) Leave(opt Options) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	silent := c.broken
	c.broken, c.Patience = nil, min(c.Patience, farewell)
	if err := c.translate(true); err != nil || opt.KeepHalted || c.found {
		return err
	}
	if c.kind == openOCD {
		c.monitor("resume") // which detaching alone does not
	}
	detach := "D"
	if c.process != "" {
		detach = "D;" + c.process
	}
	err := c.Command(detach)
	if errors.Is(err, io.EOF) {
		return nil // it has hung up
	}
	if err != nil && silent == nil {
		return fmt.Errorf("the target may stand still: %w", err)
	}
	return err
}
