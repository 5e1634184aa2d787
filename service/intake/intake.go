// Package intake is what devices and build machines talk to: captures in the forms that the field speaks, offers of known crashes,
// logs, binaries. All that arrives is hostile: each handler reads no more than its bound, and holds no more memory than Spools give.
package intake

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/tracing"
	"go.opentelemetry.io/otel/trace"
)

// Bounds of what a sender says of a capture, in bytes.
const maxText, maxAnnotations, maxLog = 256, 64 << 10, 64 << 10

// pause is how long a sender may send nothing.
const pause = 60 * time.Second

// Server has the handlers.
type Server struct {
	DB       *db.DB
	Inbox    *inbox.Inbox
	Spools   *Spools
	Keys     *Keys
	Binaries Binaries
	Partial  *Partial
	Pieces   *Pieces
	Offers   *Offers
	Consoles *Consoles
	Metrics  *Metrics
	Log      *slog.Logger
	Tracer   trace.Tracer // nil: none

	messages messages
	uploads  uploads
}

// Binaries takes executables, debug files and symbol files.
type Binaries interface {
	// Add keeps a file that a sender calls name; id is the build ID that the sender says it has, "" for none. It returns the IDs that
	// the file is found by.
	Add(ctx context.Context, name, id string, body io.Reader) (ids []string, err error)
	// Has tells whether there is a symbol file.
	Has(name, id string) bool
}

// NewKeys makes the Keys of a database.
func NewKeys(d *db.DB) *Keys { return &Keys{db: d} }

// Handler has the routes.
func (s *Server) Handler() http.Handler {
	if s.Tracer == nil {
		s.Tracer = tracing.None()
	}
	mux := http.NewServeMux()
	for route, f := range map[string]func(http.ResponseWriter, *http.Request, inbox.Key) error{
		"POST /api/v1/captures":                                        s.plain,
		"PUT /api/v1/captures":                                         s.plain,
		"PUT /api/v1/captures/{id}":                                    s.resumed,
		"HEAD /api/v1/captures/{id}":                                   s.arrived,
		"POST /api/v1/offers":                                          s.offers,
		"POST /api/v1/logs":                                            s.logs,
		"PUT /api/v1/logs":                                             s.logs,
		"PUT /api/v1/binaries":                                         s.binary,
		"POST /api/v1/binaries":                                        s.binary,
		"PUT /api/v1/binaries/{build}":                                 s.binary,
		"POST /submit":                                                 s.crashpad,
		"POST /submit/{key}":                                           s.crashpad,
		"POST /api/{project}/minidump/{$}":                             s.minidump,
		"POST /api/{project}/minidump":                                 s.minidump,
		"POST /api/{project}/envelope/{$}":                             s.envelope,
		"POST /api/{project}/envelope":                                 s.envelope,
		"POST /api/v0/chunks/{serial}":                                 s.chunks,
		"GET /api/0/organizations/{org}/chunk-upload/{$}":              s.chunkOptions,
		"POST /api/0/organizations/{org}/chunk-upload/{$}":             s.difChunks,
		"POST /api/0/projects/{org}/{project}/files/difs/assemble/{$}": s.assemble,
		"GET /v1/symbols/{file}/{id}":                                  s.checkStatus,
		"POST /v1/uploads:create":                                      s.createUpload,
		"PUT /v1/uploads/{upload}":                                     s.putUpload,
		"POST /v1/uploads/{upload}":                                    s.completeUpload,
	} {
		mux.HandleFunc(route, s.handler(route, f))
	}
	return mux
}

// handler is a handler of whoever shows a key, with a body that must keep coming.
func (s *Server) handler(route string, f func(http.ResponseWriter, *http.Request, inbox.Key) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		r.Body = &coming{r.Body, control}
		defer control.SetReadDeadline(time.Time{})
		ctx, span := s.Tracer.Start(r.Context(), "intake "+route)
		if span.IsRecording() {
			r = r.WithContext(ctx)
		}
		key, err := s.Keys.of(r)
		if err == nil {
			err = f(w, r, key)
		}
		tracing.End(span, err)
		if err != nil {
			s.refuse(w, r, err)
		}
	}
}

