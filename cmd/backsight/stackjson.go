//go:build !small

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/backsight/backsight/internal/code/stackdepth"
	"io"
	"os"
	"slices"

	"github.com/backsight/backsight/internal/visible"
)

// stackVersion is that of the JSON's form (docs/usage.md).
const stackVersion = 1

// stackJSON is what usage writes with --format json.
type stackJSON struct {
	Version   int                 `json:"usage"`
	Image     string              `json:"image"`
	Issue     string              `json:"issue,omitempty"`
	Calls     int                 `json:"calls"`
	Pointers  int                 `json:"unresolved_pointers"`
	Roots     []stackRootJSON     `json:"roots"`
	Open      []stackOpenJSON     `json:"open"`
	Functions []stackFunctionJSON `json:"functions"`
	Grown     []grownFunction     `json:"grown,omitempty"`
}

type stackRootJSON struct {
	Kind       string               `json:"kind"`
	Name       string               `json:"name"`
	Address    string               `json:"address"`
	Depth      int64                `json:"depth"`
	AtLeast    bool                 `json:"at_least"`
	Stack      uint64               `json:"stack,omitempty"`
	From       string               `json:"stack_from,omitempty"`
	Path       []stackFrameJSON     `json:"path"`
	Interrupts []stackInterruptJSON `json:"interrupts,omitempty"`
	Switched   int64                `json:"switched,omitempty"`
	OpenCount  int                  `json:"open_count,omitempty"`
	Open       []int                `json:"open,omitempty"`
}

type stackFrameJSON struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Bytes   int64  `json:"bytes"`
	Call    string `json:"call,omitempty"`
	How     string `json:"how,omitempty"`
	Frames  int64  `json:"frames,omitempty"`
}

type stackInterruptJSON struct {
	Name     string `json:"name"`
	Address  string `json:"address"`
	Bytes    int64  `json:"bytes"`
	Priority *int64 `json:"priority,omitempty"`
}

type stackOpenJSON struct {
	Kind     string `json:"kind"`
	Function string `json:"function"`
	Address  string `json:"address,omitempty"`
	Why      string `json:"why"`
	Close    string `json:"close"`
}

type stackFunctionJSON struct {
	Name      string `json:"name"`
	Address   string `json:"address"`
	Own       int64  `json:"own"`
	Depth     int64  `json:"depth"`
	Dynamic   bool   `json:"dynamic,omitempty"`
	Recursive bool   `json:"recursive,omitempty"`
	Open      int    `json:"open,omitempty"`
}

func hexOf(v uint64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%#x", v)
}

// writeStackJSON writes all as JSON.
func writeStackJSON(w io.Writer, r *stackResult) error {
	out := stackJSON{Version: stackVersion, Image: r.Path, Issue: r.Issue, Calls: r.Calls, Pointers: r.Pointers,
		Roots: []stackRootJSON{}, Open: []stackOpenJSON{}, Functions: []stackFunctionJSON{}, Grown: r.grown()}
	for i := range r.Roots {
		out.Roots = append(out.Roots, rootJSON(&r.Roots[i]))
	}
	for i := range r.Open {
		o := &r.Open[i]
		out.Open = append(out.Open, stackOpenJSON{o.Kind.String(), o.Function, hexOf(o.At), o.Why, o.Close})
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		out.Functions = append(out.Functions, stackFunctionJSON{f.Name, fmt.Sprintf("%#x", f.At), f.Own, f.Depth, f.Dynamic, f.Recursive, f.Open})
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(visible.JSON(b), '\n'))
	return err
}

func rootJSON(x *stackdepth.Root) stackRootJSON {
	out := stackRootJSON{Kind: x.Kind, Name: x.Name, Address: fmt.Sprintf("%#x", x.At), Depth: x.Depth, AtLeast: x.OpenCount > 0, OpenCount: x.OpenCount,
		Stack: x.Stack, From: x.From, Open: x.Open, Switched: x.Switched, Path: []stackFrameJSON{}}
	for i := range x.Path {
		f := &x.Path[i]
		out.Path = append(out.Path, stackFrameJSON{f.Name, fmt.Sprintf("%#x", f.At), f.Bytes, hexOf(f.Site), f.How, f.Times})
	}
	for i := range x.Interrupts {
		in := &x.Interrupts[i]
		j := stackInterruptJSON{Name: in.Name, Address: fmt.Sprintf("%#x", in.At), Bytes: in.Bytes}
		if in.Priority >= 0 {
			j.Priority = &in.Priority
		}
		out.Interrupts = append(out.Interrupts, j)
	}
	return out
}

// oldFunction is a function of an older build.
type oldFunction struct {
	Name       string
	Own, Depth int64
}

// maxStackJSON bounds the bytes of JSON that is read.
const maxStackJSON = 256 << 20

// readStackJSON reads the functions out of what writeStackJSON wrote.
func readStackJSON(path string) (list []oldFunction, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in stackJSON
	if err := json.NewDecoder(io.LimitReader(f, maxStackJSON)).Decode(&in); err != nil {
		return nil, fmt.Errorf("no JSON of usage: %w", err)
	}
	if in.Version != stackVersion {
		return nil, errors.New("no JSON of usage, or of another version")
	}
	list = []oldFunction{}
	for i := range in.Functions {
		list = append(list, oldFunction{in.Functions[i].Name, in.Functions[i].Own, in.Functions[i].Depth})
	}
	return list, nil
}

// grownFunction is a function that takes more stack than it did.
type grownFunction struct {
	Name     string `json:"name"`
	Own      int64  `json:"own"`
	WasOwn   int64  `json:"was_own"`
	Depth    int64  `json:"depth"`
	WasDepth int64  `json:"was_depth"`
}

// grown are the functions that take more than those of their names did, by themselves or with all that they call; new ones were 0. Those come
// first that grew most by themselves.
func (r *stackResult) grown() (list []grownFunction) {
	if r.Old == nil {
		return nil
	}
	was := map[string]oldFunction{}
	for _, f := range r.Old {
		was[f.Name] = f
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		if o := was[f.Name]; f.Own > o.Own || f.Depth > o.Depth {
			list = append(list, grownFunction{f.Name, f.Own, o.Own, f.Depth, o.Depth})
		}
	}
	slices.SortStableFunc(list, func(a, b grownFunction) int {
		return cmp.Or(cmp.Compare(b.Own-b.WasOwn, a.Own-a.WasOwn), cmp.Compare(b.Depth-b.WasDepth, a.Depth-a.WasDepth))
	})
	return list
}
