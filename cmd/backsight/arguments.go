package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// noArguments is for commands that take none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, such as %q", cmd.Name(), args[0])
	}
	return nil
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

// named refuses arguments that are empty, as a shell's variable that is not set makes them.
func named(what string, list []string) error {
	for _, s := range list {
		if s == "" {
			return fmt.Errorf("%s: an empty name", what)
		}
	}
	return nil
}

// exclusive refuses more than one flag of a group.
func exclusive(cmd *cobra.Command, group ...string) error {
	var given []string
	for _, name := range group {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return errors.New(strings.Join(given, " and ") + " exclude one another")
	}
	return nil
}
