//go:build !small

package main

import (
	"io"

	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/spf13/cobra"
)

// commands are those of the command line, in the order of its help.
func commands(stdout, stderr io.Writer) []command {
	return []command{
		{"bt", func() *cobra.Command { return newBT(stdout, stderr) }},
		{"explain", func() *cobra.Command { return newExplain(stdout, stderr) }},
		{"table", func() *cobra.Command { return newTable(stdout, stderr) }},
		{"usage", func() *cobra.Command { return newStackUsage(stdout, stderr) }},
		{"export", func() *cobra.Command { return newExport(stderr) }},
		{"watch", func() *cobra.Command { return newWatch(stdout, stderr) }},
		{"record", func() *cobra.Command { return newRecord(stdout, stderr) }},
		{"core", func() *cobra.Command { return newCore(stderr) }},
		{"crash", func() *cobra.Command { return newCrash(stderr) }},
		{"annotate", func() *cobra.Command { return newAnnotate(stdout, stderr) }},
		{"addr", func() *cobra.Command { return newAddr(stdout, stderr) }},
		{"redact", func() *cobra.Command { return newRedact(stdout, stderr) }},
		{"diff", func() *cobra.Command { return newDiff(stdout, stderr) }},
		{"group", func() *cobra.Command { return newGroup(stdout, stderr) }},
		{"schema", newSchema},
		{"version", newVersion},
		{"man", func() *cobra.Command {
			return newMan(func() *cobra.Command { return newRoot(&lastError{w: stdout}, stderr, nil) })
		}},
	}
}

const btLong = `Backtraces of every thread in a capture: a core file of Linux or macOS, JSON
snapshots, one or many, the samples of perf record, the memory of a machine that
ran Linux (a vmcore, or --ram FILE@0) or of a microcontroller, crash reports of
macOS and iOS, a console's log with reports of a kernel or of firmware; plain or
compressed. The format is recognised by content; "-" is standard input.
Running processes (-p) and what stands at GDB servers (--remote) are captures.`

const btExample = `  backsight bt core.1234
  backsight bt --sysroot rootfs/ -e build/netd core.1234
  backsight bt --image firmware.elf snapshots.jsonl.gz
  backsight bt --image fw.bin@0x80000000 --arch mips --endian big crash.json
  backsight bt -1 --explain core.1234
  backsight bt --sysroot rootfs/ serial.log
  backsight bt vmcore
  backsight bt -p 1234
  backsight bt -p 1234 --every 100ms --count 50 -f flame > hangs.html
  backsight bt --remote localhost:3333 -e firmware.elf
  backsight bt -e fw.elf --remote '|openocd -f board.cfg -c "gdb_port pipe"'
  backsight bt --coredumpctl netd
  backsight bt --dmesg --ram physical.raw@0
  backsight bt -f folded perf.data | flamegraph.pl > out.svg
  backsight bt build/netd core.1234
  backsight bt -e firmware.elf --ram ram.bin@0x20000000 serial.log
  zcat core.gz | backsight bt -f json - | jq '.threads[0].frames[].function'`

// forms are the forms of backtraces.
func forms() []form {
	return append(plainForms(),
		form{name: "html", says: "one page", Form: render.PageForm()},
		form{name: "apple", says: "a crash report of macOS", Form: render.Form{Append: unstyled(display.AppendApple), Between: "\n"}},
		form{name: "problems", says: "a compiler's messages", Form: render.Form{Append: unstyled(display.AppendProblems)}},
		form{name: "signature", says: "a line each, by which crashes are compared", Form: render.Form{Append: appendSignature}},
		form{name: "perf", says: "perf script's text", Form: render.Form{Append: unstyled(display.AppendPerf)}},
		form{name: "folded", says: "for flamegraph.pl", counts: func(s *display.Stacks, w io.Writer, _ string) error { return s.WriteFolded(w) }},
		form{name: "flame", says: "a page with a flame graph", counts: func(s *display.Stacks, w io.Writer, title string) error {
			_, err := w.Write(s.AppendFlame(nil, title))
			return err
		}},
		form{name: "pprof", says: "these three count the stacks of all captures", binary: true,
			counts: func(s *display.Stacks, w io.Writer, _ string) error { return s.WritePprof(w) }},
	)
}

// unstyled is a form that has no styles.
func unstyled(one func([]byte, *report.Report) []byte) func([]byte, *report.Report, render.Style) []byte {
	return func(dst []byte, r *report.Report, _ render.Style) []byte { return one(dst, r) }
}

func appendSignature(dst []byte, r *report.Report, style render.Style) []byte {
	return render.AppendSignature(dst, r, style.Capture)
}
