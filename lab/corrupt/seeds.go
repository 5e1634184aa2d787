package corrupt

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/lab/hostile"
)

const (
	captureName = "capture"
	// coreMost is the size above which a core is no seed, and programMost that above which
	// a binary is not corrupted: each mutant is a copy.
	coreMost, programMost = 4 << 20, 300 << 10
	// stackMost is how much of a thread's stack a snapshot gets.
	stackMost = 16 << 10
)

// Seeds makes seeds of the captures below the folders: those with a core.gz and modules
// beside it, as testdata has them, and cases of recorded truth. scratch is where
// compressed binaries are unpacked to, and must outlive the seeds.
func Seeds(ctx context.Context, scratch string, roots ...string) (seeds []Seed, err error) {
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			var more []Seed
			switch d.Name() {
			case "core.gz":
				more, err = ofCore(ctx, path)
			case "truth.jsonl.gz":
				more, err = ofTruth(path, scratch)
			}
			seeds = append(seeds, more...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(seeds) == 0 {
		return nil, errors.New("there are no captures to make mutants of")
	}
	return append(seeds, ofCases()...), nil
}

// formatCases are package hostile's cases whose binaries have what testdata's lack.
var formatCases = [...]string{"notes", "segments", "inlines", "blocks", "rows", "sequences", "symbols", "relocations", "unwinding"}

// ofCases makes seeds of them: nothing is much in these, but they have notes, symbols, line
// tables, relocations and debug information of all the kinds that can be.
func ofCases() (seeds []Seed) {
	for _, c := range hostile.Cases() {
		if !slices.Contains(formatCases[:], c.Name) {
			continue
		}
		s := Seed{Name: c.Name}
		files := c.Files(3)
		for _, name := range slices.Sorted(maps.Keys(files)) { // "capture" comes first
			s.Files = append(s.Files, File{name, files[name]})
		}
		seeds = append(seeds, s)
	}
	return seeds
}

// ofCore makes two seeds of a core: itself, and a snapshot with its binaries.
func ofCore(ctx context.Context, path string) (seeds []Seed, err error) {
	root, err := filepath.Abs(filepath.Join(filepath.Dir(path), "modules"))
	if err != nil {
		return nil, err
	}
	data, err := unzip(path)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(filepath.Dir(path))
	if len(data) <= coreMost {
		seeds = append(seeds, Seed{Name: name, Files: []File{{captureName, data}}, Sysroot: root})
	}
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{root}})
	defer files.Close()
	stream, err := backsight.Open(ctx, path, input.Env{Files: files})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	snap, err := stream.Next(ctx)
	if err != nil {
		return nil, err
	}
	s, err := ofSnapshot(name+" as snapshot", snap)
	return append(seeds, s), err
}

func unzip(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return io.ReadAll(z)
}

// ofTruth makes seeds of a case of recorded truth, in each tier that it has.
func ofTruth(path, scratch string) (seeds []Seed, err error) {
	dir := filepath.Dir(path)
	lines, err := unzip(filepath.Join(dir, "snaps.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	for _, tier := range []string{"stripped", "naked"} {
		data, err := unzip(filepath.Join(dir, tier+".elf.gz"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		program := filepath.Join(scratch, fmt.Sprintf("%s-%s-%s.elf", filepath.Base(filepath.Dir(dir)), filepath.Base(dir), tier))
		if err := os.WriteFile(program, data, 0o600); err != nil {
			return nil, err
		}
		more, err := ofLines(filepath.Base(program), lines, program)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		seeds = append(seeds, more...)
	}
	return seeds, nil
}
