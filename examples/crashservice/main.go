// Command crashservice turns core files into JSON: over HTTP, or from standard input.
//
//	crashservice -sysroot DIR < core > crash.json
//	crashservice -sysroot DIR -listen localhost:8080
//	curl --data-binary @core localhost:8080/
//
// It takes what it needs from package report and writes JSON of its own design;
// package render, with Backsight's JSON, is not needed for that.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/symbol"
)

// maxCore bounds a core file, compressed or not, in bytes.
const maxCore = 8 << 30

func main() {
	sysroot := flag.String("sysroot", "", "the folder with the crashed machine's files")
	listen := flag.String("listen", "", "the address to serve at; without one, standard input is read")
	flag.Parse()
	s, err := newService(*sysroot)
	if err != nil {
		log.Fatal(err)
	}
	if *listen != "" {
		log.Fatal(http.ListenAndServe(*listen, s))
	}
	c, err := s.crash(context.Background(), os.Stdin)
	if err == nil {
		err = writeJSON(os.Stdout, c)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// service has what all requests share: the binaries, opened once, and the Unwinder,
// which learns from every core.
type service struct {
	files    *input.Files
	unwinder *backsight.Unwinder
	names    backsight.Symbolizer
}

func newService(sysroot string) (*service, error) {
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return nil, err
	}
	return &service{
		files:    backsight.NewFiles(input.FileOptions{Sysroots: []string{sysroot}}),
		unwinder: u,
		names:    &symbol.Symbolizer{},
	}, nil
}

// ServeHTTP answers a core file with its crash.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := s.crash(r.Context(), http.MaxBytesReader(w, r.Body, maxCore))
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := writeJSON(w, c); err != nil {
		log.Print(err) // the client has gone
	}
}

// crash reads a core file and names the frames of the thread that crashed.
func (s *service) crash(ctx context.Context, core io.Reader) (*crash, error) {
	capture, err := backsight.OpenReader(ctx, "core", core, input.Env{Files: s.files, MaxSpill: maxCore})
	if err != nil {
		return nil, err
	}
	defer capture.Close()
	snap, err := capture.Next(ctx)
	if err != nil {
		return nil, err
	}
	traces, err := s.unwinder.Backtraces(ctx, snap)
	if err != nil {
		return nil, err
	}
	return newCrash(backsight.Report(ctx, snap, traces, s.names)), nil
}

func writeJSON(w io.Writer, c *crash) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(c)
}
