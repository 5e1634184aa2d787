// Command formats prints the backtrace of a fault that a board wrote to its console.
// Neither the log's format nor the firmware's is one of Backsight's: both are packages
// of this module, and take part as if they were.
//
//	formats crash.log
package main

import (
	"context"
	"flag"
	"log"
	"os"

	"example.com/formats/crashlog"
	"example.com/formats/intelhex"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
)

func main() {
	flag.Parse()
	r, err := read(context.Background(), flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stdout.Write(render.AppendText(nil, r, render.Style{})); err != nil {
		log.Fatal(err)
	}
}

// read makes a report of a capture in any format, ours or Backsight's.
func read(ctx context.Context, path string) (*report.Report, error) {
	board, _ := backsight.CPUs().ByName("arm", "cortexm", false)
	files := backsight.NewFiles(input.FileOptions{
		Formats: append([]image.Format{intelhex.Format()}, backsight.ImageFormats()...),
		Raw:     board,
	})
	defer files.Close()
	capture, err := backsight.Open(ctx, path, input.Env{
		Files:   files,
		Formats: append([]input.Format{crashlog.Format(board)}, backsight.Formats()...),
	})
	if err != nil {
		return nil, err
	}
	defer capture.Close()
	snap, err := capture.Next(ctx)
	if err != nil {
		return nil, err
	}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return nil, err
	}
	traces, err := u.Backtraces(ctx, snap)
	if err != nil {
		return nil, err
	}
	return backsight.Report(ctx, snap, traces, backsight.Names(false)), nil
}
