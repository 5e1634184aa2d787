// Command backsightd collects the crashes of a fleet on one machine: it takes captures in whatever form they come, backtraces them,
// groups them, and shows them in a browser.
//
//	backsightd --data DIR
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/service/child"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == child.Command {
		if err := child.Main(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "backsightd:", err)
		os.Exit(1)
	}
}

const usage = `backsightd collects, backtraces and groups the crashes of a fleet.

  backsightd --data DIR [flags]           serve
  backsightd demo --data DIR [flags]      fill an empty DIR with crashes, and serve
  backsightd backup --data DIR FILE       copy the database while it is served
  backsightd migrate --data DIR --database URL --store URL
                                          move what DIR has to PostgreSQL and S3
  backsightd version

Each flag may stand in the environment (BACKSIGHTD_LISTEN) and in a file (--config FILE: a
line each, "listen :8080").
`

// run does what the arguments say.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	command := "serve"
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		command, args = args[0], args[1:]
	}
	if command == "version" {
		_, err := fmt.Fprintln(stdout, "backsightd", backsight.Version())
		return err
	}
	c, rest, err := parse(command, args, stderr)
	if err != nil {
		return err
	}
	switch {
	case command == "backup" && len(rest) == 1:
		return backup(ctx, c, rest[0])
	case command == "migrate" && len(rest) == 0:
		return migrate(ctx, c, stderr)
	case len(rest) > 0:
		return fmt.Errorf("%q: what is that for? backsightd --help tells", rest[0])
	case command == "demo":
		return serve(ctx, c, stdout, stderr, demo)
	case command == "serve":
		return serve(ctx, c, stdout, stderr, nil)
	}
	return fmt.Errorf("%q is none of demo, backup, migrate, version", command)
}
