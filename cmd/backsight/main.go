package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/unwind"
)

func main() {
	fs := flag.NewFlagSet("bt", flag.ExitOnError)
	image := fs.String("image", "", "")
	_ = fs.String("f", "jsonl", "")
	_ = fs.Bool("no-symbols", false, "")
	explain := fs.Int("explain", -1, "")
	fs.Parse(os.Args[2:])
	cpus := backsight.CPUs()
	fo := input.FileOptions{Archs: cpus}
	if *image != "" {
		fo.Images = []input.NamedImage{input.ParseNamedImage(*image)}
	}
	files := input.NewFiles(fo)
	st, err := backsight.Open(context.Background(), fs.Arg(0), files)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	n := 0
	opt := backsight.Options{}
	if *explain >= 0 {
		opt.Explain = func(a unwind.Attempt) {
			if n != *explain {
				return
			}
			r := ""
			if a.Rule != nil {
				r = a.Rule.Format(a.Arch)
			}
			fmt.Fprintf(os.Stderr, "#%d %v try %d %v %s -> %#x cfa %#x %v %v taken=%v %s\n", a.Frame, a.Method, a.Try, a.Verdict, r, a.PC, a.CFA, a.Checks, a.Trust, a.Taken, a.Reason)
		}
	}
	u, _ := backsight.NewUnwinder(opt)
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	for ; ; n++ {
		snap, err := st.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if *explain >= 0 && n != *explain {
			continue
		}
		bts, _ := u.Backtraces(context.Background(), snap)
		var threads []any
		for _, b := range bts {
			var frames []any
			for _, f := range b.Frames {
				m := map[string]any{"pc": fmt.Sprintf("%#x", f.PC), "trust": f.Trust.String(), "method": f.Method.String(), "checks": f.Checks.Names()}
				if f.HasCFA {
					m["cfa"] = fmt.Sprintf("%#x", f.CFA)
				}
				frames = append(frames, map[string]any{"backsight": m})
			}
			threads = append(threads, map[string]any{"frames": frames, "stop": b.Stop.Reason.String()})
		}
		json.NewEncoder(w).Encode(map[string]any{"threads": threads})
	}
}
