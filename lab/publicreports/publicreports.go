// Package publicreports says what is right for reports that other people brought (../shared/inputs/public), and compares: a file is
// read right, in part, refused, or wrong. The files are not in the project.
package publicreports

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Case is a file and what is right for it.
type Case struct {
	// File is the path below the folder of reports. Args are further arguments; one that begins with @ is a file there, unpacked
	// where it ends in .xz.
	File string
	Args []string
	// Want are texts of the output, in its order; Not are none of it.
	Want, Not []string
	// Refused is what the refusal says, "" where the file is to be read.
	Refused string
}

// Verdict is what became of a file.
type Verdict string

// The verdicts. Refused is right where the case says so.
const (
	Right   Verdict = "right"
	InPart  Verdict = "in part"
	Refused Verdict = "refused"
	Wrong   Verdict = "wrong"
	Unknown Verdict = "no expectation"
)

// Result is a case's.
type Result struct {
	Case
	Verdict Verdict
	Said    string // what lacks, or what is there that must not be
}

// Cases are all that are known.
func Cases() []Case { return slices.Concat(firmware(), kernels(), userspace()) }

// Run runs a command over the cases, of which the paths hold only, and visits each result. Files of the folder without a case come
// last.
func Run(ctx context.Context, command, dir, only string, visit func(Result)) error {
	tmp, err := os.MkdirTemp("", "publicreports")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	known := map[string]bool{}
	for _, c := range Cases() {
		known[c.File] = true
		for _, a := range c.Args {
			known[strings.TrimPrefix(a, "@")] = true
		}
		if strings.Contains(c.File, only) {
			visit(c.run(ctx, command, dir, tmp))
		}
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err == nil && !e.IsDir() && !known[name] && strings.Contains(name, only) && strings.Contains(name, "/") {
			visit(Result{Case: Case{File: name}, Verdict: Unknown})
		}
		return err
	})
}

// run compares one case.
func (c *Case) run(ctx context.Context, command, dir, tmp string) Result {
	args := []string{"bt"}
	for _, a := range c.Args {
		if name, file := strings.CutPrefix(a, "@"); file {
			a = unpacked(ctx, filepath.Join(dir, name), tmp)
		}
		args = append(args, a)
	}
	out, err := exec.CommandContext(ctx, command, append(args, filepath.Join(dir, c.File))...).CombinedOutput()
	text := string(out)
	r := Result{Case: *c, Verdict: Right}
	for _, not := range c.Not {
		if strings.Contains(text, not) {
			r.Verdict, r.Said = Wrong, not
			return r
		}
	}
	switch refused := err != nil && !strings.Contains(text, "\n#0"); {
	case refused && c.Refused != "" && strings.Contains(text, c.Refused):
		r.Verdict = Refused
		return r
	case refused, c.Refused != "":
		r.Verdict, r.Said = Wrong, text
		if c.Refused == "" {
			r.Verdict = Refused
		}
		return r
	}
	rest, found := text, 0
	for _, want := range c.Want {
		_, behind, ok := strings.Cut(rest, want)
		if !ok {
			r.Said += " " + want
			continue
		}
		rest, found = behind, found+1
	}
	switch {
	case found == 0 && len(c.Want) > 0:
		r.Verdict = Wrong
	case found < len(c.Want):
		r.Verdict = InPart
	}
	return r
}

// unpacked is a file's path, in tmp where the file is packed.
func unpacked(ctx context.Context, path, tmp string) string {
	name, packed := strings.CutSuffix(filepath.Base(path), ".xz")
	if !packed {
		return path
	}
	out := filepath.Join(tmp, name)
	if data, err := exec.CommandContext(ctx, "xz", "-dc", path).Output(); err == nil {
		_ = os.WriteFile(out, data, 0o600) // what lacks is said by the command
	}
	return out
}
