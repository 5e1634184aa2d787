package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/backsight/backsight/service/api"
	"github.com/backsight/backsight/service/auth"
	"github.com/backsight/backsight/service/groups"
)

// rulesBody is what the page of rules shows.
type rulesBody struct {
	Text     string
	Versions []api.Rules
	Tried    *groups.Tried
	Wrong    string
}

func (s *site) rules(w http.ResponseWriter, r *http.Request) error {
	p, _, err := s.project(r)
	if err != nil {
		return err
	}
	body := rulesBody{}
	if body.Versions, err = s.data.Rules(r.Context(), p.ID); err != nil {
		return err
	}
	for _, v := range body.Versions {
		if v.Active {
			body.Text = v.Text
		}
	}
	code := http.StatusOK
	if r.URL.Query().Has("text") { // to be tried out
		body.Text = r.FormValue("text")
		if body.Tried, err = s.data.Try(r.Context(), p.ID, body.Text); err != nil {
			body.Wrong, code = err.Error(), http.StatusBadRequest
		}
	}
	s.show(w, r, code, "rules", "Rules of groups", body)
	return nil
}

func (s *site) takeRules(w http.ResponseWriter, r *http.Request) error {
	p, _, err := s.project(r)
	if err != nil {
		return err
	}
	if _, err := s.data.Take(r.Context(), auth.UserOf(r.Context()), p.ID, r.PostFormValue("text")); err != nil {
		return err
	}
	if s.Regroup != nil {
		if err := s.Regroup(r.Context(), p.ID); err != nil {
			return err
		}
	}
	return back(w, r, "/rules")
}

// adminBody is what the page of administration shows.
type adminBody struct {
	People   []auth.User
	Keys     []api.Key
	Webhooks []api.Webhook
	Keeping  api.Keeping
	// Made is a link or a key that was just made.
	Made string
}

func (s *site) admin(w http.ResponseWriter, r *http.Request) error { return s.adminPage(w, r, "") }

func (s *site) adminPage(w http.ResponseWriter, r *http.Request, made string) error {
	p, _, err := s.project(r)
	if err != nil {
		return err
	}
	body := adminBody{Made: made}
	if body.People, err = s.Users.All(r.Context()); err != nil {
		return err
	}
	if body.Keys, err = s.data.Keys(r.Context()); err != nil {
		return err
	}
	if body.Webhooks, err = s.data.Webhooks(r.Context(), p.ID); err != nil {
		return err
	}
	if body.Keeping, err = s.data.Keeping(r.Context(), p.ID); err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, "admin", "Administration", body)
	return nil
}

// administer does what a form of the page of administration asks for.
func (s *site) administer(w http.ResponseWriter, r *http.Request) error {
	p, _, err := s.project(r)
	if err != nil {
		return err
	}
	made, err := s.do(r, p)
	if err != nil {
		return err
	}
	if made != "" {
		return s.adminPage(w, r, made)
	}
	return back(w, r, "/admin")
}

func (s *site) do(r *http.Request, p api.Project) (made string, err error) {
	ctx, by, value := r.Context(), auth.UserOf(r.Context()), r.PostFormValue
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(value(name), 10, 64) // 0 is nobody's
		return n
	}
	switch value("do") {
	case "invite":
		path, err := s.Users.Invite(ctx, by, auth.Role(value("role")))
		return strings.TrimSuffix(s.BaseURL, "/") + path, err
	case "user":
		return "", s.Users.Change(ctx, by, number("id"), auth.Role(value("role")), value("disabled") != "")
	case "project":
		return "", s.data.NewProject(ctx, by, value("name"))
	case "key":
		return s.data.NewKey(ctx, by, p.ID, value("note"))
	case "revoke":
		return "", s.data.RevokeKey(ctx, by, value("key"))
	case "quota":
		return "", s.data.Limit(ctx, by, value("key"), api.Quota{Captures: number("captures"), Bytes: number("bytes"), PerDevice: number("device")})
	case "keep":
		return "", s.data.Keep(ctx, by, p.ID, api.Keeping{Days: number("days"), Bytes: number("bytes"), First: number("first"), Sample: number("sample")})
	case "again":
		return s.again(r)
	case "webhook":
		return "", s.data.NewWebhook(ctx, by, api.Webhook{Project: p.ID, URL: value("url"), Events: strings.Join(r.PostForm["event"], ","), Budget: number("budget")})
	case "remove webhook":
		return "", s.data.RemoveWebhook(ctx, by, number("id"))
	}
	return "", fmt.Errorf("%w: %q is nothing to do", api.ErrWrong, value("do"))
}

// again has all captures since a day backtraced again.
func (s *site) again(r *http.Request) (said string, err error) {
	since, err := time.Parse(time.DateOnly, r.PostFormValue("since"))
	if err != nil || s.Reprocess == nil {
		return "", fmt.Errorf("%w: no day such as 2026-01-31", api.ErrWrong)
	}
	n, err := s.Reprocess(r.Context(), 0, since.UnixMilli())
	return fmt.Sprintf("%d captures are backtraced again", n), err
}

func (s *site) audit(w http.ResponseWriter, r *http.Request) error {
	const most = 200
	before, _ := strconv.ParseInt(r.FormValue("before"), 10, 64)
	list, err := s.Users.Log(r.Context(), before, most)
	if err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, "audit", "What was done", list)
	return nil
}
