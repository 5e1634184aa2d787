//go:build !small

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/spf13/cobra"
)

// complete makes shells complete the values of a command's flags, as far as it has them:
// formats and sources are the command's own.
func complete(cmd *cobra.Command, formats, sources []string) {
	for flag, values := range map[string]func() []string{
		"format": listed(formats),
		"color":  listed([]string{"auto", "always", "never"}),
		"endian": listed([]string{"little", "big"}),
		"arch":   func() []string { return ofCPUs(func(a *cpu.Arch) string { return a.Name }) },
		"abi":    func() []string { return ofCPUs(func(a *cpu.Arch) string { return a.ABI }) },
	} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		// The error is of a flag that is not there, or has completion already.
		_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return values(), cobra.ShellCompDirectiveNoFileComp
		})
	}
	if cmd.Flags().Lookup("sources") != nil {
		_ = cmd.RegisterFlagCompletionFunc("sources", completeList(sources))
	}
	if cmd.Flags().Lookup("thread") != nil {
		_ = cmd.RegisterFlagCompletionFunc("thread", completeThreads)
	}
}

func listed(values []string) func() []string { return func() []string { return values } }

// ofCPUs lists a property of all CPUs, each value once.
func ofCPUs(property func(*cpu.Arch) string) (values []string) {
	for _, a := range backsight.CPUs() {
		if v := property(a); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// refuseOtherShells makes "completion bogus" wrong usage instead of a page of help.
func refuseOtherShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	c, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		var shells []string
		for _, s := range c.Commands() {
			shells = append(shells, s.Name())
		}
		return fmt.Errorf("completion: no shell %q; there are %s", args[0], strings.Join(shells, ", "))
	}
}

// completeList completes the last of several values with commas between.
func completeList(values []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) (found []string, _ cobra.ShellCompDirective) {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		for _, v := range values {
			if !slices.Contains(strings.Split(before, ","), v) && strings.HasPrefix(before+v, begun) {
				found = append(found, before+v)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// maxCompletion is how long a shell may wait for the threads of a capture.
const maxCompletion = 2 * time.Second

// completeThreads names the threads of the capture that stands on the command line.
func completeThreads(_ *cobra.Command, args []string, _ string) (found []string, _ cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) == 0 || args[len(args)-1] == "-" {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxCompletion)
	defer cancel()
	files := backsight.NewFiles(input.FileOptions{})
	defer files.Close()
	capture, err := backsight.Open(ctx, args[len(args)-1], input.Env{Files: files})
	if err != nil {
		return nil, none
	}
	defer capture.Close()
	snap, err := capture.Next(ctx)
	if err != nil {
		return nil, none
	}
	for i := range snap.Threads {
		t := &snap.Threads[i]
		what := typeset.Text(t.Name)
		if t.Crashed {
			what = strings.TrimSpace(what + " (crashed)")
		}
		found = append(found, strings.TrimSuffix(fmt.Sprintf("%d\t%s", t.ID, what), "\t"))
	}
	return found, none
}
