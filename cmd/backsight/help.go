//go:build !small

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newHelp is the help command; a topic that does not exist is wrong usage.
func newHelp(root *cobra.Command, stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command, or the marks of a backtrace: help marks",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "marks" {
				_, err := c.OutOrStdout().Write(typeset.AppendMarks(nil, helpWidth(stdout)))
				return err
			}
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return fmt.Errorf("no command %q to help with", strings.Join(args, " "))
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// plainHelp is help where flags whose value may be left out look as they are typed,
// --flag[=VALUE], without what the value then is to the program.
func plainHelp(usual func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(c *cobra.Command, args []string) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "string" {
				f.NoOptDefVal = ""
			}
		})
		usual(c, args)
	}
}

// helpWidth is how wide help is: as the terminal, within what can be read.
func helpWidth(stdout io.Writer) int {
	if n := columns(stdout); n > 0 {
		return min(max(n, 60), 110)
	}
	return 80
}

// usage writes how c is typed, the commands below it and its flags, width columns wide.
// It replaces cobra's, which has a width only as a template: a program with text/template
// keeps every exported method of every type, for a template may call any of them, and was
// a sixth larger, in memory too.
func usage(c *cobra.Command, width int) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.Runnable() {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s\n", strings.TrimRight(flagUsages(c.LocalFlags(), width), " \n"))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", c.CommandPath())
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// flagUsages lists flags. One whose value may be left out is written as it is typed,
// --flag[=VALUE], and its text speaks of VALUE.
func flagUsages(flags *pflag.FlagSet, width int) string {
	list := flags.FlagUsagesWrapped(width)
	flags.VisitAll(func(f *pflag.Flag) {
		if value, _ := pflag.UnquoteUsage(f); optional(value) {
			typed := "--" + f.Name + value
			list = strings.ReplaceAll(list, "--"+f.Name+" "+value, typed+" ")
			list = bareValue(list, value)
		}
	})
	return list
}

// optional tells the name of a value that may be left out: [=VALUE].
func optional(value string) bool { return strings.HasPrefix(value, "[=") }

// bareValue is text where VALUE stands for each [=VALUE] that is a word.
func bareValue(text, value string) string {
	return strings.ReplaceAll(text, " "+value, " "+strings.Trim(value, "[=]"))
}
