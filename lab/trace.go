package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/lab/traced"
	"github.com/backsight/backsight/lab/tracer"
)

// runTrace records one program with the libraries that lie below its folder.
func runTrace(args []string) error {
	fs := flag.NewFlagSet("trace", flag.ExitOnError)
	out := fs.String("o", "", "the case's folder; the libraries go to lib beside it")
	emulator := fs.String("emulator", "qemu-x86_64", "QEMU's user mode, with its arguments")
	root := fs.String("L", "/", "where the dynamic linker is found")
	symbols := fs.String("symbols", "", "the program before it was stripped, whose symbols tell where main is")
	keep := fs.Int("keep", 400, "captures to keep at most")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 1 || *out == "" {
		return errors.New("usage: lab trace -o DIR [-emulator COMMAND] [-L ROOT] [-symbols FILE] PROGRAM")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	main, err := tracer.MainOf(cmp.Or(*symbols, fs.Arg(0)))
	if err != nil {
		return err
	}
	t, err := traceProgram(ctx, &tracer.Job{Main: main, Emulator: strings.Fields(*emulator), Root: *root, Program: fs.Arg(0), Limit: 1 << 30, Keep: *keep})
	if err != nil {
		return err
	}
	return writeTrace(t, fs.Arg(0), *out)
}

// traceProgram runs a job in the program's folder, with a plugin made for the job.
func traceProgram(ctx context.Context, job *tracer.Job) (*tracer.Trace, error) {
	dir, err := os.MkdirTemp("", "plugin")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if job.Plugin, err = tracer.Build(ctx, dir); err != nil {
		return nil, err
	}
	job.Dir = filepath.Dir(job.Program)
	return tracer.Run(ctx, job)
}

// writeTrace makes the case of a trace. Of the images that ran, those below the program's folder are its own.
func writeTrace(t *tracer.Trace, program, dir string) error {
	img, err := elf.Open(program, image.Options{Archs: backsight.CPUs()})
	if err != nil {
		return err
	}
	defer img.Close()
	place := traced.Place{Dir: dir, Lib: filepath.Join(filepath.Dir(dir), "lib"), Program: program, Root: filepath.Dir(program)}
	c := traced.New(place, filepath.Base(program), img.Arch)
	defer c.Close()
	if err := c.Add(t); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d captures in %d steps, %d odd\n", dir, c.Captures(), t.Steps, t.Odd)
	return c.Write()
}
