package main

import (
	"errors"
	"fmt"
	"strings"
)

// noArguments is for commands that take none.
func noArguments(cmd *subcommand, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, such as %q", cmd.Name(), args[0])
	}
	return nil
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
func exclusive(cmd *subcommand, group ...string) error {
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
