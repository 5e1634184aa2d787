package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/backsight/backsight"
	"github.com/spf13/pflag"
)

// usageLines are an error of usage as lines for people: without the words of the Go
// library, and with the suggestion of another command on a line of its own.
func usageLines(err error) []string {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "string" {
		return []string{fmt.Sprintf("--%s %q: %v", invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())}
	}
	if invalid != nil {
		return []string{fmt.Sprintf("--%s %q is %s", invalid.GetFlag().Name, invalid.GetValue(), kindOf(invalid.GetFlag()))}
	}
	var noValue *pflag.ValueRequiredError
	if errors.As(err, &noValue) {
		return []string{fmt.Sprintf("--%s wants a value", noValue.GetFlag().Name)}
	}
	what, more, _ := strings.Cut(err.Error(), "\n")
	lines := []string{what}
	if more = strings.Join(strings.Fields(more), " "); more != "" {
		lines = append(lines, more)
	}
	return lines
}

// kindOf says what the value of a flag is not, and should be.
func kindOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int":
		return "no number"
	case "bool":
		return "neither true nor false"
	}
	return "no " + f.Value.Type()
}

// newVersion prints what this program is.
func newVersion() *subcommand {
	var format string
	cmd := &subcommand{
		Use:   "version",
		Short: "The program's version",
		Args:  noArguments,
		RunE: func(c *subcommand, _ []string) error {
			switch format {
			case "text":
				_, err := fmt.Fprintln(c.OutOrStdout(), "backsight version "+version())
				return err
			case "json":
				_, err := fmt.Fprintf(c.OutOrStdout(), `{"go":%q,"platform":"%s/%s","version":%q}`+"\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, version())
				return err
			}
			return fmt.Errorf("--format %q is none of text, json", format)
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", "text", "`FORMAT`: text or json")
	return cmd
}

// version is the module's, as the Go tool recorded it.
func version() string { return backsight.Version() }
