// Package tracer runs programs under QEMU's user mode with a plugin that watches every
// instruction: the plugin, in C, keeps a shadow stack of each thread and captures
// places below main with their true call chains.
//
//	program ─ QEMU ─ every instruction ─► shadow stack ─► kind of place ─► captures
package tracer

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/backsight/backsight/lab/child"
)

//go:embed src
var sources embed.FS

// Compiler builds the plugin, for the machine that the emulator runs on.
const Compiler = "gcc"

// Build compiles the plugin into dir.
func Build(ctx context.Context, dir string) (plugin string, err error) {
	plugin = filepath.Join(dir, "tracer.so")
	return plugin, compile(ctx, dir, plugin, "-shared", "-fPIC", "-fvisibility=hidden")
}

// compile makes a file of all sources.
func compile(ctx context.Context, dir, out string, flags ...string) error {
	src, err := fs.Sub(sources, "src")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, src); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil {
		return err
	}
	args := append([]string{"-O2", "-Wall", "-Wextra", "-Werror", "-o", out}, flags...)
	return run(child.Command(ctx, Compiler, append(args, files...)...))
}

// run makes what a program prints part of its error.
func run(cmd *exec.Cmd) error {
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %.500s", cmd.Path, err, b)
	}
	return nil
}
