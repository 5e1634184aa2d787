//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/outfile"
	"github.com/backsight/backsight/internal/tables/device"
)

// bundle writes the device tables of all programs and libraries below the folder of --rootfs into one file. What is no such file, or
// has no table, is left out; that is said where it is a surprise.
func (o *tableOptions) bundle(ctx context.Context, stdout io.Writer, p *progress) error {
	if o.format != device.Format().Name || o.output == "" {
		return errors.New("--rootfs makes one file of tables: give --format device and a file with -o")
	}
	if err := directory("--rootfs", o.rootfs); err != nil {
		return err
	}
	root := o.rootfs + string(filepath.Separator) // a link leads there, too
	var b device.Bundle
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return &failure{exitNone, ctx.Err()}
		case err != nil:
			p.warn(err.Error())
			return nil
		case !d.Type().IsRegular() || !linked(path):
			return nil
		}
		return o.bundled(ctx, &b, p, path)
	})
	if err != nil {
		return err
	}
	if b.Len() == 0 {
		return &failure{exitNone, errors.New(o.rootfs + ": no program has a table")}
	}
	err = outfile.Write(ctx, o.output, 0o666, func(f *os.File) error {
		_, err := b.WriteTo(f)
		return err
	})
	if err != nil {
		return notWritten(o.output, err)
	}
	if _, err = fmt.Fprintf(stdout, "tables %d\n", b.Len()); err != nil {
		return outputFailed(err)
	}
	return nil
}

// bundled adds the table of a program.
func (o *tableOptions) bundled(ctx context.Context, b *device.Bundle, p *progress, path string) error {
	img, closed, err := o.image(ctx, p.warn, path)
	if err != nil {
		p.warn(err.Error())
		return nil
	}
	defer closed()
	rules, err := backsight.ListRules(ctx, img, o.sources...)
	if ctx.Err() != nil {
		return &failure{exitNone, ctx.Err()}
	}
	if err == nil && len(rules.Rules) == 0 {
		return nil
	}
	var table []byte
	if err == nil {
		table, _, err = device.Encode(rules)
	}
	if err == nil {
		err = b.Add(img, table)
	}
	if err != nil {
		p.warn(path + ": " + err.Error())
	}
	return nil
}

// linked tells whether a file is a linked ELF file: a program or a library.
func linked(path string) bool {
	const executable, shared = 2, 3
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 18)
	if _, err := io.ReadFull(f, head); err != nil || !input.IsELF(head) {
		return false
	}
	kind := head[16] | head[17] // in either byte order
	return kind == executable || kind == shared
}
