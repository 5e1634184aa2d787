package gdbremote

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// feature is a file of a target description (appendix G): registers, and other
// files that it includes.
type feature struct {
	Registers []register `xml:"reg"`
	Features  []feature  `xml:"feature"`
	Includes  []struct {
		Href string `xml:"href,attr"`
	} `xml:"include"`
}

type register struct {
	Name   string `xml:"name,attr"`
	Bits   int    `xml:"bitsize,attr"`
	Number *int   `xml:"regnum,attr"`
}

// Bounds of a description that is worth reading.
const (
	maxFiles     = 32
	maxRegisters = 4096
	maxBits      = 1 << 16
)

// describe reads the target description and lays the g packet out by it: the
// registers in order of their numbers, side by side.
func (c *Client) describe() error {
	d := description{c: c, sizes: map[int]register{}}
	if err := d.file("target.xml"); err != nil {
		return err
	}
	if l := d.layout(c.arch); len(l.Slots) > 0 {
		c.layout = l
	}
	return nil
}

type description struct {
	c     *Client
	files int
	next  int
	sizes map[int]register // by number
}

func (d *description) file(name string) error {
	if d.files++; d.files > maxFiles {
		return nil
	}
	text, err := d.c.transfer("features", name)
	if err != nil {
		return err
	}
	var f feature
	if err := xml.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("gdbremote: target description %.40s: %w", name, err)
	}
	return d.add(&f)
}

// add numbers registers as GDB does: on from the one before where none is given.
func (d *description) add(f *feature) error {
	for _, r := range f.Registers {
		if r.Number != nil {
			d.next = *r.Number
		}
		if d.next >= 0 && d.next < maxRegisters && r.Bits > 0 && r.Bits <= maxBits {
			d.sizes[d.next] = r
		}
		d.next++
	}
	for i := range f.Features {
		if err := d.add(&f.Features[i]); err != nil {
			return err
		}
	}
	for _, inc := range f.Includes {
		if err := d.file(inc.Href); err != nil {
			return err
		}
	}
	return nil
}

func (d *description) layout(arch *cpu.Arch) (l cpu.Layout) {
	for n := range maxRegisters {
		r, ok := d.sizes[n]
		if !ok {
			continue
		}
		size := (r.Bits + 7) / 8
		if reg, ok := arch.RegByName(strings.ToLower(r.Name)); ok && size <= 8 {
			l.Slots = append(l.Slots, cpu.Slot{Reg: reg, Offset: l.Size, Size: size})
		}
		l.Size += size
	}
	return l
}

// transfer reads a whole object by qXfer.
func (c *Client) transfer(object, annex string) ([]byte, error) {
	const block = 0xffb
	var all []byte
	for len(all) < maxPacket {
		reply, err := c.must(fmt.Sprintf("qXfer:%s:read:%s:%x,%x", object, annex, len(all), block))
		if err != nil {
			return nil, err
		}
		all = append(all, reply[1:]...)
		if reply[0] == 'l' || len(reply) == 1 {
			return all, nil
		}
	}
	return nil, errLong
}
