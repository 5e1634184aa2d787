package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// withCommand is a command line with "bt" in front where that begins with a capture, or with a flag that is bt's:
// `backsight CORE` is `backsight bt CORE`.
func withCommand(args []string, known []command) []string {
	if len(args) == 0 || slices.ContainsFunc(known, func(c command) bool { return c.name == args[0] }) {
		return args
	}
	switch first := args[0]; {
	case slices.Contains([]string{"-h", "--help", "-v", "--version", "help", "completion"}, first), strings.HasPrefix(first, "__complete"):
		return args
	case strings.HasPrefix(first, "-"), strings.ContainsRune(first, filepath.Separator):
	case !exists(first):
		return args
	}
	return append([]string{"bt"}, args...)
}

// elsewhere says how what other programs have as a flag is said here.
func elsewhere() map[string]string {
	return map[string]string{
		"json": "-f json", "html": "-f html", "core": "the capture is an argument: backsight bt CORE", "c": "the capture is an argument: backsight bt CORE",
		"q": "messages go to standard error: 2>/dev/null", "quiet": "messages go to standard error: 2>/dev/null",
		"v": "--explain says how each frame was found", "verbose": "--explain says how each frame was found",
		"no-color": "--color never, or NO_COLOR=1", "no-colour": "--color never, or NO_COLOR=1", "colour": "--color",
		"o": "output goes to standard output: > FILE", "output": "output goes to standard output: > FILE", "b": "--explain says how each frame was found",
		"symbol-path": "--symbols PATH", "executable": "-e FILE", "exec": "-e FILE", "binary": "-e FILE, or --image FILE@ADDR",
		"solib-path": "--sysroot DIR", "threads": "all threads are the default; --thread ID, or -1",
	}
}

// hint adds to an error of an unknown flag what may have been meant.
func hint(c *subcommand, err error) error {
	unknown, ok := err.(*pflag.NotExistError)
	if !ok {
		return err
	}
	name := strings.TrimLeft(unknown.GetSpecifiedName(), "-")
	if says := elsewhere()[name]; says != "" && c.Name() == "bt" {
		return fmt.Errorf("%w\nHere: %s", err, says)
	}
	const enough = 3 // letters, by which a name is known
	var alike []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if len(name) >= enough && strings.HasPrefix(f.Name, name[:enough]) {
			alike = append(alike, "--"+f.Name)
		}
	})
	if len(alike) == 0 {
		return err
	}
	return fmt.Errorf("%w\nDid you mean %s?", err, strings.Join(alike, ", "))
}

// isCapture is a hint where a file is called as a command is, "" where there is none.
func isCapture(name string) string {
	if !exists(name) {
		return ""
	}
	return fmt.Sprintf("\nThe file %s here is read by: backsight bt %s", name, name)
}
