package api

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/backsight/backsight/service/auth"
)

// description has the API, described by OpenAPI 3.0.
//
//go:embed openapi.yaml
var description embed.FS

// Server answers other programs.
type Server struct {
	Data *Data
	// Regroup makes a project's groups anew some time later, nil for nothing.
	Regroup func(ctx context.Context, project int64) error
	Logger  *slog.Logger
}

// Route is what is asked for, and what one must be allowed to.
type Route struct {
	Pattern string
	Least   auth.Role
	do      func(r *http.Request) (any, error)
}

// Routes are all that is described.
func (s *Server) Routes() []Route {
	return []Route{
		{"GET /api/v2/projects", auth.Viewer, func(r *http.Request) (any, error) { return s.Data.Projects(r.Context()) }},
		{"GET /api/v2/groups", auth.Viewer, s.groups},
		{"GET /api/v2/groups/{id}", auth.Viewer, s.group},
		{"PATCH /api/v2/groups/{id}", auth.Triager, s.decide},
		{"POST /api/v2/groups/{id}/merge", auth.Triager, s.merge},
		{"GET /api/v2/merges", auth.Viewer, s.merges},
		{"POST /api/v2/merges/{id}", auth.Triager, s.proposal},
		{"GET /api/v2/captures/{name}", auth.Viewer, func(r *http.Request) (any, error) { return s.Data.Report(r.Context(), r.PathValue("name")) }},
		{"GET /api/v2/captures/{name}/report", auth.Viewer, func(r *http.Request) (any, error) {
			b, err := s.Data.JSON(r.Context(), r.PathValue("name"))
			return json.RawMessage(b), err
		}},
		{"GET /api/v2/search", auth.Viewer, s.search},
		{"GET /api/v2/missing", auth.Viewer, func(r *http.Request) (any, error) { return s.Data.Missing(r.Context()) }},
		{"GET /api/v2/queue", auth.Viewer, func(r *http.Request) (any, error) { return s.Data.Queue(r.Context()) }},
		{"GET /api/v2/rules", auth.Viewer, s.rules},
		{"POST /api/v2/rules/try", auth.Viewer, s.try},
		{"PUT /api/v2/rules", auth.Triager, s.take},
	}
}

// Add adds the routes to those of a site, which lets them know who asks.
func (s *Server) Add(mux *http.ServeMux) {
	for _, route := range s.Routes() {
		mux.Handle(route.Pattern, auth.Require(route.Least, s.answer(route.do)))
	}
	mux.HandleFunc("GET /api/v2/openapi.yaml", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		http.ServeFileFS(w, r, description, "openapi.yaml")
	})
}

// maxBody bounds what a request brings, in bytes.
const maxBody = 1 << 20

func (s *Server) answer(do func(r *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		out, err := do(r)
		code := http.StatusOK
		switch {
		case err == nil:
		case errors.Is(err, ErrNone):
			code = http.StatusNotFound
		case errors.Is(err, ErrWrong), errors.Is(err, ErrSearch):
			code = http.StatusBadRequest
		default:
			s.Logger.Error("API", "path", r.URL.Path, "error", err)
			code, err = http.StatusInternalServerError, errors.New("this did not work; the service's log has more")
		}
		if err != nil {
			out = map[string]string{"error": err.Error()}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(out)
	})
}

// project is the project that a request names, by its name; else the first.
func (s *Server) project(r *http.Request) (int64, error) {
	list, err := s.Data.Projects(r.Context())
	if err != nil {
		return 0, err
	}
	name := r.URL.Query().Get("project")
	for _, p := range list {
		if p.Name == name || name == "" {
			return p.ID, nil
		}
	}
	return 0, ErrNone
}

// id is the number in a request's path.
func id(r *http.Request) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0, ErrNone
	}
	return n, nil
}

// numbered is what a request says of the thing whose number its path has.
func numbered[T any](r *http.Request) (n int64, body T, err error) {
	if n, err = id(r); err == nil {
		body, err = read[T](r)
	}
	return n, body, err
}

// read reads a request's body.
func read[T any](r *http.Request) (v T, err error) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, fmt.Errorf("%w: %w", ErrWrong, err)
	}
	return v, nil
}

// page is a page of groups.
type page struct {
	Groups []Group `json:"groups"`
	More   bool    `json:"more"`
}

func (s *Server) groups(r *http.Request) (any, error) {
	project, err := s.project(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	f := Filter{Project: project, State: q.Get("state"), Assignee: q.Get("assignee"), Signal: q.Get("signal"), Version: q.Get("version"), Device: q.Get("device"),
		Text: q.Get("text"), Sort: q.Get("sort"), Limit: 50}
	for name, to := range map[string]*int{"page": &f.Page, "limit": &f.Limit} {
		if q.Has(name) {
			if *to, err = strconv.Atoi(q.Get(name)); err != nil || *to < 0 {
				return nil, fmt.Errorf("%w: %s is a number", ErrWrong, name)
			}
		}
	}
	list, more, err := s.Data.Groups(r.Context(), f)
	return page{list, more}, err
}

func (s *Server) group(r *http.Request) (any, error) {
	n, err := id(r)
	if err != nil {
		return nil, err
	}
	return s.Data.Group(r.Context(), n)
}

func (s *Server) decide(r *http.Request) (any, error) {
	n, d, err := numbered[Decision](r)
	if err != nil {
		return nil, err
	}
	if err := s.Data.Decide(r.Context(), auth.UserOf(r.Context()), n, d); err != nil {
		return nil, err
	}
	return s.Data.Group(r.Context(), n)
}

func (s *Server) merge(r *http.Request) (any, error) {
	n, to, err := numbered[struct{ Into int64 }](r)
	if err != nil {
		return nil, err
	}
	if err := s.Data.Merge(r.Context(), auth.UserOf(r.Context()), n, to.Into); err != nil {
		return nil, err
	}
	return s.Data.Group(r.Context(), to.Into)
}

func (s *Server) merges(r *http.Request) (any, error) {
	project, err := s.project(r)
	if err != nil {
		return nil, err
	}
	return s.Data.Merges(r.Context(), project)
}

func (s *Server) proposal(r *http.Request) (any, error) {
	n, what, err := numbered[struct{ Take bool }](r)
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.Data.Proposal(r.Context(), auth.UserOf(r.Context()), n, what.Take)
}

func (s *Server) search(r *http.Request) (any, error) {
	project, err := s.project(r)
	if err != nil {
		return nil, err
	}
	return s.Data.Search(r.Context(), project, r.URL.Query().Get("q"))
}

func (s *Server) rules(r *http.Request) (any, error) {
	project, err := s.project(r)
	if err != nil {
		return nil, err
	}
	return s.Data.Rules(r.Context(), project)
}

func (s *Server) try(r *http.Request) (any, error) {
	project, err := s.project(r)
	if err != nil {
		return nil, err
	}
	rules, err := read[struct{ Text string }](r)
	if err != nil {
		return nil, err
	}
	return s.Data.Try(r.Context(), project, rules.Text)
}

func (s *Server) take(r *http.Request) (any, error) {
	project, err := s.project(r)
	if err != nil {
		return nil, err
	}
	rules, err := read[struct{ Text string }](r)
	if err != nil {
		return nil, err
	}
	version, err := s.Data.Take(r.Context(), auth.UserOf(r.Context()), project, rules.Text)
	if err == nil && s.Regroup != nil {
		err = s.Regroup(r.Context(), project)
	}
	return struct {
		Version int64 `json:"version"`
	}{version}, err
}
