package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/backsight/backsight/lab/logs"
)

// runLogs damages logs of kernels and prints what became of them.
func runLogs(args []string) error {
	fs := flag.NewFlagSet("logs", flag.ExitOnError)
	opt := logs.Options{}
	sysroot := fs.String("sysroot", "", "the folder with the kernel and its modules; none: the logs alone")
	fs.IntVar(&opt.N, "each", 20, "how often each damage is done to each log")
	fs.Uint64Var(&opt.Seed, "seed", 1, "of the choice of damage")
	keep := fs.String("keep", "", "a folder for the damaged logs that have wrong frames")
	show := fs.Int("n", 10, "findings to show")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *sysroot != "" {
		opt.Sysroots = []string{*sysroot}
	}
	found := 0
	opt.Left = func(_ string, why error) { fmt.Fprintln(os.Stderr, "left out:", why) }
	opt.Logs, opt.Bad = fs.Args(), func(f logs.Finding) {
		found++
		if found <= *show {
			fmt.Printf("%d: %s, %s, %q: %+v\n", found, filepath.Base(f.Log), f.Damage, f.Thread, f.Faults)
		}
		if *keep != "" {
			_ = os.WriteFile(filepath.Join(*keep, fmt.Sprintf("%d.log", found)), f.Text, 0o666)
		}
	}
	counts, err := logs.Run(context.Background(), opt)
	fmt.Println("| damage | logs | with wrong frames above guess | … certain |\n|---|---|---|---|")
	var all logs.Count
	for _, d := range logs.Damages() {
		if c := counts[d.Name]; c != nil {
			fmt.Printf("| %s | %d | %d | %d |\n", d.Name, c.Logs, c.Wrong, c.Certain)
			all = logs.Count{Logs: all.Logs + c.Logs, Wrong: all.Wrong + c.Wrong, Certain: all.Certain + c.Certain}
		}
	}
	fmt.Printf("| all | %d | %d | %d |\n", all.Logs, all.Wrong, all.Certain)
	return err
}
