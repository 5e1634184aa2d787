//go:build !small

package main

import (
	"io"
	"slices"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/internal/input/listing"
	"github.com/backsight/backsight/symbol"
	"github.com/spf13/cobra"
)

func newAnnotate(stdout, stderr io.Writer) *cobra.Command {
	o := watchOptions{format: "text", annotate: true, toEnd: true, pause: defaultPause}
	namesOnly := false
	cmd := &cobra.Command{
		Use:   "annotate [flags] LOG|-",
		Short: "A log with names behind its addresses",
		Long: `Passes a log on, unchanged, and writes behind each address what a binary says that
the user named, or that --sysroot has under the name or build ID in the line: the
function, file and line, and what was inlined there. Below each crash report
stand the backtraces that bt makes of it. Lines are written as they come.`,
		Example: `  adb logcat | backsight annotate --sysroot symbols/ -
  ssh box dmesg -w | backsight annotate -e vmlinux -
  backsight annotate -e build/app asan.log`,
		Args: oneArgument("a log or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.backtraces = !namesOnly
			return o.run(cmd.Context(), args[0], stdout, stderr)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.files.add(f)
	o.memory.add(f)
	f.BoolVar(&namesOnly, "names-only", false, "no backtraces below reports")
	f.StringVar(&o.color, "color", "auto", "`WHEN`: auto, always or never; auto honours NO_COLOR")
	complete(cmd, nil, nil)
	return cmd
}

// annotator writes names behind the addresses of lines.
type annotator struct{ *namer }

func newAnnotator(files *input.Files) *annotator {
	return &annotator{newNamer(files, backsight.Names(false))}
}

// maxNames bounds the names for one line.
const maxNames = 64

// names are those for a line, and whether they stand behind the line: one does, several stand below.
func (a *annotator) names(line string) (list []string) {
	if f, ok := listing.Parse(line); ok {
		if l, at, ok := a.frame(&f); ok && tells(&f, &l) {
			return []string{display.LocationText(&l, at)}
		}
		if f.Module != "" {
			return nil
		}
	}
	if len(a.modules) == 0 {
		return nil
	}
	for p := range printedIn(line) {
		text := a.printed(&p)
		if text != "" && !slices.Contains(list, p.text+": "+text) {
			list = append(list, p.text+": "+text)
		}
		if len(list) == maxNames {
			break
		}
	}
	if len(list) == 1 {
		_, list[0], _ = strings.Cut(list[0], ": ")
	}
	return list
}

// printed is what there is to say of a place, "": nothing that the line does not say.
func (a *annotator) printed(p *printed) string {
	var l symbol.Location
	var at uint64
	known := false
	if p.function != "" {
		l, at, known = a.function(p.function, p.offset)
		known = known && (l.File != "" || len(l.Inlines) > 0)
	} else if v, err := hexNumber(p.text); err == nil {
		l, at, known = a.address(v)
	}
	if !known {
		return ""
	}
	return display.LocationText(&l, at)
}

// tells tells whether a place says more than the line does.
func tells(f *listing.Frame, l *symbol.Location) bool {
	return f.Function == "" || f.File == "" && l.File != "" || len(l.Inlines) > 0
}

// line is a line of the log, its end included, with names.
func (a *annotator) line(line string) string {
	text := strings.TrimRight(line, "\r\n")
	list := a.names(text)
	switch len(list) {
	case 0:
		return line
	case 1:
		return text + "  ← " + list[0] + line[len(text):]
	}
	return text + "\n    ← " + strings.Join(list, "\n    ← ") + "\n"
}
