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

// listValue is a flag of values between commas, which may be given several times. pflag's own reads quotes as well, by a package that is
// a part in 500 of a small program, and allocates for each such flag.
type listValue struct{ list *[]string }

func (l listValue) String() string { return "" }
func (l listValue) Type() string   { return "strings" }

func (l listValue) Set(s string) error {
	if *l.list == nil {
		*l.list = []string{} // the flag was given
	}
	if s != "" {
		*l.list = append(*l.list, strings.Split(s, ",")...)
	}
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
