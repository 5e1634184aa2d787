// Package breakpad writes the rules of an image as a Breakpad symbol file, which
// minidump_stackwalk, rust-minidump and Sentry read: MODULE, INFO, FUNC, PUBLIC and STACK CFI
// records (Breakpad, docs/symbol_files.md).
//
//	MODULE Linux mips 8A3F… firmware.elf
//	FUNC 1d2c 44 0 hello
//	STACK CFI INIT 1d2c 44 .cfa: $sp 0 + .ra: $ra
//	STACK CFI 1d30 .cfa: $sp 32 +
//	STACK CFI 1d38 .ra: .cfa -4 + ^ $s0: .cfa -8 + ^
//
// Addresses are relative to where the module is loaded.
package breakpad

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/visible"
	"github.com/backsight/backsight/tables"
)

// Format is the form of .sym files.
func Format() tables.Format {
	return tables.Format{Name: "breakpad", Short: "a .sym file with STACK CFI, for minidump_stackwalk and Sentry", Text: true,
		FileName: fileName, Write: write}
}

// fileName is where stack walkers look below a folder of symbols.
func fileName(p *tables.Program) string {
	name := moduleName(p.Image)
	return filepath.Join(name, identifier(p.Image), strings.TrimSuffix(name, ".pdb")+".sym")
}

// moduleName is what symbols are asked for by: the file's name, of Windows' that of its program database.
func moduleName(img *image.Image) string {
	if c, ok := image.ContainerAs[interface{ CodeView() string }](img.Container()); ok && c.CodeView() != "" {
		path := c.CodeView()
		return path[strings.LastIndexAny(path, `/\:`)+1:]
	}
	return filepath.Base(img.Path)
}

func write(w io.Writer, p *tables.Program) ([]tables.Refusal, error) {
	c, err := newConverter(p)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "MODULE %s %s %s %s\n", system(p.Image), c.cpu, identifier(p.Image), oneWord(moduleName(p.Image)))
	if len(p.Image.BuildID) > 0 {
		fmt.Fprintf(out, "INFO CODE_ID %s\n", strings.ToUpper(hex.EncodeToString(p.Image.BuildID)))
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		if f.Name != "" {
			fmt.Fprintf(out, "FUNC %x %x 0 %s\n", f.Start-c.base, f.End-f.Start, visible.Line(f.Name))
		}
	}
	for i := range p.Functions {
		if f := &p.Functions[i]; f.Name == "" {
			fmt.Fprintf(out, "PUBLIC %x 0 %s\n", f.Start-c.base, f.Symbol())
		}
	}
	for i := range p.Functions {
		c.function(out, &p.Functions[i])
	}
	c.exceptions(out)
	if c.records == 0 {
		return c.refused, errors.New("no rule can be said in STACK CFI records")
	}
	return c.refused, out.Flush()
}

// system is the operating system of the MODULE record.
func system(img *image.Image) string {
	switch img.System {
	case "darwin":
		return "mac"
	case "windows":
		return "windows"
	}
	return "Linux"
}

// oneWord is a file's name without what would end the field.
func oneWord(name string) string { return strings.ReplaceAll(visible.Line(name), " ", "_") }

// hashed is how much of .text stands in for the build ID of files that have none, as in
// Breakpad's dump_syms (common/linux/file_id.cc).
const hashed = 4096

// identifier is the debug identifier of a module: the first 16 bytes of its build ID as a GUID, whose
// first three fields are numbers in little-endian order, and an age of 0; of Windows' what its CodeView record has.
func identifier(img *image.Image) string {
	if id := image.SymbolServerID(img.BuildID); id != "" && img.System == "windows" { // GUID and age
		return id
	}
	var id [16]byte
	if len(img.BuildID) > 0 {
		copy(id[:], img.BuildID)
	} else {
		text, _ := img.Sections.Named(".text")
		if len(text.Data) == 0 {
			for i := range img.Segments {
				if img.Segments[i].Exec {
					text.Data = img.Segments[i].Data
					break
				}
			}
		}
		for i, b := range text.Data[:min(len(text.Data), hashed)] {
			id[i%len(id)] ^= b
		}
	}
	id[0], id[1], id[2], id[3] = id[3], id[2], id[1], id[0]
	id[4], id[5] = id[5], id[4]
	id[6], id[7] = id[7], id[6]
	return strings.ToUpper(hex.EncodeToString(id[:])) + "0"
}
