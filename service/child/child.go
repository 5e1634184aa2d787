// Package child is the process that backtraces one capture: it may do little, and whatever a capture makes of it harms nothing.
//
//	parent: Run ── request (JSON) ─► stdin  child: Main ─► Harden ─► the library ─► report, page ─► stdout
package child

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/target"
)

// Command is the hidden command of a program that calls Main.
const Command = "__backtrace"

// Bounds of what a child writes. A page that is longer is left out.
const maxReport, maxPage = 64 << 20, 4 << 20

// request is what a child is to do.
type request struct {
	Capture  string   // the file, in the working directory
	Name     string   // what reports call it
	Binaries string   // of build IDs: see Binaries
	Sysroots []string // further files of devices
	Memory   int64    // bytes
	Seconds  int64
}

// Result is what a child has written.
type Result struct {
	// JSON is what bt -f json writes: a report or an array of reports. Page is what bt -f html writes, nil where it is too long.
	JSON, Page []byte
}

// Main does what a request on in says, and writes a Result to out.
func Main(ctx context.Context, in io.Reader, out io.Writer) error {
	var r request
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("%s is what backsightd starts itself: %w", Command, err)
	}
	if err := harden(&r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.Seconds)*time.Second)
	defer cancel()
	result, err := r.backtrace(ctx)
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint64(nil, uint64(len(result.JSON)))
	for _, b := range [][]byte{head, result.JSON, result.Page} {
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// backtrace makes the reports of a capture. A capture that gives none has one that says why; one that is a report already, by bt -f
// json on the device, is the result itself.
func (r *request) backtrace(ctx context.Context) (Result, error) {
	if made, err := reported(ctx, r.Capture); made != nil || err != nil {
		return Result{JSON: made}, err
	}
	files := Binaries{r.Binaries}
	lib, err := backsight.NewSession(backsight.Config{Files: input.FileOptions{Sysroots: r.Sysroots, NoIndex: true, DebugDirs: []string{},
		CacheDir: input.NoCache, Fetch: files.fetch, FetchSymbols: files.symbols, Context: ctx}})
	if err != nil {
		return Result{}, err
	}
	defer lib.Close()
	w := writer{style: render.Style{Version: backsight.Version(), Capture: r.Name}}
	for rep, err := range lib.Reports(ctx, r.Capture) {
		if err != nil {
			rep = Failed(strings.ReplaceAll(err.Error(), r.Capture+": ", ""))
		}
		if err := w.add(rep); err != nil {
			return Result{}, err
		}
	}
	return w.result(), nil
}

// reported is what a file has that is a report already, nil where it is none.
func reported(ctx context.Context, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	if !jsonreport.Is(head[:n]) {
		return nil, nil
	}
	b, err := io.ReadAll(packing.Bounded(io.MultiReader(bytes.NewReader(head[:n]), f), maxReport))
	if err != nil {
		return nil, err
	}
	if jsonreport.Each(ctx, bytes.NewReader(b), func(*jsonreport.Report) error { return nil }) != nil || !json.Valid(b) {
		return nil, nil // it is cut short: as a capture it says so
	}
	return b, nil
}

// Failed is the report of a capture that gave none.
func Failed(why string) *report.Report { return &report.Report{Issues: []target.Issue{{Text: why}}} }

// FailedJSON is that as bt -f json writes it.
func FailedJSON(name, why string) []byte {
	return render.AppendJSON(nil, Failed(why), render.Style{Version: backsight.Version(), Capture: name})
}

// writer gathers reports in both forms.
type writer struct {
	style            render.Style
	json, pages      [][]byte
	jsonLen, pageLen int
}

func (w *writer) add(r *report.Report) error {
	if n := len(w.json); n > 0 {
		w.style.Title = fmt.Sprintf("Snapshot %d", n+1)
	}
	object := render.AppendJSON(nil, r, w.style)
	if w.jsonLen += len(object); w.jsonLen > maxReport {
		return errors.New("the report is too long")
	}
	w.json = append(w.json, object)
	if w.pageLen <= maxPage {
		page := render.AppendPage(nil, r, w.style)
		w.pages, w.pageLen = append(w.pages, page), w.pageLen+len(page)
	}
	return nil
}

func (w *writer) result() (r Result) {
	form, page := render.JSONForm(), render.PageForm()
	r.JSON = form.Join("", w.json)
	if len(w.pages) > 0 && w.pageLen <= maxPage {
		r.Page = page.Join("Backtraces of "+w.style.Capture, w.pages)
	}
	return r
}

// Binaries is a folder of executables and debug files by build ID, as debuginfod servers name them (ID/executable,
// ID/debuginfo), and of symbol files as symbol servers do, below symbols (NAME/ID/FILE).
type Binaries struct{ Dir string }

// Path is where the executable ("executable") or debug file ("debuginfo") of a build ID in hexadecimal digits is.
func (b Binaries) Path(id, kind string) string { return filepath.Join(b.Dir, id, kind) }

// SymbolPath is where a symbol file is.
func (b Binaries) SymbolPath(name, id, file string) string {
	return filepath.Join(b.Dir, "symbols", plain(name), plain(id), plain(file))
}

// plain is a name that stays in its folder.
func plain(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:`, r) {
			return '_'
		}
		return r
	}, name)
	return cmp.Or(strings.TrimLeft(name, "."), "_")
}

// File is where a file is, if there is one. The id is hexadecimal digits.
func (b Binaries) File(id, kind string) (path string, ok bool) {
	return there(b.Path(strings.ToLower(id), kind))
}

func (b Binaries) fetch(kind input.FetchKind, id []byte) (string, bool) {
	return b.File(fmt.Sprintf("%x", id), string(kind))
}

func (b Binaries) symbols(name, id, file string) (string, bool) {
	return there(b.SymbolPath(name, id, file))
}

func there(path string) (string, bool) {
	st, err := os.Stat(path)
	return path, err == nil && st.Mode().IsRegular()
}
