//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/spf13/cobra"
)

// tableOptions are the flags of table.
type tableOptions struct {
	files   fileFlags
	output  string
	sources []string
	format  string
	section string // where --add-section puts the table
	rootfs  string
	check   bool
}

func newTable(stdout, stderr io.Writer) *cobra.Command {
	var o tableOptions
	cmd := &cobra.Command{
		Use:   "table [flags] IMAGE",
		Short: "Unwind tables compiled from a binary",
		Long: `Compiles the unwind rules of a binary into an interval table, prints its figures
and writes it to a file, for the build ID of the binary or, where it has none, a
digest of what is loaded. Rules come from .eh_frame, from .ARM.exidx and, where
there is neither, from the code. 'backsight bt --table-dir DIR' unwinds by the
tables in DIR.

With --check, the unwind tables that the binary has itself are compared with the
code at every instruction; where they are wrong, it says where, what the table
says, what the code says, and how sure that is. It exits 1 where they are, 2
without a table.

With --format, the rules are written for other programs:
` + formatList(),
		Example: `  backsight table libc.so.6
  backsight table -o tables/ libc.so.6
  backsight table --sources code firmware.elf
  backsight table --format json -o firmware.json firmware.elf
  backsight table --check libc.so.6
  backsight table --add-section -o with-table.elf firmware.elf
  backsight table -f device --rootfs rootfs/ -o rootfs/usr/lib/backsight.tables`,
		Args: func(c *cobra.Command, args []string) error {
			if o.rootfs != "" && len(args) == 0 {
				return nil
			}
			return oneArgument("a binary")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.rootfs != "" {
				return o.bundle(c.Context(), stdout, newProgress(stderr))
			}
			if o.check {
				return o.checked(c.Context(), stdout, newProgress(stderr), args[0])
			}
			if o.format != "" || o.section != "" {
				return o.export(c.Context(), stdout, newProgress(stderr), args[0])
			}
			return o.run(c.Context(), stdout, newProgress(stderr), args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.output, "output", "o", "", "write the table to `FILE`, or into a directory by the build ID or digest")
	f.Var(listValue{&o.sources}, "sources", "`LIST` of sources to compile, in this order: seh,cfi,compact,ehabi,code")
	f.StringVarP(&o.format, "format", "f", "", "write the rules in a `FORM` that other programs read; with -o, into that file")
	f.StringVar(&o.section, "add-section", "", "write a copy of the ELF file with its device table as a loaded section, "+
		"at `[=ADDR]`, else where the symbol backsight_table is, or behind the program")
	f.Lookup("add-section").NoOptDefVal = behindProgram
	f.StringVar(&o.rootfs, "rootfs", "", "write the device tables of all programs and libraries below `DIR` into one file")
	f.BoolVar(&o.check, "check", false, "compare the binary's own unwind tables with its code, and say where they are wrong")
	o.files.addDebug(f)
	o.files.raw.add(f)
	return cmd
}

func (o *tableOptions) run(ctx context.Context, stdout io.Writer, p *progress, path string) error {
	img, closed, err := o.image(ctx, func(string) {}, path)
	if err != nil {
		return err
	}
	defer closed()
	start := time.Now()
	stop := p.while("compiling " + displayName(path))
	t, err := backsight.CompileTable(img, o.sources...)
	stop()
	if img.Files.Err() != nil {
		return &failure{exitNone, err}
	}
	if err != nil {
		return fmt.Errorf("--sources: %w", err)
	}
	if t.Stats().Rows == 0 {
		return &failure{exitNone, errors.New(path + ": no rules to compile")}
	}
	if err := describe(stdout, img, t.Stats(), time.Since(start)); err != nil {
		return outputFailed(err)
	}
	return o.save(ctx, t)
}

// image opens the binary whose tables are wanted; closed closes it.
func (o *tableOptions) image(ctx context.Context, warn func(string), path string) (img *image.Image, closed func(), err error) {
	return o.files.image(ctx, warn, path)
}

// image opens a binary whose code is to be analysed; closed closes it.
func (ff *fileFlags) image(ctx context.Context, warn func(string), path string) (img *image.Image, closed func(), err error) {
	known, err := ff.open(ctx, warn)
	if err != nil {
		return nil, nil, err
	}
	if img, err = known.Open(path); err != nil {
		_ = known.Close()
		return nil, nil, &failure{exitNone, fileError(path, err)}
	}
	if err = analysed(path, img); err != nil {
		_ = known.Close()
		return nil, nil, err
	}
	return img, func() { _ = known.Close() }, nil
}

// analysed says of a binary whose code cannot be read that no rules are made of it.
func analysed(path string, img *image.Image) error {
	if img.Arch.Decoder != nil {
		return nil
	}
	return &failure{exitNone, fmt.Errorf("%s: a binary for %s, a processor whose code is not analysed", path, img.Arch)}
}

// terminator is the size of an .eh_frame without entries.
const terminator = 4

// describe prints a table's figures.
func describe(w io.Writer, img *image.Image, s backsight.TableStats, took time.Duration) error {
	_, err := fmt.Fprintf(w, "functions %d\nrows %d\nrules %d\nbytes %d\n", s.Functions, s.Rows, s.Rules, s.Bytes)
	if s.Functions > 0 && err == nil {
		_, err = fmt.Fprintf(w, "bytes/function %.1f\n", float64(s.Bytes)/float64(s.Functions))
	}
	if sec, ok := img.Sections.Named(".eh_frame"); ok && len(sec.Data) > terminator && err == nil {
		_, err = fmt.Fprintf(w, "percent of .eh_frame and .eh_frame_hdr %.1f\n",
			100*float64(s.Bytes)/float64(uint64(len(sec.Data))+img.Table(image.EHFrameHdr).Size))
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "ms %.1f\n", took.Seconds()*1000)
	}
	return err
}

// save writes a table where the user wants it.
func (o *tableOptions) save(ctx context.Context, t *backsight.Table) error {
	if o.output == "" {
		return nil
	}
	path := o.output
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = t.Path(path)
	}
	err := notWritten(path, t.Save(ctx, path))
	if err != nil && !errors.As(err, new(*failure)) {
		err = &failure{exitNone, err}
	}
	return err
}
