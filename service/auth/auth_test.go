package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/service/auth"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
)

const password = "correct horse"

// service is users with a clock that a test moves.
type service struct {
	*testing.T
	*auth.Users
	db  *db.DB
	now time.Time
}

func newService(t *testing.T) *service {
	d, err := db.Open(t.Context(), dbtest.Source(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	s := &service{T: t, db: d, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.Users = auth.NewUsers(d, func() time.Time { return s.now })
	return s
}

// join follows a link.
func (s *service) join(path, name string) (session string) {
	s.Helper()
	session, err := s.Join(s.Context(), strings.TrimPrefix(path, "/join/"), name, password)
	if err != nil {
		s.Fatal(err)
	}
	return session
}

func (s *service) first() (admin auth.User) {
	s.Helper()
	link, err := s.FirstLink(s.Context())
	if err != nil || link == "" {
		s.Fatal(link, err)
	}
	return s.who(s.join(link, "ada"))
}

func (s *service) who(session string) auth.User {
	s.Helper()
	u, err := s.Of(s.Context(), session)
	if err != nil {
		s.Fatal(err)
	}
	return u
}

// The first link makes an admin, once; then there is none.
func TestFirstLink(t *testing.T) {
	s := newService(t)
	early, _ := s.FirstLink(t.Context())
	link, _ := s.FirstLink(t.Context())
	if _, err := s.Join(t.Context(), strings.TrimPrefix(early, "/join/"), "eve", password); !errors.Is(err, auth.ErrLink) {
		t.Errorf("a link that another one has replaced: %v", err)
	}
	if u := s.who(s.join(link, "ada")); u.Role != auth.Admin || u.Name != "ada" {
		t.Errorf("%+v", u)
	}
	if _, err := s.Join(t.Context(), strings.TrimPrefix(link, "/join/"), "eve", password); !errors.Is(err, auth.ErrLink) {
		t.Errorf("a link twice: %v", err)
	}
	if again, err := s.FirstLink(t.Context()); again != "" || err != nil {
		t.Errorf("a first link beside a user: %q %v", again, err)
	}
}

func TestInvite(t *testing.T) {
	s := newService(t)
	admin := s.first()
	link, err := s.Invite(t.Context(), admin, auth.Triager)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"ada": auth.ErrName, "a b": auth.ErrName, "": auth.ErrName} {
		if _, err := s.Join(t.Context(), strings.TrimPrefix(link, "/join/"), name, password); !errors.Is(err, want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := s.Join(t.Context(), strings.TrimPrefix(link, "/join/"), "bob", "short"); !errors.Is(err, auth.ErrPassword) {
		t.Error(err)
	}
	if u := s.who(s.join(link, "bob")); u.Role != auth.Triager {
		t.Errorf("%+v", u)
	}
	late, _ := s.Invite(t.Context(), admin, auth.Viewer)
	s.now = s.now.Add(8 * 24 * time.Hour)
	if _, err := s.Invited(t.Context(), strings.TrimPrefix(late, "/join/")); !errors.Is(err, auth.ErrLink) {
		t.Errorf("a link of last week: %v", err)
	}
}

func TestLogin(t *testing.T) {
	s := newService(t)
	s.first()
	for name, secret := range map[string]string{"ada": "wrong horse", "eve": password, "": ""} {
		if _, err := s.Login(t.Context(), name, secret); !errors.Is(err, auth.ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	session, err := s.Login(t.Context(), "ada", password)
	if err != nil || s.who(session).Name != "ada" {
		t.Fatal(err)
	}
	s.now = s.now.Add(15 * 24 * time.Hour)
	if u := s.who(session); u.ID != 0 {
		t.Errorf("a session of two weeks ago is %+v", u)
	}
	session, _ = s.Login(t.Context(), "ada", password)
	if err := s.Logout(t.Context(), session); err != nil || s.who(session).ID != 0 {
		t.Errorf("logged out: %v", err)
	}
	for range 20 {
		_, err = s.Login(t.Context(), "mallory", "guess guess")
	}
	if !errors.Is(err, auth.ErrOften) {
		t.Errorf("twenty guesses: %v", err)
	}
}

// Whoever is disabled is out at once, and one admin always stays.
func TestChange(t *testing.T) {
	s := newService(t)
	admin := s.first()
	link, _ := s.Invite(t.Context(), admin, auth.Viewer)
	session := s.join(link, "bob")
	bob := s.who(session)
	for _, role := range []auth.Role{auth.Triager, auth.Admin} {
		if err := s.Change(t.Context(), admin, bob.ID, role, false); err != nil || s.who(session).Role != role {
			t.Errorf("%s: %v", role, err)
		}
	}
	if err := s.Change(t.Context(), admin, bob.ID, auth.Admin, true); err != nil || s.who(session).ID != 0 {
		t.Errorf("disabled: %v", err)
	}
	if _, err := s.Login(t.Context(), "bob", password); !errors.Is(err, auth.ErrDenied) {
		t.Errorf("a disabled user logs in: %v", err)
	}
	for _, err := range []error{s.Change(t.Context(), admin, admin.ID, auth.Viewer, false), s.Change(t.Context(), admin, admin.ID, auth.Admin, true)} {
		if !errors.Is(err, auth.ErrLast) {
			t.Errorf("no admin left: %v", err)
		}
	}
	if s.Change(t.Context(), admin, bob.ID, "root", false) == nil {
		t.Error("root is no role")
	}
	var actions []string
	log, err := s.Log(t.Context(), 0, 100)
	for _, e := range log {
		actions = append(actions, e.User+" "+e.Action+" "+e.Object+" "+e.Detail)
	}
	const want = " login refused bob ; ada user bob admin, disabled; ada user bob admin; ada user bob triager; bob join bob viewer; ada invite viewer ; ada join ada admin"
	if got := strings.Join(actions, "; "); err != nil || got != want {
		t.Errorf("%s %v", got, err)
	}
}

// What each role may not do; requests of another site do nothing.
func TestRequire(t *testing.T) {
	s := newService(t)
	admin := s.first()
	sessions := map[auth.Role]string{}
	for _, role := range auth.Roles() {
		link, _ := s.Invite(t.Context(), admin, role)
		sessions[role] = s.join(link, string(role))
	}
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})
	for _, c := range []struct {
		who    auth.Role
		least  auth.Role
		method string
		site   string
		want   int
	}{
		{auth.Viewer, auth.Viewer, "GET", "", 200}, {auth.Viewer, auth.Triager, "POST", "", 403}, {auth.Viewer, auth.Admin, "GET", "", 403},
		{auth.Triager, auth.Viewer, "GET", "", 200}, {auth.Triager, auth.Triager, "POST", "", 200}, {auth.Triager, auth.Admin, "POST", "", 403},
		{auth.Admin, auth.Admin, "POST", "", 200}, {auth.Admin, auth.Admin, "POST", "cross-site", 403}, {auth.Admin, auth.Admin, "GET", "cross-site", 200},
		{auth.Admin, auth.Admin, "POST", "same-origin", 200}, {"", auth.Viewer, "GET", "", 303}, {"", auth.Viewer, "POST", "", 401}, {auth.Admin, "root", "GET", "", 403},
	} {
		r := httptest.NewRequest(c.method, "/", nil)
		r.Header.Set("Accept", "text/html")
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		r.AddCookie(&http.Cookie{Name: "backsight", Value: sessions[c.who]})
		w := httptest.NewRecorder()
		s.Known(auth.Require(c.least, ok)).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s asks for what a %s may, %s %s: %d, want %d", c.who, c.least, c.method, c.site, w.Code, c.want)
		}
	}
}

// A program's token is as good as its user's session.
func TestToken(t *testing.T) {
	s := newService(t)
	token, err := s.Token(t.Context(), s.first())
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	s.now = s.now.Add(300 * 24 * time.Hour)
	if u := s.who(auth.Secret(r)); u.Name != "ada" {
		t.Errorf("%+v", u)
	}
}
