package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/excerpt"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/report"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// rawFlags describe binaries without headers.
type rawFlags struct{ arch, endian, abi string }

// onceValue is a flag that may be given once.
type onceValue struct {
	value *string
	given bool
}

func (o *onceValue) String() string { return "" }
func (o *onceValue) Type() string   { return "string" }

func (o *onceValue) Set(s string) error {
	switch {
	case o.given:
		return errors.New("given twice")
	case s == "":
		return errors.New("an empty name")
	}
	*o.value, o.given = s, true
	return nil
}

func (r *rawFlags) add(f *pflag.FlagSet) {
	f.StringVar(&r.arch, "arch", "", "`CPU` of binaries without headers, or of several (universal files): mips, arm, aarch64, riscv32, …")
	f.StringVar(&r.endian, "endian", "little", "their byte `ORDER`: little or big")
	f.StringVar(&r.abi, "abi", "", "their `ABI` where the processor has several: o32, n32, n64, …")
}

// memoryFlags give memory and registers that no capture has.
type memoryFlags struct {
	ram  []string
	regs string
}

func (m *memoryFlags) add(f *pflag.FlagSet) {
	f.StringArrayVar(&m.ram, "ram", nil, "memory `FILE[@ADDR]` as the processor sees it untranslated, beside the capture or alone; repeatable")
	f.StringVar(&m.regs, "regs", "", "`FILE` with registers as a debugger or a probe prints them")
}

// check finds files that are not there, and a file of registers that has none: captures that have memory and
// registers of their own do not ask for them. A pipe is not looked into, for it can be read once.
func (m *memoryFlags) check(archs cpu.Set) error {
	for _, name := range m.ram {
		path := input.ParseNamedImage(name).Path
		if _, err := os.Stat(path); err != nil {
			return &failure{exitNone, fileError(path, err)}
		}
	}
	if m.regs == "" {
		return nil
	}
	info, err := os.Stat(m.regs)
	if err != nil {
		return &failure{exitNone, fileError(m.regs, err)}
	}
	if info.Mode().IsRegular() {
		if _, err := firmware.ReadRegisters(&input.Env{Archs: archs, Regs: m.regs}); err != nil {
			return &failure{exitNone, err}
		}
	}
	return nil
}

// excerptFlags ask for more about each frame.
type excerptFlags struct{ args, locals, code, source bool }

func (e *excerptFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&e.args, "args", false, "the arguments in every frame's line, where the binary has debug information")
	f.BoolVar(&e.locals, "locals", false, "the arguments and local variables of every frame, where the binary has debug information")
	f.BoolVar(&e.code, "disassemble", false, "the instructions around every frame")
	f.BoolVar(&e.source, "source", false, "the source lines around every frame, where the files are found")
}

// How many instructions and lines are shown before and behind a frame's own.
const (
	aroundCode   = 5
	aroundSource = 3
)

// fill takes the excerpts that were asked for. Source files are looked for below sysroots.
func (e *excerptFlags) fill(r *report.Report, sysroots []string) {
	for i := range r.Threads {
		snap := r.Snapshot.Of(r.Threads[i].Thread)
		for k := range r.Threads[i].Frames {
			f := &r.Threads[i].Frames[k]
			if e.code {
				f.Detailed().Code = excerpt.Code(snap, f, aroundCode)
			}
			if e.source {
				f.Detailed().Source = excerpt.Source(sysroots, f, aroundSource)
			}
		}
	}
}

// env is what captures are opened with.
func (m *memoryFlags) env(files *input.Files) input.Env {
	env := input.Env{Files: files, Archs: files.Archs(), Regs: m.regs}
	for _, f := range m.ram {
		env.RAM = append(env.RAM, input.ParseNamedImage(f))
	}
	return env
}

// parse finds the processor; nil where none was named.
func (r *rawFlags) parse(archs cpu.Set) (*cpu.Arch, error) {
	if r.endian != "little" && r.endian != "big" {
		return nil, fmt.Errorf("--endian %q is neither little nor big", r.endian)
	}
	if r.arch == "" {
		return nil, nil
	}
	p := r.named()
	if r.endian == "big" && p.endian != "big" {
		return nil, fmt.Errorf("--arch %s is little-endian, --endian says big", r.arch)
	}
	a, ok := archs.ByName(p.arch, p.abi, p.endian == "big")
	if !ok {
		return nil, fmt.Errorf("no processor %s; there are %s", strings.Join(strings.Fields(r.arch+" "+r.abi+" "+r.endian+"-endian"), " "), processors(archs))
	}
	return a, nil
}

// named is what --arch, --abi and --endian name together. Distributions and toolchains have
// names of their own, which say the byte order or the ABI, too.
func (r *rawFlags) named() rawFlags {
	p, ok := map[string]rawFlags{
		"mipsel": {"mips", "little", ""}, "mipseb": {"mips", "big", ""},
		"mips64el": {"mips64", "little", ""}, "mips64eb": {"mips64", "big", ""},
		"arm64": {"aarch64", r.endian, ""}, "amd64": {"x86_64", r.endian, ""}, "x86-64": {"x86_64", r.endian, ""},
		"x86": {"i386", r.endian, ""}, "i686": {"i386", r.endian, ""},
		"armel": {"arm", "little", ""}, "armhf": {"arm", "little", ""}, "cortex-m": {"arm", r.endian, "cortexm"},
		"rv32": {"riscv32", r.endian, ""}, "rv64": {"riscv64", r.endian, ""},
	}[r.arch]
	if !ok {
		return *r
	}
	if r.abi != "" {
		p.abi = r.abi
	}
	return p
}

// processors lists the names of all ABIs.
func processors(archs cpu.Set) string {
	var names []string
	for _, a := range archs {
		if n := strings.TrimSpace(a.Name + " " + a.ABI); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return strings.Join(names, ", ")
}

// colored decides whether to colour: on a terminal, unless the user or the
// environment says otherwise (no-color.org).
func colored(when string, stdout io.Writer) (bool, error) {
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return isTerminal(stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", nil
	}
	return false, fmt.Errorf("--color %q is none of auto, always, never", when)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns is how wide a terminal is, 0 for what is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// displayName is a capture in a title.
func displayName(path string) string {
	switch path {
	case "-":
		return "standard input"
	case memoryAlone:
		return "memory"
	}
	return filepath.Base(path)
}
