//go:build !small

package backsight

import (
	"context"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/cpu/xtensa"
	"github.com/backsight/backsight/internal/image/breakpad"
	"github.com/backsight/backsight/internal/image/dyldcache"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/image/flat"
	"github.com/backsight/backsight/internal/image/kernel"
	"github.com/backsight/backsight/internal/image/macho"
	"github.com/backsight/backsight/internal/image/pdb"
	"github.com/backsight/backsight/internal/image/pe"
	"github.com/backsight/backsight/internal/input/appletext"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/input/devicelog"
	"github.com/backsight/backsight/internal/input/elfcore"
	"github.com/backsight/backsight/internal/input/espcore"
	"github.com/backsight/backsight/internal/input/faultlog"
	"github.com/backsight/backsight/internal/input/gdbremote"
	"github.com/backsight/backsight/internal/input/kernellog"
	"github.com/backsight/backsight/internal/input/listing"
	"github.com/backsight/backsight/internal/input/machcore"
	"github.com/backsight/backsight/internal/input/mcudump"
	"github.com/backsight/backsight/internal/input/minidump"
	"github.com/backsight/backsight/internal/input/nuttxdump"
	"github.com/backsight/backsight/internal/input/perfdata"
	"github.com/backsight/backsight/internal/input/plcrash"
	"github.com/backsight/backsight/internal/input/rtos"
	"github.com/backsight/backsight/internal/input/snapshot"
	"github.com/backsight/backsight/internal/input/vmcore"
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
	consoles := consoles()
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

// consoles are the readers of reports in text, in the order in which they are asked.
func consoles() []console.Reader {
	return []console.Reader{devicelog.Reader(), espcore.Reader(), minidump.Microdump(), mcudump.CatcherText(), nuttxdump.Reader(), listing.Reader(), kernellog.Reader(), faultlog.Reader()}
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

// OpenRemote opens what a GDB server has stopped: HOST:PORT, unix:PATH, the path of a serial device, or |COMMAND. Memory
// is read as a walk asks for it, so that the target stands until the Stream is closed; then it goes on, unless it stood already or keepHalted.
func OpenRemote(ctx context.Context, addr string, env input.Env, keepHalted bool) (input.Stream, error) {
	return gdbremote.Open(ctx, addr, complete(env), gdbremote.Options{KeepHalted: keepHalted})
}
