// Package jsonreport reads what `backsight bt -f json` and `-f jsonl` have written (render/schema.json), whatever version wrote
// it: what is not known of a report stays zero, what a report has more is passed over.
package jsonreport

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Report is what a capture's report says. Addresses are text, as the report has them.
type Report struct {
	Status string
	System System `json:"system_info"`
	Crash  Crash  `json:"crash_info"`
	// Main is the index of the program's own binary in Modules, nil where that is not known.
	Main    *int `json:"main_module"`
	Modules []Module
	Threads []Thread
	Own     struct {
		Version, Capture string
		Issues           []string
	} `json:"backsight"`
}

// System is what ran.
type System struct {
	CPU string `json:"cpu_arch"`
	OS  string
}

// Crash is why the program stopped.
type Crash struct {
	Type, Address string
	// Thread is the index of the thread that crashed, nil for none.
	Thread *int `json:"crashing_thread"`
	Own    struct {
		Code, Kind, Access, Address, Place string
		Reasons                            []string
	} `json:"backsight"`
}

// Module is a binary.
type Module struct {
	Name string `json:"filename"`
	Base string `json:"base_addr"`
	ID   string `json:"code_id"`
}

// Thread is a thread's chain, innermost frame first.
type Thread struct {
	ID     int    `json:"thread_id"`
	Name   string `json:"thread_name"`
	Frames []Frame
	Own    struct {
		Stop      struct{ Reason, Address string }
		Signature *Signature
	} `json:"backsight"`
}

// Frame is a frame of a chain.
type Frame struct {
	Number         int               `json:"frame"`
	Module         string            `json:"module"`
	ModuleOffset   string            `json:"module_offset"`
	Offset         string            `json:"offset"`
	Function       string            `json:"function"`
	FunctionOffset string            `json:"function_offset"`
	File           string            `json:"file"`
	Line           int               `json:"line"`
	Inlines        []Inline          `json:"inlines"`
	Registers      map[string]string `json:"registers"`
	Own            struct {
		PC, CFA, Method, Trust string
	} `json:"backsight"`
}

// Inline is a function that was inlined.
type Inline struct{ Function, File string }

// Signature names the thread: report.Signature.
type Signature struct {
	Version int      `json:"version"`
	Class   string   `json:"class"`
	Title   string   `json:"title"`
	Exact   string   `json:"exact"`
	Stable  string   `json:"stable"`
	Whole   bool     `json:"whole"`
	Frames  []Signed `json:"frames"`
}

// Signed is a function of a signature: report.SignedFrame.
type Signed struct {
	Frame    int    `json:"frame"`
	Module   string `json:"module,omitempty"`
	Build    string `json:"build,omitempty"`
	Function string `json:"function,omitempty"`
	Start    string `json:"start"`
	Inside   bool   `json:"inside,omitempty"`
	Offset   string `json:"offset,omitempty"`
	Import   string `json:"import,omitempty"`
	Sure     bool   `json:"sure"`
	Print    string `json:"print,omitempty"`
	Named    Hashes `json:"named,omitempty"`
	Members  Hashes `json:"members,omitempty"`
	Before   Hashes `json:"before,omitempty"`
	Known    bool   `json:"known,omitempty"`
}

// Hashes are those of a function's features, eight hexadecimal digits each in JSON.
type Hashes []uint32

// MarshalText implements encoding.TextMarshaler.
func (h Hashes) MarshalText() ([]byte, error) {
	var text []byte
	for _, v := range h {
		text = fmt.Appendf(text, "%08x", v)
	}
	return text, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hashes) UnmarshalText(text []byte) error {
	const digits = 8
	if len(text)%digits != 0 {
		return fmt.Errorf("%d digits are no hashes of %d", len(text), digits)
	}
	*h = make(Hashes, 0, len(text)/digits)
	for ; len(text) > 0; text = text[digits:] {
		v, err := strconv.ParseUint(string(text[:digits]), 16, 32)
		if err != nil {
			return errors.New("hashes are hexadecimal digits")
		}
		*h = append(*h, uint32(v))
	}
	return nil
}

// Is tells by the beginning of a file whether reports follow: an object with a status, or an array of objects.
func Is(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if array, ok := bytes.CutPrefix(head, []byte("[")); ok {
		head = bytes.TrimLeft(array, " \t\r\n")
	}
	object, ok := bytes.CutPrefix(head, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(object, " \t\r\n"), []byte(`"status"`))
}

// Each calls visit for the reports of r: one, an array, or one after the other. The error tells at which byte r is no report;
// what stood before was visited.
func Each(ctx context.Context, r io.Reader, visit func(*Report) error) error {
	in := bufio.NewReader(r)
	d := json.NewDecoder(in)
	for ctx.Err() == nil {
		var one reports
		switch err := d.Decode(&one); {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("offset %#x: no report: %w", d.InputOffset(), err)
		}
		for i := range one {
			if err := visit(&one[i]); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// reports are one report or an array of several.
type reports []Report

// UnmarshalJSON implements json.Unmarshaler.
func (l *reports) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("[")) {
		return json.Unmarshal(b, (*[]Report)(l))
	}
	*l = make(reports, 1)
	return json.Unmarshal(b, &(*l)[0])
}

// Named is the thread to name a capture by, with its signature: that of the thread that crashed, else of the first that has
// one; nil where no thread is signed.
func (r *Report) Named() *Thread {
	if i := r.Crash.Thread; i != nil && *i >= 0 && *i < len(r.Threads) && r.Threads[*i].Own.Signature != nil {
		return &r.Threads[*i]
	}
	for i := range r.Threads {
		if r.Threads[i].Own.Signature != nil {
			return &r.Threads[i]
		}
	}
	return nil
}

// Short is an address without the zeros that it begins with.
func Short(addr string) string {
	digits, ok := strings.CutPrefix(addr, "0x")
	if !ok {
		return addr
	}
	return "0x" + cmp.Or(strings.TrimLeft(digits, "0"), "0")
}
