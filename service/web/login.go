package web

import (
	"errors"
	"net/http"

	"github.com/backsight/backsight/service/auth"
)

// open adds what needs nobody to be logged in.
func (s *site) open(mux *http.ServeMux) {
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) { s.show(w, r, http.StatusOK, "login", "Log in", "") })
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("GET /join/{secret}", s.invited)
	mux.HandleFunc("POST /join/{secret}", s.join)
	if s.OIDC != nil {
		mux.HandleFunc("GET /login/oidc", s.OIDC.Begin)
		mux.HandleFunc("GET /login/oidc/back", s.OIDC.Finish)
	}
}

// maxForm bounds the forms of those who are not logged in, in bytes.
const maxForm = 16 << 10

func (s *site) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	session, err := s.Users.Login(r.Context(), r.PostFormValue("name"), r.PostFormValue("password"))
	s.enter(w, r, session, err, "login", "Log in")
}

// enter gives a browser its session, or shows a form again with what was wrong.
func (s *site) enter(w http.ResponseWriter, r *http.Request, session string, err error, form, title string) {
	switch {
	case err == nil:
		auth.SetCookie(w, session, secure(s.BaseURL))
		http.Redirect(w, r, "/groups", http.StatusSeeOther)
	case errors.Is(err, auth.ErrDenied):
		s.show(w, r, http.StatusForbidden, form, title, auth.ErrDenied.Error())
	case errors.Is(err, auth.ErrOften):
		s.show(w, r, http.StatusTooManyRequests, form, title, err.Error())
	case errors.Is(err, auth.ErrName), errors.Is(err, auth.ErrPassword), errors.Is(err, auth.ErrLink):
		s.show(w, r, http.StatusBadRequest, form, title, err.Error())
	default:
		s.Logger.Error("login", "error", err)
		s.show(w, r, http.StatusInternalServerError, "error", "Error", "this did not work; the service's log has more")
	}
}

func (s *site) invited(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Users.Invited(r.Context(), r.PathValue("secret")); err != nil {
		s.show(w, r, http.StatusNotFound, "error", "Error", auth.ErrLink.Error())
		return
	}
	s.show(w, r, http.StatusOK, "join", "Join", "")
}

func (s *site) join(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	session, err := s.Users.Join(r.Context(), r.PathValue("secret"), r.PostFormValue("name"), r.PostFormValue("password"))
	s.enter(w, r, session, err, "join", "Join")
}

func (s *site) logout(w http.ResponseWriter, r *http.Request) error {
	if err := s.Users.Logout(r.Context(), auth.Secret(r)); err != nil {
		return err
	}
	auth.SetCookie(w, "", secure(s.BaseURL))
	return back(w, r, "/login")
}

// account shows who one is; a token that was just made, once.
func (s *site) account(w http.ResponseWriter, r *http.Request) error {
	s.show(w, r, http.StatusOK, "account", "Account", "")
	return nil
}

func (s *site) newToken(w http.ResponseWriter, r *http.Request) error {
	token, err := s.Users.Token(r.Context(), auth.UserOf(r.Context()))
	if err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, "account", "Account", token)
	return nil
}
