// Package redacted checks what `backsight redact` promises, core by core: the same frames before and after, and nothing left of
// the environment, of the arguments and of other texts in the program's memory.
package redacted

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Result is what became of a core.
type Result struct {
	Core string
	// Refused is why nothing was written, "" where something was.
	Refused string
	// Same: bt prints the same frames.
	Same bool
	// Variables are how many variables of the environment the core had in memory that is written to, Texts how many other texts
	// of twelve characters and more; left are those that the new core still has.
	Variables, VariablesLeft, Texts, TextsLeft int
	// Left is one of them.
	Left string
}

// Check has backsight redact a core, plain or compressed by gzip, in dir.
func Check(ctx context.Context, backsight, sysroot, core, dir string) (r Result, err error) {
	r.Core = core
	old, clean := filepath.Join(dir, "old.core"), filepath.Join(dir, "clean.core")
	defer os.Remove(old)
	defer os.Remove(clean)
	if err := unpack(core, old); err != nil {
		return r, err
	}
	flags := []string{}
	if sysroot != "" {
		flags = append(flags, "--sysroot", sysroot)
		program, _, _ := strings.Cut(filepath.Base(core), ".")
		if exe := find(sysroot, program); exe != "" {
			flags = append(flags, "--exe", exe)
		}
	}
	if out, err := exec.CommandContext(ctx, backsight, append(append([]string{"redact", "-o", clean}, flags...), old)...).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		r.Refused = lines[len(lines)-1]
		return r, nil
	}
	r.Same = frames(ctx, backsight, flags, old) == frames(ctx, backsight, flags, clean)
	return r, r.texts(old, clean, binaries(ctx, backsight, flags, old))
}

// unpack copies a core, and undoes gzip.
func unpack(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	in := io.Reader(f)
	if filepath.Ext(from) == ".gz" {
		if in, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = io.Copy(out, in)
	return err
}

// find is the file of a name below a folder, "" for none.
func find(dir, name string) (found string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() == name {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// frames are the lines of a backtrace that are frames.
func frames(ctx context.Context, backsight string, flags []string, core string) string {
	out, _ := exec.CommandContext(ctx, backsight, append(append([]string{"bt", "--goroutines=false", "--color", "never"}, flags...), core)...).Output()
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "#") || strings.Contains(line, "stop:") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// binaries are the paths of a core's binaries, which are to be kept.
func binaries(ctx context.Context, backsight string, flags []string, core string) map[string]bool {
	out, _ := exec.CommandContext(ctx, backsight, append(append([]string{"bt", "-f", "json"}, flags...), core)...).Output()
	var report struct {
		Modules []struct {
			Own struct{ Path string } `json:"backsight"`
		}
	}
	_ = json.Unmarshal(out, &report)
	paths := map[string]bool{}
	for _, m := range report.Modules {
		paths[m.Own.Path] = true
	}
	return paths
}

var (
	text     = regexp.MustCompile(`[\x20-\x7e]{12,}`)
	variable = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*=.`)
)

// texts counts the texts in memory of the old core that the program writes to, and those that the new core has as well, in memory
// of that kind. Paths of binaries do not count.
func (r *Result) texts(old, clean string, binaries map[string]bool) error {
	before, err := writable(old)
	if err != nil {
		return err
	}
	after, err := writable(clean)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, s := range text.FindAll(after, -1) {
		kept[string(s)] = true
	}
	seen := map[string]bool{}
	for _, s := range text.FindAll(before, -1) {
		if seen[string(s)] || binaries[string(s)] {
			continue
		}
		seen[string(s)] = true
		count, left := &r.Texts, &r.TextsLeft
		if variable.Match(s) {
			count, left = &r.Variables, &r.VariablesLeft
		}
		*count++
		if kept[string(s)] || variable.Match(s) && bytes.Contains(after, s) {
			*left++
			r.Left = string(s)
		}
	}
	return nil
}

// writable is the memory of a core that the program may write to.
func writable(path string) (all []byte, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_W == 0 {
			continue
		}
		b, err := io.ReadAll(p.Open())
		if err != nil && err != io.ErrUnexpectedEOF {
			return nil, err
		}
		all = append(append(all, b...), 0)
	}
	return all, nil
}

// String is a line.
func (r *Result) String() string {
	switch {
	case r.Refused != "":
		return fmt.Sprintf("%s: not written: %s", r.Core, r.Refused)
	case !r.Same:
		return r.Core + ": other frames"
	case r.VariablesLeft+r.TextsLeft > 0:
		return fmt.Sprintf("%s: the same frames; left of %d variables %d, of %d texts %d: %q", r.Core, r.Variables, r.VariablesLeft, r.Texts, r.TextsLeft, r.Left)
	}
	return fmt.Sprintf("%s: the same frames; nothing left of %d variables and %d texts", r.Core, r.Variables, r.Texts)
}

// Good: what was promised holds. A text that is left may be an address that a frame has, again and again.
func (r *Result) Good() bool { return r.Refused == "" && r.Same && r.VariablesLeft == 0 }
