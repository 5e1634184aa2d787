//go:build !small

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/tables/device"
	"github.com/backsight/backsight/internal/tables/segment"
	"github.com/backsight/backsight/tables"
)

// behindProgram is the value of --add-section without an address.
const behindProgram = "auto"

// tableSymbol is where a program's linker says that the table will lie.
const tableSymbol = "backsight_table"

// addSection is the form of --add-section: a copy of the ELF file with its device table.
func (o *tableOptions) addSection() (tables.Format, error) {
	if o.format != "" && o.format != device.Format().Name {
		return tables.Format{}, fmt.Errorf("--add-section adds a table of --format device, not %s", o.format)
	}
	var at *uint64
	if o.section != behindProgram {
		v, err := strconv.ParseUint(o.section, 0, 64)
		if err != nil {
			return tables.Format{}, fmt.Errorf("--add-section: %q is no address", o.section)
		}
		at = &v
	}
	return tables.Format{Name: device.Format().Name, Write: func(w io.Writer, p *tables.Program) ([]tables.Refusal, error) {
		b, refused, err := device.Encode(p)
		if err != nil {
			return refused, err
		}
		return refused, writeWithTable(w, p.Image, b, at)
	}}, nil
}

// writeWithTable writes an image's file with a table at an address or, where none is given, at
// the symbol for it or behind the program.
func writeWithTable(w io.Writer, img *image.Image, table []byte, at *uint64) error {
	if sym, ok := img.Symbols.Named(tableSymbol); ok && at == nil {
		at = &sym.Addr
	}
	elf, err := os.ReadFile(img.Path)
	if err != nil {
		return err
	}
	out, err := segment.Add(elf, table, at)
	if err != nil {
		return errors.Join(errors.New("--add-section"), err)
	}
	_, err = w.Write(out)
	return err
}

// chosenForm is the form of --format or --add-section.
func (o *tableOptions) chosenForm() (tables.Format, error) {
	if o.section != "" {
		return o.addSection()
	}
	return formatNamed(o.format)
}

// outputMode are the permissions of what is written anew, less the umask: a program with a table is a program.
func (o *tableOptions) outputMode(path string) os.FileMode {
	if st, err := os.Stat(path); err == nil && o.section != "" {
		return st.Mode().Perm()
	}
	return 0o666
}
