// Package appletext reads the crash reports that macOS and iOS write as text, and those of
// others in the same form:
//
//	.crash       "Report Version: 104" and its neighbours: headers, threads, registers,
//	             binary images; some begin with a line of JSON
//	.ips         a line of JSON, then the report as JSON (since iOS 15, macOS 12), or as text
//	             (before)
//	panic-full   a line of JSON, then the state of all processes by a kernel's stackshot
//	spindump     sampled call trees of processes, one snapshot each; sample's output
//
// Reports have no memory: their frames are listed frames. Apple's "Interpreting the JSON format
// of a crash report" and "Examining the fields in a crash report" describe the fields.
package appletext

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/darwin"
	"github.com/backsight/backsight/target"
)

// Format describes this package to input.Open.
func Format() input.Format {
	return input.Format{Name: "appletext", Sniff: sniff, Open: open}
}

// sniff knows a report by the keys of its first line of JSON, or by its headers: one that nobody else writes, or two of
// those that logs of other machines have as well, "Process: com.example, PID: 21" in front of a microcontroller's fault.
func sniff(head []byte) bool {
	if line, _, _ := bytes.Cut(head, []byte("\n")); bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return bytes.Contains(line, []byte(`"bug_type"`)) || bytes.Contains(line, []byte(`"incident_id"`))
	}
	const enough = 2
	keys := 0
	for _, key := range [...]struct {
		text string
		says int
	}{{"Incident Identifier:", enough}, {"CrashReporter Key:", enough}, {"Binary Images:", enough}, {"Report Version:", 1}, {"Process:", 1},
		{"Hardware Model:", 1}, {"Code Type:", 1}, {"Shared Cache:", 1}, {"OS Version:", 1}, {"Exception Type:", 1}, {"Identifier:", 1}} {
		if bytes.HasPrefix(head, []byte(key.text)) || bytes.Contains(head, []byte("\n"+key.text)) {
			keys += key.says
		}
	}
	return keys >= enough
}

// maxReport bounds a report in bytes. A stackshot of all processes has some megabytes.
const maxReport = 64 << 20

func open(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
	data, broken := c.Bytes(ctx)
	if data == nil {
		return nil, broken
	}
	if len(data) > maxReport {
		return nil, &input.Error{Path: c.Name, Offset: maxReport, Reason: "a crash report of more than 64 MB"}
	}
	reports, err := read(ctx, c.Name, data, env)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if broken != nil {
		last := reports[len(reports)-1]
		last.Issues = append(last.Issues, target.Issue{Kind: target.IssueCapture, Subject: c.Name, Text: broken.Error()})
	}
	return &stream{reports, env.Files}, nil
}

// read reads a report in one of its forms.
func read(ctx context.Context, name string, data []byte, env *input.Env) ([]*darwin.Report, error) {
	body, at := data, 0
	if first, rest, ok := bytes.Cut(data, []byte("\n")); ok && json.Valid(bytes.TrimSpace(first)) && len(bytes.TrimSpace(first)) > 0 {
		body, at = rest, len(first)+1
	}
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '{' {
		text := string(body)
		if sampled(text) {
			return readSamples(ctx, name, text, env)
		}
		return one(readText(ctx, name, text, env))
	}
	var r jsonReport
	var other *json.UnmarshalTypeError // of a field; the others are there
	if err := json.Unmarshal(body, &r); err != nil && !errors.As(err, &other) {
		off := int64(at)
		if syntax, ok := err.(*json.SyntaxError); ok {
			off += syntax.Offset
		}
		return nil, &input.Error{Path: name, Offset: off, Reason: "a crash report whose JSON is damaged", Err: err}
	}
	parts(body, map[string]*raw{"threads": &r.Threads, "usedImages": &r.UsedImages, "lastExceptionBacktrace": &r.Last,
		"processByPid": &r.Processes, "binaryImages": &r.Binaries})
	if bytes.HasPrefix(r.Processes, []byte("{")) {
		return one(r.stackshot(name, env))
	}
	return one(r.crash(name, env))
}

func one(r *darwin.Report, err error) ([]*darwin.Report, error) { return []*darwin.Report{r}, err }

func unknown(name string, what string) error {
	return &input.Error{Path: name, Offset: 0, Reason: fmt.Sprintf("a crash report of an unknown processor (%q)", what)}
}

// stream yields a snapshot for each report.
type stream struct {
	reports []*darwin.Report
	files   *input.Files
}

// Next implements input.Stream.
func (s *stream) Next(ctx context.Context) (*target.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.reports) == 0 {
		return nil, io.EOF
	}
	r := s.reports[0]
	s.reports = s.reports[1:]
	return r.Snapshot(s.files), nil
}

// Close implements input.Stream.
func (s *stream) Close() error { return nil }
