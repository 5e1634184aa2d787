// Package backsight recovers backtraces from bare binaries: given a capture of a
// stopped program (a core file, a snapshot) and its binaries as they shipped, it
// finds every thread's call chain, with or without symbols, unwind tables and
// frame pointers, and says of each frame how it was found and how sure it is.
//
//	capture ─► input ─► target.Snapshot ─► unwind.Walker ─► []unwind.Frame ─► report ─► render
//
// A program says where binaries are (NewFiles), opens captures (Open, OpenReader), unwinds
// their snapshots (Unwinder.Backtraces) and names the frames (Report). What Backsight knows
// are five lists: CPUs, Formats, ImageFormats, DefaultSources, TableFormats. A program may give
// lists of its own instead, with formats and sources that live in other modules.
package backsight

import (
	"context"
	"io"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/cpu/arm"
	"github.com/backsight/backsight/cpu/arm64"
	"github.com/backsight/backsight/cpu/mips"
	"github.com/backsight/backsight/cpu/riscv"
	"github.com/backsight/backsight/cpu/x86"
	"github.com/backsight/backsight/cpu/xtensa"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/image/breakpad"
	"github.com/backsight/backsight/image/dyldcache"
	"github.com/backsight/backsight/image/elf"
	"github.com/backsight/backsight/image/flat"
	"github.com/backsight/backsight/image/kernel"
	"github.com/backsight/backsight/image/macho"
	"github.com/backsight/backsight/image/pdb"
	"github.com/backsight/backsight/image/pe"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/input/appletext"
	"github.com/backsight/backsight/input/console"
	"github.com/backsight/backsight/input/devicelog"
	"github.com/backsight/backsight/input/elfcore"
	"github.com/backsight/backsight/input/espcore"
	"github.com/backsight/backsight/input/faultlog"
	"github.com/backsight/backsight/input/gdbremote"
	"github.com/backsight/backsight/input/kernellog"
	"github.com/backsight/backsight/input/listing"
	"github.com/backsight/backsight/input/machcore"
	"github.com/backsight/backsight/input/mcudump"
	"github.com/backsight/backsight/input/minidump"
	"github.com/backsight/backsight/input/nuttxdump"
	"github.com/backsight/backsight/input/perfdata"
	"github.com/backsight/backsight/input/plcrash"
	"github.com/backsight/backsight/input/rtos"
	"github.com/backsight/backsight/input/snapshot"
	"github.com/backsight/backsight/input/vmcore"
	"github.com/backsight/backsight/internal/pclntab"
)

// CPUs are the processors that Backsight knows.
func CPUs() cpu.Set {
	var set cpu.Set
	for _, archs := range [][]*cpu.Arch{
		mips.Archs(),
		arm.Archs(),
		arm64.Archs(),
		riscv.Archs(),
		x86.Archs(),
		xtensa.Archs(),
	} {
		set = append(set, archs...)
	}
	return set
}

// Formats are the kinds of captures, in the order in which they are tried.
func Formats() []input.Format {
	consoles := []console.Reader{devicelog.Reader(), espcore.Reader(), minidump.Microdump(), mcudump.CatcherText(), nuttxdump.Reader(), listing.Reader(), kernellog.Reader(), faultlog.Reader()}
	return []input.Format{
		espcore.Format(),
		vmcore.Format(),
		elfcore.Format(),
		machcore.Format(),
		minidump.Format(),
		perfdata.Format(),
		plcrash.Format(),
		mcudump.ProbeRS(),
		mcudump.CrashCatcher(),
		listing.Tombstone(),
		appletext.Format(),
		faultlog.Stored(),
		console.Records(consoles...),
		snapshot.Format(),
		console.Format(consoles...),
		rtos.Format(),
	}
}

// ImageFormats are the kinds of executable files, in the order in which they are tried.
// The last takes files without headers, whose processor the user stated.
func ImageFormats() []image.Format {
	return []image.Format{
		kernel.Format(),
		pclntab.Named(elf.Format()),
		pclntab.Named(macho.Format()),
		dyldcache.Format(),
		pclntab.Named(pdb.Named(pe.Format())),
		pdb.Format(),
		breakpad.Format(),
		flat.Format(),
	}
}

// NewFiles returns the executables that opt describes, of all processors and of all
// kinds that Backsight knows where opt names none.
func NewFiles(opt input.FileOptions) *input.Files {
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
	return input.Open(ctx, path, complete(env))
}

// Sets groups files by the captures that they are: a dump that was split into several files is one
// capture, which OpenSet opens.
func Sets(paths []string, env input.Env) [][]string { return input.Sets(paths, complete(env)) }

// OpenSet is Open for the files of one capture, as Sets groups them.
func OpenSet(ctx context.Context, paths []string, env input.Env) (input.Stream, error) {
	return input.OpenSet(ctx, paths, complete(env))
}

// OpenReader is Open for bytes that can be read once only, such as an upload; name is
// for messages. r is not closed.
func OpenReader(ctx context.Context, name string, r io.Reader, env input.Env) (input.Stream, error) {
	return input.OpenReader(ctx, name, r, complete(env))
}

// OpenMemory opens the memory of env.RAM as the capture: whose it is, is recognised by
// content.
func OpenMemory(ctx context.Context, env input.Env) (input.Stream, error) {
	return input.OpenMemory(ctx, complete(env))
}

// OpenRemote opens what a GDB server has stopped: HOST:PORT, unix:PATH, the path of a serial device, or |COMMAND. Memory
// is read as a walk asks for it, so that the target stands until the Stream is closed.
func OpenRemote(ctx context.Context, addr string, env input.Env, opt gdbremote.Options) (input.Stream, error) {
	return gdbremote.Open(ctx, addr, complete(env), opt)
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
