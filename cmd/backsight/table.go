package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/unwind/cfi"
	"github.com/backsight/backsight/unwind/table"
	"github.com/spf13/cobra"
)

func newTable(stdout io.Writer) *cobra.Command {
	var files fileFlags
	var output string
	cmd := &cobra.Command{
		Use:   "table [flags] IMAGE",
		Short: "Unwind tables compiled from a binary",
		Long: `Compiles the unwind rules of a binary into an interval table, prints its figures
and writes it to a file, for the build ID of the binary. Rules come from .eh_frame.`,
		Example: `  backsight table libc.so.6
  backsight table -o libc.table libc.so.6`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := files.open()
			if err != nil {
				return err
			}
			defer known.Close()
			img, err := known.Open(args[0])
			if err != nil {
				return &failure{exitNone, fileError(args[0], err)}
			}
			start := time.Now()
			t := table.Build(img, cfi.New().Rows)
			if t.Stats().Rows == 0 {
				return &failure{exitNone, errors.New(args[0] + ": no unwind table to compile")}
			}
			if err := describe(stdout, img, t.Stats(), time.Since(start)); err != nil {
				return outputFailed(err)
			}
			return save(t, img, output)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "write the table to `FILE`")
	files.addDebug(f)
	files.raw.add(f)
	return cmd
}

// describe prints a table's figures.
func describe(w io.Writer, img *image.Image, s table.Stats, took time.Duration) error {
	_, err := fmt.Fprintf(w, "functions %d\nrows %d\nrules %d\nbytes %d\nbytes/function %.1f\n",
		s.Functions, s.Rows, s.Rules, s.Bytes, float64(s.Bytes)/float64(max(s.Functions, 1)))
	if sec, ok := img.Section(".eh_frame"); ok && err == nil {
		_, err = fmt.Fprintf(w, "percent of .eh_frame and .eh_frame_hdr %.1f\n",
			100*float64(s.Bytes)/float64(uint64(len(sec.Data))+img.EHFrameHdr.Size))
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "ms %.1f\n", took.Seconds()*1000)
	}
	return err
}

// save writes a table to a file, whole or not at all.
func save(t *table.Table, img *image.Image, path string) error {
	if path == "" {
		return nil
	}
	b, err := t.Append(nil, img)
	if err == nil {
		temporary := path + ".new"
		if err = os.WriteFile(temporary, b, 0o666); err == nil {
			err = os.Rename(temporary, path)
		}
	}
	if err != nil {
		return &failure{exitNone, err}
	}
	return nil
}