// coming is a body of which something must come all the time: a slow sender is one who stops.
type coming struct {
	io.ReadCloser
	control *http.ResponseController
}

func (c *coming) Read(p []byte) (int, error) {
	if err := c.control.SetReadDeadline(time.Now().Add(pause)); err != nil && err != http.ErrNotSupported {
		return 0, err
	}
	return c.ReadCloser.Read(p)
}

// line is a text of a sender as one bounded line.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return strings.TrimSpace(s)
}

// described is an arrival with what the query of a request says of it.
func described(r *http.Request, key inbox.Key, kind string) *inbox.Arrival {
	q := r.URL.Query()
	first := func(names ...string) string {
		for _, n := range names {
			if s := q.Get(n); s != "" {
				return line(s)
			}
		}
		return ""
	}
	return &inbox.Arrival{Key: key, Kind: kind, File: line(q.Get("file")), Device: first("device", "guid"), Product: first("product", "prod"),
		Version: first("version", "ver", "release"), ID: first("id"), Annotations: map[string]string{}}
}

// take keeps a body that has arrived.
func (s *Server) take(ctx context.Context, a *inbox.Arrival, sp *Spool) (name string, err error) {
	if sp.size == 0 {
		return "", wrong("an empty body")
	}
	a.Body, a.Packing, a.Size = sp.Body(), sp.Packing, sp.Size
	if name, err = s.Inbox.Add(a); err == nil {
		s.Metrics.taken(a.Kind, sp.size)
		trace.SpanFromContext(ctx).SetAttributes(tracing.Capture(name))
	}
	return name, err
}

// annotate adds what a sender says, as long as all of it has room.
func annotate(a *inbox.Arrival, name, value string) {
	size := len(name) + len(value)
	for n, v := range a.Annotations {
		size += len(n) + len(v)
	}
	if size <= maxAnnotations {
		a.Annotations[line(name)] = strings.ToValidUTF8(value, "?")
	}
}

// plain takes any capture.
func (s *Server) plain(w http.ResponseWriter, r *http.Request, key inbox.Key) error {
	a := described(r, key, "upload")
	if err := s.Keys.quota(r.Context(), key, a.Device); err != nil {
		return err
	}
	sp, err := s.Spools.Read(r.Context(), r.Body, r.Header.Get("Content-Encoding"))
	if err != nil {
		return err
	}
	defer sp.Close()
	name, err := s.take(r.Context(), a, sp)
	if err != nil {
		return err
	}
	say(w, http.StatusCreated, map[string]string{"id": name})
	return nil
}

// binary takes an executable, a debug file or a symbol file.
func (s *Server) binary(w http.ResponseWriter, r *http.Request, _ inbox.Key) error {
	ids, err := s.Binaries.Add(r.Context(), line(r.URL.Query().Get("file")), r.PathValue("build"), r.Body)
	if err != nil {
		return err
	}
	say(w, http.StatusCreated, map[string][]string{"build": ids})
	return nil
}

// Metrics counts what was taken and refused.
type Metrics struct {
	Taken   func(kind string, bytes int64)
	Refused func(status int)
	Dropped func(why string)
}

func (m *Metrics) taken(kind string, bytes int64) {
	if m != nil && m.Taken != nil {
		m.Taken(kind, bytes)
	}
}

func (m *Metrics) refused(status int) {
	if m != nil && m.Refused != nil {
		m.Refused(status)
	}
}

// dropped counts what a sender is told to be taken, and is not.
func (m *Metrics) dropped(why string) {
	if m != nil && m.Dropped != nil {
		m.Dropped(why)
	}
}
