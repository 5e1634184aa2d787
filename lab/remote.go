package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/input/gdbremote"
	"github.com/backsight/backsight/lab/programs"
	"github.com/backsight/backsight/lab/record"
	"github.com/backsight/backsight/lab/remote"
)

// runRemote prints how backtraces at GDB servers compare with those of snapshots, by processor.
func runRemote(args []string) error {
	fs := flag.NewFlagSet("remote", flag.ExitOnError)
	root := fs.String("truth", "../shared/truth/public", "recorded truth: CPU/CASE/sym.elf, of which the cases of each CPU are run until there are enough stops")
	only := fs.String("only", "", "only CPUs whose name holds this")
	name := fs.String("case", "gcc", "the case's name holds this")
	l := limits(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fmt.Println("| CPU | stops | equal | surer | longer | other | trips to open | trips a frame | bytes a frame |\n|---|---|---|---|---|---|---|---|---|")
	for _, dir := range match(filepath.Join(*root, "*")) {
		cpu := filepath.Base(dir)
		cases := match(filepath.Join(dir, "*"+*name+"*", "sym.elf"))
		if !strings.Contains(cpu, *only) || len(cases) == 0 {
			continue
		}
		var t remote.Tally
		for _, path := range cases {
			l := *l
			if l.Keep -= t.Stops; l.Keep <= 0 {
				break
			}
			if err := remoteCase(ctx, &t, cpu, path, l); err != nil {
				fmt.Fprintf(os.Stderr, "lab: %s: %v\n", path, err)
			}
		}
		printTally(cpu, &t)
	}
	return ctx.Err()
}

func match(pattern string) []string {
	list, _ := filepath.Glob(pattern) // a pattern of ours
	return list
}

// arguments choose what the recorded programs do (../shared/truth/src/main.c).
const arguments = "recurse chain tail frames huge alloca varargs table shrink multiret switch pic setjmp fp sigusr qsort hotcold interp struct nested cpp parse printf"

// remoteCase runs one program under the emulator of its processor.
func remoteCase(ctx context.Context, t *remote.Tally, cpu, path string, l programs.Limits) error {
	all := programs.Toolchains()
	i := slices.IndexFunc(all, func(t programs.Toolchain) bool { return t.Arch == cpu })
	if i < 0 {
		return fmt.Errorf("no emulator is known")
	}
	dir, err := os.MkdirTemp("", "remote")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	exe := filepath.Join(dir, "program") // emulators want a file that may be executed
	if err := os.WriteFile(exe, program, 0o700); err != nil {
		return err
	}
	return t.Run(ctx, record.Job{ELF: exe, Prog: cpu, Args: strings.Fields(arguments), Emulator: all[i].Emulator, System: all[i].System, Steps: l.Steps, Keep: l.Keep})
}

func printTally(cpu string, t *remote.Tally) {
	per := func(n, of int) float64 { return float64(n) / float64(max(of, 1)) }
	walk := func(w gdbremote.Traffic) string {
		return fmt.Sprintf("%.2f | %.0f", per(w.Trips, t.Frames), per(w.Bytes, t.Frames))
	}
	fmt.Printf("| %s | %d | %d | %d | %d | %d | %.0f | %s |\n", cpu, t.Stops, t.Equal, t.Surer, t.Longer, t.Stops-t.Equal-t.Surer-t.Longer,
		per(t.Opening.Trips, t.Stops), walk(t.Walking))
	if t.First != "" {
		fmt.Println("\n" + cpu + ": " + t.First)
	}
}
