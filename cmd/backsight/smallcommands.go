//go:build small

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"
)

// subcommand is a command of the command line, by the names of the library that the whole command uses: its completions, templates
// and regular expressions would be a twentieth of this program.
type subcommand struct {
	Use, Short, Long, Example string
	Args                      func(c *subcommand, args []string) error
	RunE                      func(c *subcommand, args []string) error

	flags *pflag.FlagSet
	ctx   context.Context
	out   io.Writer
	name  string
}

func (c *subcommand) Name() string { return c.name }

func (c *subcommand) Context() context.Context { return c.ctx }

func (c *subcommand) OutOrStdout() io.Writer { return c.out }

// Flags are the command's flags, none at first.
func (c *subcommand) Flags() *pflag.FlagSet {
	if c.flags == nil {
		c.flags = pflag.NewFlagSet("", pflag.ContinueOnError)
		c.flags.Usage = func() {}
	}
	return c.flags
}

// complete completes nothing: a device's shell does not ask.
func complete(*subcommand, []string, []string) {}

// execute does what a command line says. What is printed goes to said, the commands' output to the writer below it.
func execute(ctx context.Context, args []string, said *lastError, stderr io.Writer) error {
	all := commands(said.w, stderr)
	if len(args) == 0 || slices.Contains([]string{"help", "--help", "-h"}, args[0]) {
		fmt.Fprintln(said, "Backtraces from bare binaries\n\nUsage: backsight COMMAND [flags]; backsight COMMAND --help has the flags")
		for _, c := range all {
			fmt.Fprintf(said, "  %-8s %s\n", c.name, c.make().Short)
		}
		return nil
	}
	i := slices.IndexFunc(all, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		return fmt.Errorf("unknown command %q for \"backsight\"", args[0])
	}
	c := all[i].make()
	c.name, c.ctx, c.out = args[0], ctx, said
	return c.execute(args[1:])
}

func (c *subcommand) execute(args []string) error {
	f := c.Flags()
	switch err := f.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		_, err = fmt.Fprintf(c.out, "%s\n\nUsage:\n  backsight %s\n\nExamples:\n%s\n\nFlags:\n%s", c.Long, c.Use, c.Example, f.FlagUsages())
		return err
	case err != nil:
		return hint(c, err)
	}
	if c.Args != nil {
		if err := c.Args(c, f.Args()); err != nil {
			return err
		}
	}
	return c.RunE(c, f.Args())
}
