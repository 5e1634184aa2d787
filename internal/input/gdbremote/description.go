package gdbremote

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// description is what the server says of its registers, by their numbers, and of its processor (appendix G).
type description struct {
	architecture string
	// micro: of ARM's microcontroller profile.
	micro     bool
	registers map[int]register

	files, next int
}

type register struct {
	name string
	bits int
}

// Bounds of a description that is worth reading.
const (
	maxFiles     = 32
	maxRegisters = 4096
	maxBits      = 1 << 16
	maxDepth     = 32
)

// describe reads the target description.
func (c *Client) describe() error {
	c.description.registers = make(map[int]register)
	err := c.readDescription("target.xml")
	if refused := (*Refused)(nil); errors.As(err, &refused) {
		return nil // J-Link announces it for some processors only
	}
	return err
}

func (c *Client) readDescription(name string) error {
	d := &c.description
	if d.files++; d.files > maxFiles {
		return nil
	}
	text, err := c.Transfer("features", name)
	if err != nil {
		return err
	}
	includes, err := d.read(text)
	if err != nil {
		return fmt.Errorf("target description %.40q: %w", name, err)
	}
	for _, file := range includes {
		if err := c.readDescription(file); err != nil {
			return err
		}
	}
	return nil
}

// read takes what a file says. Files that it includes are numbered behind.
func (d *description) read(text []byte) (includes []string, err error) {
	err = eachElement(text, func(name, inner string, attr func(string) string) {
		switch name {
		case "architecture":
			d.architecture = strings.TrimSpace(inner)
		case "feature":
			d.micro = d.micro || strings.HasSuffix(attr("name"), "m-profile")
		case "reg":
			d.add(attr)
		case "include":
			if len(includes) < maxFiles {
				includes = append(includes, attr("href"))
			}
		}
	})
	return includes, err
}

// add numbers registers as GDB does: on from the one before where none is given.
func (d *description) add(attr func(string) string) {
	if n, ok := number(attr("regnum"), 10); ok {
		d.next = int(min(n, maxRegisters))
	}
	bits, _ := number(attr("bitsize"), 10)
	if d.next < maxRegisters && bits > 0 && bits <= maxBits {
		d.registers[d.next] = register{attr("name"), int(bits)}
	}
	d.next++
}

// layout lays the g packet out: the registers in order of their numbers, side by side. Of two with names of one register the
// first is it: behind pc a server may have what an exception saved (ELR_EL1).
func (d *description) layout(arch *cpu.Arch) (l layout) {
	var known cpu.RegSet
	for n := range maxRegisters {
		r, ok := d.registers[n]
		if !ok {
			continue
		}
		size := (r.bits + 7) / 8
		if reg, ok := arch.RegByName(strings.ToLower(r.name)); ok && size <= 8 && !known.Has(reg) {
			known = known.With(reg)
			l.Slots = append(l.Slots, cpu.Slot{Reg: reg, Offset: l.Size, Size: size})
			l.numbers = append(l.numbers, n)
		}
		l.Size += size
	}
	return l
}

// eachElement calls yield for each element of a text in XML, in the order of their ends; inner is the text right behind the
// beginning. Entities other than XML's own are refused, and so is depth.
func eachElement(text []byte, yield func(name, inner string, attr func(string) string)) error {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = false
	var open []xml.StartElement
	var inner string
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if open, inner = append(open, t.Copy()), ""; len(open) > maxDepth {
				return errors.New("elements in elements, without an end")
			}
		case xml.CharData:
			if inner == "" {
				inner = string(t)
			}
		case xml.EndElement:
			e := open[len(open)-1]
			open = open[:len(open)-1]
			yield(e.Name.Local, inner, func(name string) string {
				for _, a := range e.Attr {
					if a.Name.Local == name {
						return a.Value
					}
				}
				return ""
			})
			inner = ""
		}
	}
}
