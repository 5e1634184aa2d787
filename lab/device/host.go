// Package device runs the reader of device tables over recorded captures: the C code, compiled
// for this machine, with the layout of registers of another one.
package device

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/tables/device"
	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/target"
)

// Compiler is the C compiler that is used, if there is one.
const Compiler = "cc"

// Available tells whether there is a C compiler.
func Available() bool {
	_, err := exec.LookPath(Compiler)
	return err == nil
}

// Build compiles the reader in the folder src (device, in the repository) for captures of a
// processor.
func Build(ctx context.Context, src, out string, arch *cpu.Arch, flags ...string) error {
	define := func(name string, v int) string { return fmt.Sprintf("-DBS_%s=%d", name, v) }
	big := 0
	if arch.BigEndian {
		big = 1
	}
	args := append([]string{"-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-DBS_NO_BACKTRACE",
		define("MACHINE", int(arch.ELF.Machine)), define("WORD", arch.RegSize), define("ADDRESS", arch.AddrSize), define("BIG", big)}, flags...)
	port := "linux/signal.c"
	if arch.ModeOnly {
		args, port = append(args, "-DBS_CORTEXM"), "cortexm/exception.c"
	}
	args = append(args, "-o", out, filepath.Join(src, "backsight.c"), filepath.Join(src, "test", "host.c"), filepath.Join(src, "ports", port))
	if b, err := child.Command(ctx, Compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, b)
	}
	return nil
}

// Reader is a running reader.
type Reader struct {
	arch *cpu.Arch
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// Start runs a compiled reader with the table, in a file, of a program that was not moved.
func Start(ctx context.Context, program, table string, img *image.Image) (*Reader, error) {
	r := &Reader{arch: img.Arch, cmd: child.Command(ctx, program)}
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReaderSize(out, 1<<16)
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	fmt.Fprintf(r.in, "T %s 0\n", table)
	for i := range img.Segments {
		if s := &img.Segments[i]; s.Exec {
			fmt.Fprintf(r.in, "I %x %x\n", s.Addr, s.Data)
		}
	}
	return r, nil
}

// Walk is the backtrace of a thread: target addresses, and the number of the reason for which
// it ends.
func (r *Reader) Walk(snap *target.Snapshot, t *target.Thread) (pcs []uint64, stop int, err error) {
	for _, s := range snap.Memory.Segments() {
		if len(s.Data) > 0 && s.Perm&target.PermExec == 0 || s.Rest == 0 && len(s.Data) < 1<<16 {
			fmt.Fprintf(r.in, "M %x %x\n", s.Addr, s.Data)
		}
	}
	pc, _, _ := r.arch.PCOf(&t.Regs)
	known, values := device.Registers(r.arch, &t.Regs)
	psp, _ := r.arch.RegByName("psp")
	stack, _ := t.Regs.Lookup(psp)
	line := fmt.Sprintf("R %x 1 %x", pc, known)
	for _, v := range values {
		line += fmt.Sprintf(" %x", v)
	}
	if _, err := fmt.Fprintf(r.in, "%s %x\n", line, stack); err != nil {
		return nil, 0, err
	}
	answer, err := r.out.ReadString('\n')
	if err != nil {
		return nil, 0, errors.Join(err, r.Close())
	}
	fields := strings.Fields(answer)
	stop, _ = strconv.Atoi(fields[0])
	for _, f := range fields[1:] {
		v, _ := strconv.ParseUint(f, 16, 64)
		pcs = append(pcs, v)
	}
	return pcs, stop, nil
}

// Close ends the reader.
func (r *Reader) Close() error { return errors.Join(r.in.Close(), r.cmd.Wait()) }
