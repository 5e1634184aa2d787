// Package backsight recovers backtraces from bare binaries: given a capture of a
// stopped program (a core file, a snapshot) and its binaries as they shipped, it
// finds every thread's call chain, with or without symbols, unwind tables and
// frame pointers, and says of each frame how it was found and how sure it is.
//
//	capture ─► input ─► target.Snapshot ─► Unwinder ─► []unwind.Frame ─► report ─► render
//
// Backtraces goes all that way in one call, a Session for many captures. A program that wants
// one step at a time says where binaries are (NewFiles), opens captures (Open, OpenReader), unwinds
// their snapshots (Unwinder.Backtraces) and names the frames (Report). What Backsight knows
// are five lists: CPUs, Formats, ImageFormats, DefaultSources, TableFormats. A program may give
// lists of its own instead, with formats that live in other modules.
package backsight

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/backsight/backsight/input"
)

// HostDebugDir has the debug files of this machine's binaries.
const HostDebugDir = "/usr/lib/debug"

// NewFiles returns the executables that opt describes, of all processors and of all
// kinds that Backsight knows where opt names none. Where opt has nil for directories of debug files,
// they are HostDebugDir; of another machine's binaries, those of a sysroot, this machine has none. Where it names
// no cache, and none is unwanted, that is a folder of the user's (os.UserCacheDir).
func NewFiles(opt input.FileOptions) *input.Files {
	if opt.DebugDirs == nil && opt.Sysroots == nil {
		opt.DebugDirs = []string{HostDebugDir}
	}
	if dir, err := os.UserCacheDir(); err == nil && opt.CacheDir == "" {
		opt.CacheDir = filepath.Join(dir, "backsight")
	}
	if opt.Archs == nil {
		opt.Archs = CPUs()
	}
	if opt.Formats == nil {
		opt.Formats = ImageFormats()
	}
	return input.NewFiles(opt)
}

// Open opens a capture, whose format is recognised by content. "-" is standard
// input. env.Files finds the binaries that the capture refers to and must be set; where env
// names no processors or no formats, they are CPUs and Formats.
func Open(ctx context.Context, path string, env input.Env) (input.Stream, error) {
	return complete(env).Open(ctx, path)
}

// OpenReader is Open for bytes that can be read once only, such as an upload; name is
// for messages. r is not closed.
func OpenReader(ctx context.Context, name string, r io.Reader, env input.Env) (input.Stream, error) {
	return complete(env).OpenReader(ctx, name, r)
}

// OpenMemory opens the memory of env.RAM as the capture: whose it is, is recognised by
// content.
func OpenMemory(ctx context.Context, env input.Env) (input.Stream, error) {
	return complete(env).OpenMemory(ctx)
}

// complete fills in what a caller left to Backsight.
func complete(env input.Env) *input.Env {
	if env.Archs == nil {
		env.Archs = CPUs()
	}
	if env.Formats == nil {
		env.Formats = Formats()
	}
	return &env
}

// Version is that of the program's module, "devel" where it was built of no release.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
