// Package web is the page of the service: groups, captures, searches, triage, administration. Every page is whole without
// JavaScript; htmx (static/htmx.min.js, version 2.0.11 from npm, Zero-Clause BSD) fetches the same pages and takes parts of them.
package web

import (
	"context"
	"embed"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/service/api"
	"github.com/backsight/backsight/service/auth"
	"github.com/backsight/backsight/service/db"
)

// Config is what the page shows and what it asks for.
type Config struct {
	DB    *db.DB
	Users *auth.Users
	// OIDC is the provider of users, nil for none.
	OIDC *auth.Provider
	// Bodies has the bodies of captures.
	Bodies interface {
		Body(ctx context.Context, capture int64) ([]byte, error)
	}
	// Receive takes a capture that is uploaded by the page, and returns its name; nil: there is no form.
	Receive func(ctx context.Context, project int64, file string, body io.Reader, device, version string) (name string, err error)
	// Reprocess has the captures of a group, or all since a time in milliseconds if group is 0, backtraced again.
	Reprocess func(ctx context.Context, group, since int64) (n int, err error)
	// Regroup makes a project's groups anew some time later.
	Regroup func(ctx context.Context, project int64) error
	// Binary is where a file of a build ID is: an executable or debuginfo. nil: none are served.
	Binary func(id, kind string) (path string, ok bool)
	// Queue is River's page, for admins; nil for none.
	Queue            http.Handler
	Version, BaseURL string
	Logger           *slog.Logger
	Now              func() time.Time
}

//go:embed static templates
var files embed.FS

// site answers requests.
type site struct {
	Config
	data  *api.Data
	pages pages
}

// New makes the page's handler, with the API of other programs (api.Server) below /api/v2/.
func New(c Config) (http.Handler, error) {
	s := &site{Config: c, data: api.NewData(c.DB, c.Now)}
	var err error
	if s.pages, err = parse(c.Now); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	if err := static(mux); err != nil {
		return nil, err
	}
	s.open(mux)
	for _, route := range s.routes() {
		mux.Handle(route.pattern, auth.Require(route.least, s.answer(route.do)))
	}
	(&api.Server{Data: s.data, Regroup: c.Regroup, Logger: c.Logger}).Add(mux)
	if c.Queue != nil {
		mux.Handle("/jobs/", auth.Require(auth.Admin, styled(c.Queue)))
	}
	return headers(c.Users.Known(mux)), nil
}

// static adds the files that are parts of pages.
func static(mux *http.ServeMux) error {
	list, err := fs.Sub(files, "static")
	if err != nil {
		return err
	}
	mux.Handle("GET /static/", cached(http.StripPrefix("/static/", http.FileServerFS(list))))
	mux.Handle("GET /static/report.css", cached(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, typeset.PageStyle())
	})))
	return nil
}

// route is what is done for whom.
type route struct {
	pattern string
	least   auth.Role
	do      func(w http.ResponseWriter, r *http.Request) error
}

// routes are all that needs somebody to be logged in.
func (s *site) routes() []route {
	return []route{
		{"GET /{$}", auth.Viewer, s.home},
		{"GET /groups", auth.Viewer, s.groups},
		{"GET /groups.csv", auth.Viewer, s.groupsCSV},
		{"GET /groups.json", auth.Viewer, s.groupsJSON},
		{"GET /groups/{id}", auth.Viewer, s.group},
		{"POST /groups/{id}", auth.Triager, s.decide},
		{"POST /groups/{id}/merge", auth.Triager, s.merge},
		{"POST /groups/{id}/reprocess", auth.Admin, s.reprocess},
		{"GET /proposals", auth.Viewer, s.proposals},
		{"POST /proposals/{id}", auth.Triager, s.proposal},
		{"GET /captures/{name}", auth.Viewer, s.capture},
		{"GET /captures/{name}/page", auth.Viewer, s.page},
		{"GET /captures/{name}/report.json", auth.Viewer, s.report},
		{"GET /captures/{name}/body", auth.Triager, s.body},
		{"GET /buildid/{id}/{kind}", auth.Viewer, s.binary},
		{"POST /upload", auth.Triager, s.upload},
		{"GET /compare", auth.Viewer, s.compare},
		{"GET /search", auth.Viewer, s.search},
		{"GET /missing", auth.Viewer, s.missing},
		{"GET /queue", auth.Viewer, s.queue},
		{"GET /rules", auth.Viewer, s.rules},
		{"POST /rules", auth.Triager, s.takeRules},
		{"GET /account", auth.Viewer, s.account},
		{"POST /account", auth.Viewer, s.newToken},
		{"GET /admin", auth.Admin, s.admin},
		{"POST /admin", auth.Admin, s.administer},
		{"GET /audit", auth.Admin, s.audit},
		{"POST /logout", auth.Viewer, s.logout},
	}
}

// headers are those of every answer: nothing but this site's own files runs, is shown, or is sent to (CSP 3).
func headers(next http.Handler) http.Handler {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// styled lets River's page set styles while it runs, as it does.
func styled(next http.Handler) http.Handler {
	const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		next.ServeHTTP(w, r)
	})
}

// cached lets browsers keep what changes with the program only.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		next.ServeHTTP(w, r)
	})
}

// answer shows what went wrong.
func (s *site) answer(do func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := do(w, r)
		if err == nil {
			return
		}
		code, says := http.StatusInternalServerError, "this did not work; the service's log has more"
		switch {
		case errors.Is(err, api.ErrNone):
			code, says = http.StatusNotFound, err.Error()
		case errors.Is(err, api.ErrWrong), errors.Is(err, api.ErrSearch), errors.Is(err, auth.ErrLast):
			code, says = http.StatusBadRequest, err.Error()
		default:
			s.Logger.Error("page", "path", r.URL.Path, "error", err)
		}
		s.show(w, r, code, "error", "Error", says)
	})
}

func secure(base string) bool { return strings.HasPrefix(base, "https:") }
