package web

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/backsight/backsight/internal/visible"
	"github.com/backsight/backsight/service/api"
	"github.com/backsight/backsight/service/auth"
)

// pages are the templates by name, each within the frame of all.
type pages map[string]*template.Template

func parse(now func() time.Time) (pages, error) {
	list := pages{}
	entries, err := files.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		if name == "base.html" || name == "parts.html" {
			continue
		}
		t, err := template.New("base.html").Funcs(functions(now)).ParseFS(files, "templates/base.html", "templates/parts.html", "templates/"+name)
		if err != nil {
			return nil, err
		}
		list[name[:len(name)-len(path.Ext(name))]] = t
	}
	return list, nil
}

// functions are what templates call.
func functions(now func() time.Time) template.FuncMap {
	return template.FuncMap{
		"ago":   func(t time.Time) string { return ago(now().Sub(t)) },
		"stamp": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"machine": func(t time.Time) string {
			return t.UTC().Format(time.RFC3339)
		},
		"trend": trend,
		"say":   visible.Line,
		"short": func(n int64) string { return short(n) },
		"may":   func(u auth.User, role string) bool { return u.Role.May(auth.Role(role)) },
		"roles": auth.Roles,
		"tail":  tail,
		"last":  func(list []auth.Entry) int { return len(list) - 1 },
		"ms":    func(ms int64) time.Time { return time.UnixMilli(ms).UTC() },
	}
}

// ago is how long ago something was, in one unit.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return fmt.Sprintf("%d days ago", d/(24*time.Hour))
}

// short is a number in four characters or so.
func short(n int64) string {
	switch {
	case n < 10_000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return fmt.Sprintf("%.0fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// tail is what tells a capture's name from those of the same hour: names begin with the time.
func tail(name string) string { return name[max(0, len(name)-8):] }

// bar is a day of a trend, in a drawing 56 wide and 16 high.
type bar struct{ X, Y, Height float64 }

// trend are the bars of days.
func trend(days []int64) (bars []bar) {
	const width, height = 4, 16
	most := int64(1)
	for _, n := range days {
		most = max(most, n)
	}
	for i, n := range days {
		if n > 0 {
			h := max(1, height*float64(n)/float64(most))
			bars = append(bars, bar{X: float64(width * i), Y: height - h, Height: h})
		}
	}
	return bars
}

// view is what a template is given.
type view struct {
	Title    string
	User     auth.User
	Projects []api.Project
	Project  api.Project
	// Here is the path of the page, Query what stood behind it.
	Here    string
	Query   url.Values
	Version string
	Base    string
	OIDC    bool
	Upload  bool
	Body    any
}

// With is the page's address with a parameter changed; the pages that were turned are none then.
func (v *view) With(key, value string) string {
	q := url.Values{}
	for k, list := range v.Query {
		q[k] = list
	}
	if key != "page" {
		q.Del("page")
	}
	q.Set(key, value)
	return v.Here + "?" + q.Encode()
}

// Link is a page's address in the project that is looked at.
func (v *view) Link(path string) string {
	if len(v.Projects) < 2 {
		return path
	}
	return path + "?project=" + url.QueryEscape(v.Project.Name)
}

// Is tells whether the page's address is below a path.
func (v *view) Is(prefix string) bool { return strings.HasPrefix(v.Here, prefix) }

// show writes a page.
func (s *site) show(w http.ResponseWriter, r *http.Request, code int, name, title string, body any) {
	v := &view{Title: title, User: auth.UserOf(r.Context()), Here: r.URL.Path, Query: r.URL.Query(), Version: s.Version, Base: s.BaseURL,
		OIDC: s.OIDC != nil, Upload: s.Receive != nil, Body: body}
	if v.User.ID != 0 {
		if err := s.projects(r, v); err != nil {
			s.Logger.Error("page", "path", r.URL.Path, "error", err)
			http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
			return
		}
	}
	var b bytes.Buffer
	if err := s.pages[name].Execute(&b, v); err != nil {
		s.Logger.Error("page", "path", r.URL.Path, "error", err)
		http.Error(w, "this page cannot be shown; the service's log has more", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = b.WriteTo(w)
}

func (s *site) projects(r *http.Request, v *view) (err error) {
	v.Project, v.Projects, err = s.project(r)
	return err
}

// project is the project that a request is about: the one that it names, else the first.
func (s *site) project(r *http.Request) (api.Project, []api.Project, error) {
	list, err := s.data.Projects(r.Context())
	if err != nil || len(list) == 0 {
		return api.Project{}, nil, err
	}
	name := cmp.Or(r.FormValue("project"), list[0].Name)
	for _, p := range list {
		if p.Name == name {
			return p, list, nil
		}
	}
	return list[0], list, nil
}

// back sends a browser back to a page after it has changed something.
func back(w http.ResponseWriter, r *http.Request, to string) error {
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}
