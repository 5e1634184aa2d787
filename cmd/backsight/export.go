//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/outfile"
	"github.com/backsight/backsight/tables"
)

// formatList are the forms of tables, a line each, for help.
func formatList() string {
	var b strings.Builder
	for _, f := range backsight.TableFormats() {
		fmt.Fprintf(&b, "  %-12s %s\n", f.Name, f.Short)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// formatNamed is the form with a name. The error lists those that there are.
func formatNamed(name string) (tables.Format, error) {
	all := backsight.TableFormats()
	i := slices.IndexFunc(all, func(f tables.Format) bool { return f.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return tables.Format{}, fmt.Errorf("--format: no form of tables is called %q; there are %s", name, strings.Join(names, ", "))
}

// export writes the rules of an image in the form of --format.
func (o *tableOptions) export(ctx context.Context, stdout io.Writer, p *progress, path string) error {
	form, err := o.chosenForm()
	if err != nil {
		return err
	}
	if o.output == "" && !form.Text && isTerminal(stdout) {
		return fmt.Errorf("--format %s writes bytes that a terminal cannot show: give a file with -o", form.Name)
	}
	img, closed, err := o.image(ctx, p.warn, path)
	if err != nil {
		return err
	}
	defer closed()
	stop := p.while("analysing " + displayName(path))
	rules, err := backsight.ListRules(ctx, img, o.sources...)
	stop()
	switch {
	case img.Files.Err() != nil || ctx.Err() != nil:
		return &failure{exitNone, err}
	case err != nil:
		return fmt.Errorf("--sources: %w", err)
	case len(rules.Rules) == 0:
		return &failure{exitNone, errors.New(path + ": no rules to write")}
	}
	refused, err := o.written(ctx, stdout, form, rules)
	sayRefused(p, path, refused)
	if err != nil && !errors.As(err, new(*failure)) {
		return &failure{exitNone, fmt.Errorf("%s: %w", path, err)}
	}
	return err
}

// written writes a table to standard output or, whole or not at all, to the file of -o.
func (o *tableOptions) written(ctx context.Context, stdout io.Writer, form tables.Format, rules *tables.Program) (refused []tables.Refusal, err error) {
	if o.output == "" {
		return form.Write(stdout, rules)
	}
	path, err := pathOf(o.output, form, rules)
	if err != nil {
		return nil, err
	}
	err = outfile.Write(ctx, path, o.outputMode(rules.Image.Path), func(f *os.File) (err error) {
		refused, err = form.Write(f, rules)
		return err
	})
	return refused, notWritten(path, err)
}

// pathOf is the file that -o means: in a directory, it lies where the form's readers look, and the
// directories below are made.
func pathOf(output string, form tables.Format, rules *tables.Program) (string, error) {
	if st, err := os.Stat(output); err != nil || !st.IsDir() {
		return output, nil
	}
	name := filepath.Base(rules.Image.Path) + "." + form.Name
	if form.FileName != nil {
		name = form.FileName(rules)
	}
	path := filepath.Join(output, name)
	return path, os.MkdirAll(filepath.Dir(path), 0o777)
}

// maxRefusals bounds the lines on what a form cannot say.
const maxRefusals = 8

// sayRefused says what is missing from a table.
func sayRefused(p *progress, path string, refused []tables.Refusal) {
	for _, r := range refused[:min(len(refused), maxRefusals)] {
		p.warn(path + ": " + r.String())
	}
	if n := len(refused) - maxRefusals; n > 0 {
		p.warn(fmt.Sprintf("%s: and %d more", path, n))
	}
}
