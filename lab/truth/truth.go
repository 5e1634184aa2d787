// Package truth is recorded truth on disk: cases, each a directory
//
//	<arch>/<program>-<compiler>-<opt>/
//	    sym.elf stripped.elf naked.elf    the same program in the tiers that it has, each plain or .gz
//	    images.json                       of a dynamic program: all images of the address space
//	    snaps.jsonl.gz                    captures, one a line, in the snapshot format
//	    truth.jsonl.gz                    the call chain of each, line by line, innermost frame first
//
// The images of a dynamic program but its own lie in <arch>/lib/.
//
// frames[0].pc is the PC, every next one a return address without mode bit, except
// behind a frame of kind sigtramp, where it is the interrupted PC. The last frame
// is main's caller. cfa is SP in the caller right at the call, null where unknown.
package truth

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Tiers are the forms of a program: with symbols and tables, tables only, neither.
var Tiers = [...]string{"sym", "stripped", "naked"}

// Answer is the true call chain of one capture.
type Answer struct {
	Prog string `json:"prog"`
	Step int    `json:"step"`
	// Kind: entry, prologue, body, epilogue, leaf, nocfi, signal.
	Kind string `json:"kind"`
	// ModeBit: bit 0 of the addresses is the ISA mode.
	ModeBit bool    `json:"mode_bit,omitempty"`
	Frames  []Frame `json:"frames"`
}

// Frame is one activation.
type Frame struct {
	PC    Hex    `json:"pc"`
	CFA   *Hex   `json:"cfa"`
	Func  string `json:"func"`
	Entry Hex    `json:"entry,omitempty"`
	Kind  string `json:"kind"`
}

// Hex is a number that JSON holds as a string "0x…".
type Hex uint64

// UnmarshalJSON reads "0x1f", and numbers as they are.
func (h *Hex) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseUint(strings.Trim(string(b), `"`), 0, 64)
	*h = Hex(v)
	return err
}

// MarshalJSON writes "0x1f".
func (h Hex) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"%#x"`, uint64(h)), nil }

// Case is a directory of recorded truth.
type Case struct {
	Dir string
	// Name is Dir below the root; Group its first element where there are three,
	// else ".".
	Name, Group, Arch, Prog, Compiler, Opt string
}

// Cases lists the cases below root whose path holds only, in order.
func Cases(root, only string) ([]Case, error) {
	var cs []Case
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "truth.jsonl.gz" || !strings.Contains(filepath.Dir(p), only) {
			return err
		}
		cs = append(cs, newCase(root, filepath.Dir(p)))
		return nil
	})
	slices.SortFunc(cs, func(a, b Case) int { return strings.Compare(a.Dir, b.Dir) })
	return cs, err
}

func newCase(root, dir string) Case {
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		rel = dir
	}
	c := Case{Dir: dir, Name: filepath.ToSlash(rel), Group: "."}
	parts := strings.Split(c.Name, "/")
	if len(parts) > 2 {
		c.Group = parts[0]
	}
	if len(parts) > 1 {
		c.Arch = parts[len(parts)-2]
	}
	c.Prog = parts[len(parts)-1]
	if i := strings.LastIndexByte(c.Prog, '-'); i >= 0 {
		c.Prog, c.Opt = c.Prog[:i], c.Prog[i+1:]
	}
	if i := strings.LastIndexByte(c.Prog, '-'); i >= 0 {
		c.Prog, c.Compiler = c.Prog[:i], c.Prog[i+1:]
	}
	return c
}

// Snapshots is the file of captures.
func (c *Case) Snapshots() string { return filepath.Join(c.Dir, "snaps.jsonl.gz") }

// Answers reads the true call chains.
func (c *Case) Answers() ([]Answer, error) {
	f, err := os.Open(filepath.Join(c.Dir, "truth.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var as []Answer
	for d := json.NewDecoder(bufio.NewReader(z)); ; {
		var a Answer
		if err := d.Decode(&a); err == io.EOF {
			return as, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: answer %d: %w", c.Dir, len(as)+1, err)
		}
		as = append(as, a)
	}
}
