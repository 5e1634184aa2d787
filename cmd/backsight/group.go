//go:build !small

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/internal/grouping"
	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/spf13/cobra"
)

// groupOptions are the flags of group.
type groupOptions struct {
	bt     btOptions
	format string
	known  string
	all    bool
}

func newGroup(stdout, stderr io.Writer) *cobra.Command {
	var o groupOptions
	cmd := &cobra.Command{
		Use:   "group [flags] FILE...",
		Short: "Crashes that are the same",
		Long: `Puts crashes together that are the same, of captures and of reports that
'bt -f json' or 'bt -f jsonl' has written: by the place of the build first, then
by functions that are the same in another build, with or without names, then by
chains that are nearly alike. Each says why it is in its group.`,
		Example: `  backsight group cores/*
  backsight group --sysroot rootfs/ monday.jsonl tuesday.jsonl
  backsight group -f json crashes.jsonl > groups.json
  backsight group --known groups.json -f json today.jsonl > new.json`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				return errors.New("group: no file named")
			}
			if err := named("group", files); err != nil {
				return err
			}
			return o.run(cmd, files, stdout, stderr)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.format, "format", "f", "text", "`FORMAT`: text or json")
	f.StringVar(&o.known, "known", "", "groups of before, as -f json wrote them: their crashes need not be read again (`FILE`)")
	f.BoolVar(&o.all, "members", false, "list all captures of a group, and not the first ones alone")
	o.bt.files.add(f)
	o.bt.names.add(f)
	complete(cmd, []string{"text", "json"}, nil)
	return cmd
}

func (o *groupOptions) run(cmd *cobra.Command, files []string, stdout, stderr io.Writer) error {
	if o.format != "text" && o.format != "json" {
		return fmt.Errorf("--format %q is none of text, json", o.format)
	}
	var groups grouping.Groups
	if o.known != "" {
		if err := readGroups(o.known, &groups); err != nil {
			return &failure{exitNone, err}
		}
	}
	o.bt.goroutines, o.bt.color = true, "never"
	r := rereader{opt: &o.bt, progress: newProgress(stderr)}
	ok, err := r.each(cmd.Context(), files, func(file string, rep *jsonreport.Report) error {
		if t := rep.Named(); t != nil {
			groups.Add(grouping.Crash{Capture: file, Signature: t.Own.Signature})
		} else {
			groups.Unsigned = append(groups.Unsigned, file)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := o.write(stdout, &groups); err != nil {
		return outputFailed(err)
	}
	if !ok {
		return &failure{code: exitNone}
	}
	return nil
}

func (o *groupOptions) write(w io.Writer, groups *grouping.Groups) error {
	if o.format == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(groups)
	}
	most := 5
	if o.all {
		most = 1 << 30
	}
	_, err := w.Write(display.AppendGroups(nil, groups, most))
	return err
}

// readGroups reads groups of before.
func readGroups(path string, to *grouping.Groups) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fileError(path, err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("%s: no groups: %w", path, err)
	}
	return nil
}
