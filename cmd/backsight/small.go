//go:build small

package main

import (
	"context"
	"errors"
	"io"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/report"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands are those for processes of this machine, which run or crash.
func commands(stdout, stderr io.Writer) []command {
	return []command{
		{"bt", func() *cobra.Command { return newBT(stdout, stderr) }},
		{"core", func() *cobra.Command { return newCore(stderr) }},
		{"crash", func() *cobra.Command { return newCrash(stderr) }},
		{"version", newVersion},
	}
}

// forms are the forms of backtraces.
func forms() []form { return plainForms() }

// No servers are asked for binaries, and no GDB servers are looked at: there are no flags for them.

func (ff *fileFlags) addFetch(*pflag.FlagSet) {}

func (ff *fileFlags) fetchers(context.Context, func(string)) (fetcher, symbolFetcher, error) {
	return nil, nil, nil
}

func (p *processes) addRemote(*pflag.FlagSet) {}

func (p *processes) remote(context.Context, string, input.Env) (input.Stream, error) {
	return nil, errors.ErrUnsupported
}

// Who writes dumps of other processes needs advice.

func (o *btOptions) addAdvise(*pflag.FlagSet) {}

func (s *session) advise(*report.Report) {}
