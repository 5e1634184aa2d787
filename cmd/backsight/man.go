//go:build !small

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/backsight/backsight/internal/outfile"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan is the command that packages are built with: manual pages, made of the command tree. Pages by cobra/doc name no
// argument of a flag (`--exe=""` instead of `--exe FILE`), and its Markdown adds 440 kB to the program.
func newMan(root func() *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write manual pages into a directory",
		Args:   oneArgument("a directory"),
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return &failure{exitNone, err}
			}
			return writeManuals(c.Context(), args[0], root())
		},
	}
}

// writeManuals writes the page of a command and those of the commands below.
func writeManuals(ctx context.Context, dir string, c *cobra.Command) error {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
		return nil
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	path := filepath.Join(dir, name+".1")
	if err := outfile.Write(ctx, path, 0o666, func(f *os.File) error { _, err := f.WriteString(manual(name, c)); return err }); err != nil {
		return notWritten(path, err)
	}
	for _, sub := range c.Commands() {
		if err := writeManuals(ctx, dir, sub); err != nil {
			return err
		}
	}
	return nil
}

// manualWidth is how wide lines are that man(1) does not fill, in columns.
const manualWidth = 72

// manual is the page of a command in the language of man(7).
func manual(name string, c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"backsight %s\" \"User Commands\"\n.ad l\n.nh\n", roff(strings.ToUpper(name)), roff(version()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", verbatim(c.Long))
	}
	if c.Flags().HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				option(&b, f)
			}
		})
	}
	if c.Name() == "bt" {
		fmt.Fprintf(&b, ".SH MARKS\n.nf\n%s.fi\n", verbatim(string(typeset.AppendMarks(nil, manualWidth))))
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s.fi\n", verbatim(c.Example))
	}
	if related := seeAlso(c); len(related) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(related, "\n"))
	}
	return b.String()
}

// option writes a flag.
func option(b *strings.Builder, f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR", roff(name))
	switch {
	case optional(value):
		fmt.Fprintf(b, "\\fI%s\\fR", roff(value))
		usage = bareValue(usage, value)
	case value != "":
		fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
	}
	fmt.Fprintf(b, "\n%s", verbatim(usage))
}

// seeAlso are the pages of the command above and of those below.
func seeAlso(c *cobra.Command) (pages []string) {
	page := func(c *cobra.Command) {
		pages = append(pages, fmt.Sprintf(".BR %s (1)", roff(strings.ReplaceAll(c.CommandPath(), " ", "-"))))
	}
	if c.HasParent() {
		page(c.Parent())
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" && sub.Name() != "completion" {
			page(sub)
		}
	}
	return pages
}

// roff is text within a line: backslashes and hyphens as they are, and characters beyond ASCII by their
// numbers.
func roff(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r > 0x7e:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// verbatim is text of several lines: none of them is taken for a request, which begins with a point or
// an apostrophe. An empty line begins a paragraph.
func verbatim(s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(s) + "\n") {
		line = roff(strings.TrimSuffix(line, "\n"))
		switch {
		case line == "":
			line = ".PP"
		case line[0] == '.' || line[0] == '\'':
			line = `\&` + line
		case line[0] == ' ':
			line = ".br\n" + line
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
