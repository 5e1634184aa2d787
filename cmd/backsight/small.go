//go:build small

package main

import (
	"context"
	"errors"
	"io"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/gcore"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/spf13/pflag"
)

// commands are those for processes of this machine, which run or crash.
func commands(stdout, stderr io.Writer) []command {
	return []command{
		{"bt", func() *subcommand { return newBT(stdout, stderr) }},
		{"core", func() *subcommand { return newCore(stderr) }},
		{"crash", func() *subcommand { return newCrash(stderr) }},
		{"version", newVersion},
	}
}

const btLong = `Backtraces of every thread of running processes (-p), or in core files of Linux.
The processor is this machine's. "-" is standard input.`

const btExample = `  backsight bt -p 1234
  backsight bt -p netd
  backsight bt --symbols /tmp/names core.1234`

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

// Reports are sent by a script (service/contrib/send-crashes.sh), which a device has room for.

type upload struct{}

func newUpload(string) (*upload, error) {
	return nil, errors.New("crash: the command for small devices has no --upload: service/contrib/send-crashes.sh sends reports")
}

func (*upload) send(context.Context, []byte) error { return nil }

// No machine's memory is read.

func (c *choiceFlags) addUser(*pflag.FlagSet) {}

func (c *choiceFlags) processes(_ context.Context, s input.Stream, _ input.Env) (input.Stream, error) {
	return s, nil
}

func (*memoryFlags) add(*pflag.FlagSet) {}

func (*memoryFlags) check(cpu.Set) error { return nil }

// machineFlags are none.
type machineFlags struct{}

func (*machineFlags) add(*subcommand) {}

func (*machineFlags) given() bool { return false }

func (*machineFlags) arguments(cmd *subcommand, args []string) error {
	return noArguments(cmd, args)
}

func (*machineFlags) core(context.Context, string, io.Writer) (*gcore.Core, error) {
	return nil, errors.ErrUnsupported
}

func processTitle(*target.Snapshot) string { return "" }

func (s *session) listProcesses(context.Context, *capture) error { return nil }

// Who writes dumps of other processes needs advice.

func (o *btOptions) addAdvise(*pflag.FlagSet) {}

func (s *session) advise(*report.Report, string) {}

// Frames are shown without variables, source and instructions: what they would be read from is elsewhere.

type excerptFlags struct{}

func (*excerptFlags) add(*pflag.FlagSet) {}

func (*excerptFlags) fill(*report.Report, []string) {}

func (*excerptFlags) variables() bool { return false }

func (*excerptFlags) inLine() bool { return false }

// Systems with a journal have the whole command.

func journaled(context.Context) []storedCore { return nil }

func (*coreStore) extracted(context.Context, *storedCore) (string, error) {
	return "", errors.ErrUnsupported
}

func (c *storedCore) of() string { return c.comm }
