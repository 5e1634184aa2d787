package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/excerpt"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/report"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// fileFlags say where binaries are.
type fileFlags struct {
	exe       string
	images    []string
	sysroots  []string
	debugDirs []string
	symbols   []string
	raw       rawFlags
	flags     *pflag.FlagSet
}

// hostDebugDir has the debug files of this machine's binaries.
const hostDebugDir = "/usr/lib/debug"

// debugRoots are the directories to search: of another machine's binaries, this
// machine's debug files are none, unless the user says so.
func (ff *fileFlags) debugRoots() []string {
	if ff.sysroots != nil && !ff.flags.Changed("debug-dir") {
		return nil
	}
	return ff.debugDirs
}

// rawFlags describe binaries without headers.
type rawFlags struct{ arch, endian, abi string }

func (ff *fileFlags) add(f *pflag.FlagSet) {
	f.VarP(&onceValue{value: &ff.exe}, "exe", "e", "the executable `FILE`, where the capture does not name it or it lives elsewhere")
	f.StringArrayVar(&ff.images, "image", nil, "a binary `FILE[@ADDR]` of the captured program, ADDR its load bias; repeatable")
	f.StringArrayVar(&ff.sysroots, "sysroot", nil, "`DIR` with the files that the capture names, and their debug files; repeatable")
	f.StringArrayVar(&ff.symbols, "symbols", nil, "names from text at `PATH`: System.map, kallsyms, nm's output, or a directory of such files; repeatable")
	ff.addDebug(f)
	ff.raw.add(f)
}

// onceValue is a flag that may be given once.
type onceValue struct {
	value *string
	given bool
}

func (o *onceValue) String() string { return "" }
func (o *onceValue) Type() string   { return "string" }

func (o *onceValue) Set(s string) error {
	if o.given {
		return errors.New("given twice")
	}
	*o.value, o.given = s, true
	return nil
}

// gdbOrder takes the executable out of "EXE CORE", as gdb wants its arguments.
func (ff *fileFlags) gdbOrder(captures []string) []string {
	if len(captures) != 2 || ff.exe != "" {
		return captures
	}
	if st, err := os.Stat(captures[0]); err != nil || !st.Mode().IsRegular() {
		return captures
	}
	f, err := os.Open(captures[0])
	if err != nil {
		return captures
	}
	defer f.Close()
	head := make([]byte, image.HeadSize)
	n, _ := io.ReadFull(f, head)
	if !input.IsELF(head[:n]) {
		return captures
	}
	ff.exe = captures[0]
	return captures[1:]
}

func (ff *fileFlags) addDebug(f *pflag.FlagSet) {
	f.StringArrayVar(&ff.debugDirs, "debug-dir", []string{hostDebugDir}, "`DIR` with separate debug files, or with programs before they were stripped; repeatable")
	ff.flags = f
}

func (r *rawFlags) add(f *pflag.FlagSet) {
	f.StringVar(&r.arch, "arch", "", "`CPU` of binaries without headers: mips, arm, aarch64, riscv32, …")
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

// excerptFlags ask for more about each frame.
type excerptFlags struct{ code, source, modules bool }

func (e *excerptFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&e.code, "disassemble", false, "the instructions around every frame")
	f.BoolVar(&e.source, "source", false, "the source lines around every frame, where the files are found")
	f.BoolVar(&e.modules, "modules", false, "the binaries: where they are mapped, their build IDs, which are missing")
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
				f.Code = excerpt.Code(snap, f, aroundCode)
			}
			if e.source {
				f.Source = excerpt.Source(sysroots, f, aroundSource)
			}
		}
	}
}

// env is what captures are opened with.
func (m *memoryFlags) env(files *input.Files) input.Env {
	env := input.Env{Files: files, Regs: m.regs}
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
	a, ok := archs.ByName(r.arch, r.abi, r.endian == "big")
	if !ok {
		return nil, fmt.Errorf("no processor %s; there are %s", strings.Join(strings.Fields(r.arch+" "+r.abi+" "+r.endian+"-endian"), " "), processors(archs))
	}
	return a, nil
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

// open checks that what the user named is there: a mistyped name should not turn
// into a poor backtrace.
func (ff *fileFlags) open() (*input.Files, error) {
	archs := backsight.CPUs()
	raw, err := ff.raw.parse(archs)
	if err != nil {
		return nil, err
	}
	opt := input.FileOptions{Archs: archs, Exe: ff.exe, Sysroots: ff.sysroots, DebugDirs: ff.debugRoots(), Raw: raw}
	for _, i := range ff.images {
		opt.Images = append(opt.Images, input.ParseNamedImage(i))
	}
	for _, dir := range ff.sysroots {
		if err := directory("--sysroot", dir); err != nil {
			return nil, err
		}
	}
	files := backsight.NewFiles(opt)
	if err := files.ReadSymbols(ff.symbols); err != nil {
		return nil, &failure{exitNone, err}
	}
	for _, i := range append([]input.NamedImage{{Path: ff.exe}}, opt.Images...) {
		if i.Path == "" {
			continue
		}
		if _, err := files.Open(i.Path); err != nil {
			return nil, &failure{exitNone, errors.Join(fileError(i.Path, err), files.Close())}
		}
	}
	return files, nil
}

// directory checks that a flag, if it is given, names one.
func directory(flag, path string) error {
	if path == "" {
		return nil
	}
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		return &failure{exitNone, fmt.Errorf("%s %s: not a directory", flag, path)}
	}
	return nil
}

// fileError is one line about a file that cannot be opened.
func fileError(path string, err error) error {
	var p *os.PathError
	if errors.As(err, &p) && !errors.As(err, new(*input.Error)) {
		return fmt.Errorf("%s: cannot be opened: %w", path, p.Err)
	}
	return err
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
