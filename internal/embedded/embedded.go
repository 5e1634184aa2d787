// Package embedded is what programs in other languages get of Backsight: a session by options in JSON, and reports as bytes,
// which are those of the command.
package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// Options are a session's, called as the command's flags are.
type Options struct {
	Exe       string   `json:"exe"`
	Images    []string `json:"image"` // FILE[@ADDR]
	Sysroots  []string `json:"sysroot"`
	NoIndex   bool     `json:"no-index"`
	DebugDirs []string `json:"debug-dir"`
	Symbols   []string `json:"symbols"`
	RAM       []string `json:"ram"` // FILE[@ADDR]
	Regs      string   `json:"regs"`
	MaxFrames int      `json:"max-frames"`
	Locals    bool     `json:"locals"`
	NoSymbols bool     `json:"no-symbols"`
	NoCache   bool     `json:"no-cache"`
}

// Session makes reports of captures that share their binaries. It is safe for concurrent use.
type Session struct {
	files  *input.Files
	config backsight.Config
}

// Open makes a session by Options in JSON; "" is {}. The session must be closed.
func Open(options string) (*Session, error) {
	var o Options
	d := json.NewDecoder(bytes.NewReader([]byte(options)))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); options != "" && err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	if o.MaxFrames < 0 {
		return nil, fmt.Errorf("options: max-frames %d is negative", o.MaxFrames)
	}
	cache := ""
	if o.NoCache {
		cache = input.NoCache
	}
	files := backsight.NewFiles(input.FileOptions{Exe: o.Exe, Images: named(o.Images), Sysroots: o.Sysroots, NoIndex: o.NoIndex,
		DebugDirs: o.DebugDirs, Indexed: o.DebugDirs, CacheDir: cache})
	s := &Session{files: files, config: backsight.Config{RAM: named(o.RAM), Regs: o.Regs, Unwind: backsight.Options{MaxFrames: o.MaxFrames},
		Variables: o.Locals, Nameless: o.NoSymbols}}
	if err := s.check(&o); err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return s, nil
}

// check finds files that are not what the user took them for: a mistyped name should not turn into a poor backtrace.
func (s *Session) check(o *Options) error {
	if err := s.files.ReadSymbols(o.Symbols); err != nil {
		return err
	}
	for _, i := range append([]input.NamedImage{{Path: o.Exe}}, s.files.Images()...) {
		if i.Path == "" {
			continue
		}
		if _, err := s.files.Open(i.Path); err != nil {
			return err
		}
	}
	for _, dir := range slices.Concat(o.Sysroots, o.DebugDirs) {
		if st, err := s.files.Disk().Stat(dir); err != nil || !st.IsDir() {
			return fmt.Errorf("%s: not a directory", dir)
		}
	}
	return nil
}

func named(list []string) (images []input.NamedImage) {
	for _, s := range list {
		images = append(images, input.ParseNamedImage(s))
	}
	return images
}

// Close closes the session's binaries.
func (s *Session) Close() error { return s.files.Close() }

// form is a form of reports, and what it needs of them.
type form struct {
	render.Form
	explained, unsigned, unfailed bool
	frames                        int // where the user sets no bound; 0: the default
}

// unlimited is more frames than the memory of any capture has.
const unlimited = 1 << 30

func formOf(name string) (form, error) {
	switch name {
	case "", "json":
		return form{Form: render.JSONForm()}, nil
	case "jsonl":
		return form{Form: render.JSONLinesForm()}, nil
	case "text":
		return form{Form: render.TextForm(), unsigned: true, unfailed: true, frames: unlimited}, nil
	case "html":
		return form{Form: render.PageForm(), unsigned: true, explained: true}, nil
	}
	return form{}, fmt.Errorf("format %q is none of json, jsonl, text, html", name)
}

// Backtraces are the reports of a capture in a format (json, jsonl, text, html), as "backsight bt -f FORMAT CAPTURE" writes
// them; of the memory of Options.RAM where no capture is named. A capture that gives none is an error, too; JSON and pages say so
// themselves.
func (s *Session) Backtraces(ctx context.Context, format string, captures ...string) ([]byte, error) {
	name := "memory"
	if len(captures) > 0 {
		name = captures[0]
	}
	f, err := formOf(format)
	if err != nil {
		return nil, err
	}
	config := s.config
	config.Explain, config.Unsigned = f.explained, f.unsigned
	if config.Unwind.MaxFrames == 0 {
		config.Unwind.MaxFrames = f.frames
	}
	lib, err := backsight.SessionOf(s.files, config)
	if err != nil {
		return nil, err
	}
	var pieces [][]byte
	var wrong error
	for r, err := range lib.Reports(ctx, captures...) {
		if err != nil {
			wrong = err
			if f.unfailed {
				continue
			}
			r = &report.Report{Issues: []target.Issue{{Text: err.Error()}}}
		}
		style := render.Style{Version: backsight.Version()}
		if len(captures) > 0 {
			style.Capture = name
		}
		if len(pieces) > 0 {
			style.Title = fmt.Sprintf("Snapshot %d", len(pieces)+1)
		}
		pieces = append(pieces, f.Append(nil, r, style))
	}
	return f.Join("Backtraces of "+filepath.Base(name), pieces), wrong
}
