//go:build !small

package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/gcore"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/procfs"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/target"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addUser adds the flags of processes in a machine's memory.
func (c *choiceFlags) addUser(f *pflag.FlagSet) {
	f.StringVar(&c.user, "user", "", "of a machine's memory the programs, from the kernel down to main: of the process `PID|NAME`, * for all; without one, of the task that crashed")
	f.Lookup("user").NoOptDefVal = backsight.CrashedProcess
	f.BoolVar(&c.list, "list", false, "list the processes in a machine's memory")
}

// processes is a stream of the processes that were asked for, where any were.
func (c *choiceFlags) processes(ctx context.Context, s input.Stream, env input.Env) (input.Stream, error) {
	which := c.user
	if which == "" && c.list {
		which = "*"
	}
	if which == "" {
		return s, nil
	}
	users, err := backsight.Processes(ctx, s, which, env)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return users, nil
}

// machineFlags say out of which machine's memory a core is made.
type machineFlags struct {
	from   string
	memory memoryFlags
}

func (m *machineFlags) add(cmd *cobra.Command) {
	cmd.Use = "core {-p PID | --from VMCORE PID|NAME} -o FILE"
	cmd.Long += `
With --from, a core of a process in the memory of a machine that ran Linux, with all of its
memory that is there.`
	cmd.Example += `
  backsight core --from vmcore 147 -o core.147
  backsight core --ram physical.raw@0 netd -o core.netd`
	cmd.Flags().StringVar(&m.from, "from", "", "the memory of a machine, `VMCORE`, that the process ran on")
	m.memory.add(cmd.Flags())
}

// given tells whether a machine's memory is.
func (m *machineFlags) given() bool { return m.from != "" || len(m.memory.ram) > 0 }

// arguments are the process out of a machine's memory, else none.
func (m *machineFlags) arguments(cmd *cobra.Command, args []string) error {
	if m.given() {
		return oneArgument("a process of the machine, PID or NAME")(cmd, args)
	}
	return noArguments(cmd, args)
}

// core makes a core of the first process that which names.
func (m *machineFlags) core(ctx context.Context, which string, stderr io.Writer) (*gcore.Core, error) {
	files := backsight.NewFiles(input.FileOptions{Context: ctx})
	defer files.Close()
	if err := m.memory.check(files.Archs()); err != nil {
		return nil, err
	}
	env := m.memory.env(files)
	machine, err := backsight.OpenMemory(ctx, env)
	if m.from != "" {
		machine, err = backsight.Open(ctx, m.from, env)
	}
	if err != nil {
		return nil, err
	}
	defer machine.Close()
	list, err := backsight.ProcessList(ctx, machine, which)
	if len(list) == 0 {
		return nil, err
	}
	if len(list) > 1 {
		complain(stderr, fmt.Sprintf("%d processes are called so; this is %d", len(list), list[0].PID))
	}
	p := list[0]
	maps, err := procfs.ReadMaps(p.File, p.PID)
	if err != nil {
		return nil, err
	}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return nil, err
	}
	core := &gcore.Core{}
	fault := mapped.Guard(func() {
		u.Enter(p)
		core = gcore.Made(&gcore.Stopped{Arch: p.Arch, Threads: p.Threads, Maps: maps, Auxv: p.Auxv, Memory: p.Memory}, gcore.Options{})
	})
	return core, fault
}

// processTitle is the heading of a process out of a machine's memory.
func processTitle(snap *target.Snapshot) string {
	return fmt.Sprintf("Process %d %s", snap.PID, typeset.Text(snap.Command))
}

// listProcesses writes a machine's processes as a table: number, threads, the state of the first one, mapped memory, the binary's build ID and path.
func (s *session) listProcesses(ctx context.Context, c *capture) error {
	out := fmt.Appendf(nil, "%7s %7s  %-15s %9s  %-40s  %s\n", "PID", "threads", "state", "MB", "build ID", "binary")
	for {
		snap, err := c.stream.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		c.made = true
		out = appendProcess(out, snap)
	}
	return cmp.Or(s.out.add(text(out)), s.out.flush())
}

func appendProcess(dst []byte, snap *target.Snapshot) []byte {
	size, state, id := uint64(0), "", ""
	for _, s := range snap.Memory.Segments() {
		size += s.Size()
	}
	if len(snap.Threads) > 0 && snap.Threads[0].Task != nil {
		state = snap.Threads[0].Task.State
	}
	for _, m := range snap.Modules {
		if m.Name == snap.Command {
			id = hex.EncodeToString(m.BuildID)
		}
	}
	const mega = 1e6
	return fmt.Appendf(dst, "%7d %7d  %-15s %9.1f  %-40s  %s\n", snap.PID, len(snap.Threads), cmp.Or(state, "-"), float64(size)/mega,
		cmp.Or(id, "-"), typeset.Text(snap.Command))
}
