package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight/lab/debian"
	"github.com/backsight/backsight/lab/gdb"
	"github.com/backsight/backsight/lab/programs"
	"github.com/backsight/backsight/lab/score"
	"github.com/backsight/backsight/lab/truth"
)

// runAll goes the whole way on a machine that may have nothing but Go: installs the tools,
// builds and records the programs, and scores the recorded cases.
func runAll(args []string) error {
	fs := flag.NewFlagSet("all", flag.ExitOnError)
	root := fs.String("o", "truth-all", "the folder to write cases to")
	only := fs.String("only", "", "only cases whose path holds this")
	variants := fs.String("variants", "O0,O2,Os,Oz,O2lto,O2pac,O2cet,Ospush,Osthumb,Ossave,Ozoutline", "ways to compile; empty: all")
	get := fs.Bool("install", os.Getuid() == 0, "install Debian's packages first")
	every := fs.Int("gdb", 10, "score GDB beside, on each n-th snapshot; 0: not")
	ports := fs.Bool("debian", true, "record Debian's own programs, too: an hour more")
	l := limits(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	start := time.Now()
	if *get {
		install(programs.Packages())
	} else {
		fmt.Fprintln(os.Stderr, "nothing is installed; what is missing is skipped")
	}
	cases, skipped := programs.Matrix(*only)
	if *variants != "" {
		names := strings.Split(*variants, ",")
		cases = slices.DeleteFunc(cases, func(c programs.Case) bool { return !slices.Contains(names, c.Variant.Name) })
	}
	if len(cases) == 0 {
		return fmt.Errorf("-only %q and -variants %q leave no case%s", *only, *variants, strings.Join(append([]string{""}, skipped...), "; skipped: "))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := recordAll(ctx, cases, *root, *l)
	if err != nil {
		return err
	}
	var shipped error
	if *ports {
		d := &debian.Laboratory{Root: filepath.Join(*root, "debian"), Work: *root + "-packages", Programs: debian.Programs(), Limits: debianLimits}
		shipped = recordDebian(ctx, d, *only)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = scoreAll(ctx, *root, *only, *every)
	archs := map[string]bool{}
	for i := range cases {
		archs[cases[i].Toolchain.Arch] = true
	}
	fmt.Printf("\n%d cases over %d CPU variants in %s; %d could not be recorded\n", len(cases), len(archs), time.Since(start).Round(time.Second), failed)
	for _, s := range skipped {
		fmt.Println("skipped:", s)
	}
	if failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d cases could not be recorded", failed, len(cases)))
	}
	return errors.Join(err, shipped)
}

// scoreAll prints a row for each CPU and compiler.
func scoreAll(ctx context.Context, root, only string, every int) error {
	if !gdb.Available() {
		every = 0
	}
	ours, broken, err := score.Run(ctx, score.Options{Root: root, Only: only, Tiers: truth.Tiers[:], Progress: counted("binaries scored")})
	if err != nil {
		return err
	}
	score.Table(os.Stdout, ours, []string{"arch", "compiler"}, true)
	if every > 0 {
		fmt.Printf("\nBeside GDB, on each %d. snapshot:\n\n", every)
		both, _, err := score.Run(ctx, score.Options{Root: root, Only: only, Tiers: truth.Tiers[:], GDB: every, Progress: counted("binaries in GDB")})
		if err != nil {
			return err
		}
		score.Table(os.Stdout, both, []string{"arch"}, false)
	}
	return errors.Join(broken...)
}

// counted returns a function that says on stderr how many of all steps are done.
func counted(what string) func(done, all int) {
	return func(done, all int) {
		fmt.Fprintf(os.Stderr, "\r%d/%d %s ", done, all, what)
		if done == all {
			fmt.Fprintln(os.Stderr)
		}
	}
}

// install installs what it can and says what it cannot.
func install(packages []string) {
	if _, err := exec.LookPath("apt-get"); err != nil || runtime.GOOS != "linux" {
		fmt.Fprintln(os.Stderr, "nothing is installed: there is no apt-get; what is missing is skipped")
		return
	}
	fmt.Fprintln(os.Stderr, "installing", strings.Join(packages, " "))
	if err := apt("update"); err != nil {
		fmt.Fprintln(os.Stderr, "package lists:", err)
	}
	get := []string{"install", "-qy", "--no-install-recommends"}
	if apt(append(get, packages...)...) == nil {
		return
	}
	for _, p := range packages {
		if err := apt(append(slices.Clone(get), p)...); err != nil {
			fmt.Fprintf(os.Stderr, "no package %s: %v\n", p, err)
		}
	}
}

// apt runs apt-get; its last line is the error.
func apt(args ...string) error {
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	return nil
}
