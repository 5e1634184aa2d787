package web

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/backsight/backsight/service/api"
	"github.com/backsight/backsight/service/auth"
)

func (s *site) home(w http.ResponseWriter, r *http.Request) error { return back(w, r, "/groups") }

// perPage is how many groups a page has, exported how many a file has.
const perPage, exported = 50, 10_000

// filter is what a request asks of groups.
func (s *site) filter(r *http.Request) (f api.Filter, err error) {
	p, _, err := s.project(r)
	page, _ := strconv.Atoi(r.FormValue("page"))
	return api.Filter{Project: p.ID, State: r.FormValue("state"), Assignee: r.FormValue("assignee"), Signal: r.FormValue("signal"), Version: r.FormValue("version"),
		Device: r.FormValue("device"), Text: r.FormValue("text"), Sort: r.FormValue("sort"), Page: page, Limit: perPage}, err
}

// groupList is what the page of groups shows.
type groupList struct {
	Groups []api.Group
	Filter api.Filter
	Totals map[string]int64
	Orders []string
	Next   string // the number of the next page, "" for none
	Keys   []api.Key
	Any    bool // there are groups, maybe others than asked for
}

func (s *site) groups(w http.ResponseWriter, r *http.Request) error {
	f, err := s.filter(r)
	if err != nil {
		return err
	}
	body := groupList{Filter: f, Orders: api.Orders()}
	var more bool
	if body.Groups, more, err = s.data.Groups(r.Context(), f); err != nil {
		return err
	}
	if more {
		body.Next = strconv.Itoa(f.Page + 1)
	}
	if body.Totals, err = s.data.Totals(r.Context(), f.Project); err != nil {
		return err
	}
	if body.Any = len(body.Totals) > 0; !body.Any && auth.UserOf(r.Context()).Role.May(auth.Admin) {
		if body.Keys, err = s.data.Keys(r.Context()); err != nil {
			return err
		}
	}
	s.show(w, r, http.StatusOK, "groups", "Groups", body)
	return nil
}

// all are all groups of a filter.
func (s *site) all(r *http.Request, bare bool) ([]api.Group, error) {
	f, err := s.filter(r)
	if err != nil {
		return nil, err
	}
	f.Page, f.Limit, f.Bare = 0, exported, bare
	list, _, err := s.data.Groups(r.Context(), f)
	return list, err
}

func (s *site) groupsJSON(w http.ResponseWriter, r *http.Request) error {
	list, err := s.all(r, false)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(list)
}

func (s *site) groupsCSV(w http.ResponseWriter, r *http.Request) error {
	list, err := s.all(r, true)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="groups.csv"`)
	c := csv.NewWriter(w)
	_ = c.Write([]string{"id", "title", "signal", "state", "assignee", "count", "devices", "first_seen", "last_seen", "first_version", "last_version"})
	for _, g := range list {
		_ = c.Write([]string{strconv.FormatInt(g.ID, 10), cell(g.Title), cell(g.Signal), g.State, cell(g.Assignee), strconv.FormatInt(g.Count, 10), strconv.FormatInt(g.Devices, 10),
			g.FirstSeen.Format(time.RFC3339), g.LastSeen.Format(time.RFC3339), cell(g.FirstVersion), cell(g.LastVersion)})
	}
	c.Flush()
	return c.Error()
}

// cell is a text that a spreadsheet does not take for a formula (OWASP, CSV Injection).
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// id is the number in a request's path.
func id(r *http.Request) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0, api.ErrNone
	}
	return n, nil
}

// groupBody is what the page of a group shows.
type groupBody struct {
	*api.Detail
	States []string
	People []auth.User
	// LinkText are the links, one a line.
	LinkText string
}

func (s *site) group(w http.ResponseWriter, r *http.Request) error {
	n, err := id(r)
	if err != nil {
		return err
	}
	g, err := s.data.Group(r.Context(), n)
	if err != nil {
		return err
	}
	if g.MergedInto != 0 {
		return back(w, r, fmt.Sprintf("/groups/%d", g.MergedInto))
	}
	people, err := s.Users.All(r.Context())
	if err != nil {
		return err
	}
	var links []string
	for _, l := range g.Links {
		links = append(links, strings.TrimSpace(l.URL+" "+l.Label))
	}
	s.show(w, r, http.StatusOK, "group", g.Title, groupBody{g, api.States(), people, strings.Join(links, "\n")})
	return nil
}

// decide takes what a form says of a group.
func (s *site) decide(w http.ResponseWriter, r *http.Request) error {
	n, err := id(r)
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return fmt.Errorf("%w: %w", api.ErrWrong, err)
	}
	if err := s.data.Decide(r.Context(), auth.UserOf(r.Context()), n, decision(r.PostForm)); err != nil {
		return err
	}
	return back(w, r, fmt.Sprintf("/groups/%d", n))
}

// decision is what a form says of a group; links are a line each, address and label.
func decision(form url.Values) api.Decision {
	given := func(name string) *string {
		if !form.Has(name) {
			return nil
		}
		v := strings.TrimSpace(form.Get(name))
		return &v
	}
	d := api.Decision{State: given("state"), ResolvedIn: given("resolved_in"), Assignee: given("assignee"), Notes: given("notes")}
	if text := given("links"); text != nil {
		links := []api.Link{}
		for line := range strings.Lines(*text) {
			if u, label, _ := strings.Cut(strings.TrimSpace(line), " "); u != "" {
				links = append(links, api.Link{URL: u, Label: strings.TrimSpace(label)})
			}
		}
		d.Links = &links
	}
	return d
}

func (s *site) merge(w http.ResponseWriter, r *http.Request) error {
	from, err := id(r)
	if err != nil {
		return err
	}
	into, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(r.FormValue("into")), "#"), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: %q is no group's number", api.ErrWrong, r.FormValue("into"))
	}
	if err := s.data.Merge(r.Context(), auth.UserOf(r.Context()), from, into); err != nil {
		return err
	}
	return back(w, r, fmt.Sprintf("/groups/%d", into))
}

func (s *site) reprocess(w http.ResponseWriter, r *http.Request) error {
	n, err := id(r)
	if err != nil {
		return err
	}
	if s.Reprocess == nil {
		return errors.New("nothing here backtraces again")
	}
	if _, err := s.Reprocess(r.Context(), n, 0); err != nil {
		return err
	}
	return back(w, r, fmt.Sprintf("/groups/%d", n))
}

func (s *site) proposals(w http.ResponseWriter, r *http.Request) error {
	p, _, err := s.project(r)
	if err != nil {
		return err
	}
	list, err := s.data.Merges(r.Context(), p.ID)
	if err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, "proposals", "Groups that may be one", list)
	return nil
}

func (s *site) proposal(w http.ResponseWriter, r *http.Request) error {
	n, err := id(r)
	if err != nil {
		return err
	}
	if err := s.data.Proposal(r.Context(), auth.UserOf(r.Context()), n, r.FormValue("do") == "merge"); err != nil {
		return err
	}
	return back(w, r, "/proposals")
}
