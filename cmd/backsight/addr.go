//go:build !small

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/spf13/cobra"
)

// addrOptions are the flags of addr.
type addrOptions struct {
	files fileFlags
	names nameFlags
}

func newAddr(stdout, stderr io.Writer) *cobra.Command {
	var o addrOptions
	cmd := &cobra.Command{
		Use:   "addr [flags] FILE[@ADDR] [ADDRESS...]",
		Short: "Function, file and line of addresses",
		Long: `Names addresses in a binary: the function, the file and line, and the functions
that were inlined there. Addresses are arguments, or lines of standard input:
hexadecimal, MODULE+OFFSET of a binary below --sysroot, or FUNCTION+OFFSET. ADDR is
the load bias of FILE, where addresses are those of a running program. A return
address lies behind its call: name the address before it.`,
		Example: `  backsight addr firmware.elf 0x80012345 main+0x34
  backsight addr app@0x5581b0c0e000 < addresses.txt
  backsight addr --sysroot rootfs/ app libc.so.6+0x2409a`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return errors.New("addr: wants a binary")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args, stdout, stderr)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.files.sysroots, "sysroot", nil, "`DIR` with the binaries of MODULE+OFFSET; repeatable")
	o.names.add(f)
	o.files.addDebug(f)
	o.files.raw.add(f)
	complete(cmd, nil, nil)
	return cmd
}

func (o *addrOptions) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o.files.images = args[:1]
	files, err := o.files.open(ctx, func(what string) { complain(stderr, what) })
	if err != nil {
		return err
	}
	defer files.Close()
	n := newNamer(files, backsight.Names(o.names.mangled || !o.names.readable))
	out := bufio.NewWriterSize(stdout, 64<<10)
	var lines []byte
	failed := false
	name := func(text string) {
		l, at, err := n.asked(text)
		if err != nil {
			failed = true
			complain(stderr, err.Error())
		}
		lines = display.AppendLocation(lines[:0], typeset.Text(text), &l, at)
		_, _ = out.Write(lines) // Flush tells the error
	}
	for _, text := range args[1:] {
		name(text)
	}
	if len(args) == 1 {
		in := bufio.NewReader(os.Stdin)
		for ctx.Err() == nil {
			line, err := in.ReadString('\n')
			if text := strings.TrimSpace(line); text != "" {
				name(text)
			}
			if in.Buffered() == 0 && out.Flush() != nil || err != nil {
				break
			}
		}
	}
	if err := out.Flush(); err != nil {
		return outputFailed(err)
	}
	if failed {
		return &failure{code: exitNone}
	}
	return nil
}
