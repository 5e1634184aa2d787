//go:build !small

package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/backsight/backsight/render"
	"github.com/spf13/cobra"
)

// subcommand is a command of the command line. The command for small devices has less, by the same names.
type subcommand = cobra.Command

// execute does what a command line says. What is printed goes to said, the commands' output to the writer below it.
func execute(ctx context.Context, args []string, said *lastError, stderr io.Writer) error {
	root := newRoot(said, stderr, args)
	root.SetArgs(args)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// newRoot is the command line's root, which prints to out. Where args begin with a command's name, no other command is made, none of cobra's
// either: their flags are some hundreds. Only the root itself is asked for the version.
func newRoot(out *lastError, stderr io.Writer, args []string) *cobra.Command {
	stdout := out.w
	root := &cobra.Command{
		Use:   "backsight",
		Short: "Backtraces from bare binaries",
		Long: `Backsight recovers the call chains of a stopped program from a capture of it
(a core file, a snapshot) and the binaries as they shipped: with or without
symbols, unwind tables and frame pointers. Every frame says how it was found and
how sure it is.

Backtraces go to standard output, messages to standard error. Exit codes: 0
every capture gave backtraces; 1 with --strict, a backtrace is incomplete; 2 a
capture gave none (those of the other captures are written all the same); 64
wrong usage; 129, 130 and 143 a signal ended it (SIGHUP, SIGINT, SIGTERM).`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	all := commands(stdout, stderr)
	one := slices.IndexFunc(all, func(c command) bool { return len(args) > 0 && args[0] == c.name })
	if one >= 0 {
		all = all[one : one+1]
		root.CompletionOptions.DisableDefaultCmd = true
	} else {
		root.Version = version()
	}
	for _, c := range all {
		root.AddCommand(c.make())
	}
	root.SetHelpCommand(newHelp(root, stdout))
	root.SetOut(out)
	root.SetFlagErrorFunc(hint)
	root.SetUsageFunc(func(c *cobra.Command) error { return usage(c, helpWidth(stdout)) })
	root.SetHelpFunc(plainHelp(root.HelpFunc()))
	if one < 0 {
		refuseOtherShells(root)
	}
	return root
}

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "The JSON Schema of the output",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(render.Schema())
			return err
		},
	}
}

// oneArgument is for commands that take one: what, in words.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return fmt.Errorf("%s: wants %s", cmd.Name(), what)
		}
		return nil
	}
}
