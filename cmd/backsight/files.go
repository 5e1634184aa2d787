package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/spf13/pflag"
)

// fileFlags say where binaries are.
type fileFlags struct {
	exe       string
	images    []string
	sysroots  []string
	debugDirs []string
	symbols   []string
	symbolURL []string
	running   fetcher // files of processes that run; nil: none
	servers   string  // of debuginfod; fromEnvironment: those of DEBUGINFOD_URLS
	raw       rawFlags
	flags     *pflag.FlagSet
	noIndex   bool
	searched  atomic.Int64 // files that searches came to
}

// debugRoots are the directories to search: of another machine's binaries, this
// machine's debug files are none, unless the user says so. A process that sees another root runs on this machine: in a
// container, or closed in, as Firefox's are, with a root that is empty.
func (ff *fileFlags) debugRoots() []string {
	if ff.flags.Changed("sysroot") && !ff.flags.Changed("debug-dir") {
		return nil
	}
	return ff.debugDirs
}

// indexed are those of them that the user named. The default is this machine's packages', all
// of them called by their build IDs or by the binary's name.
func (ff *fileFlags) indexed() []string {
	if ff.flags.Changed("debug-dir") {
		return ff.debugDirs
	}
	return nil
}

func (ff *fileFlags) add(f *pflag.FlagSet) {
	f.VarP(&onceValue{value: &ff.exe}, "exe", "e", "the executable `FILE`, where the capture does not name it or it lives elsewhere")
	f.StringArrayVar(&ff.images, "image", nil, "a binary `FILE[@ADDR]` of the captured program, ADDR its load bias; repeatable")
	f.StringArrayVar(&ff.sysroots, "sysroot", nil, "`DIR` with the files that the capture names, and their debug files; repeatable")
	f.BoolVar(&ff.noIndex, "no-index", false, "look only where paths and build IDs lead below --sysroot, and search through none of its directories")
	f.StringArrayVar(&ff.symbols, "symbols", nil, "names from text at `PATH`: System.map, kallsyms, nm's output, Breakpad's symbol files; program databases (PDB); or a directory of such files; repeatable")
	ff.addDebug(f)
	ff.raw.add(f)
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
	f.StringArrayVar(&ff.debugDirs, "debug-dir", []string{backsight.HostDebugDir}, "`DIR` with separate debug files, or with programs before they were stripped; repeatable")
	ff.addFetch(f)
	ff.flags = f
}

// open checks that what the user named is there: a mistyped name should not turn
// into a poor backtrace. Fetching ends with ctx; what it could not fetch is said to warn.
func (ff *fileFlags) open(ctx context.Context, warn func(string)) (*input.Files, error) {
	archs := backsight.CPUs()
	raw, err := ff.raw.parse(archs)
	if err != nil {
		return nil, err
	}
	fetch, symbols, err := ff.fetchers(ctx, warn)
	if err != nil {
		return nil, err
	}
	opt := input.FileOptions{Fetch: ff.running.or(fetch), FetchSymbols: symbols, Archs: archs, Exe: ff.exe, Sysroots: ff.sysroots, DebugDirs: ff.debugRoots(), Indexed: ff.indexed(), Raw: raw,
		NoIndex: ff.noIndex, Context: ctx, Searching: func() { ff.searched.Add(1) }}
	for _, i := range ff.images {
		opt.Images = append(opt.Images, input.ParseNamedImage(i))
	}
	if err := errors.Join(named("--sysroot", ff.sysroots), named("--debug-dir", ff.debugDirs)); err != nil {
		return nil, err
	}
	for _, dir := range ff.sysroots {
		if err := directory("--sysroot", dir); err != nil {
			return nil, err
		}
	}
	for _, dir := range ff.indexed() {
		if err := directory("--debug-dir", dir); err != nil {
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
