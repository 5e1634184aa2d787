package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// cookie is the name of a session's cookie.
const cookie = "backsight"

type userKey struct{}

// UserOf is who asks.
func UserOf(ctx context.Context) User {
	u, _ := ctx.Value(userKey{}).(User)
	return u
}

// Secret is what a request says who asks by: a session's cookie, or a program's token (Authorization: Bearer).
func Secret(r *http.Request) string {
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return t
	}
	if c, err := r.Cookie(cookie); err == nil {
		return c.Value
	}
	return ""
}

// SetCookie gives a browser a session; "" takes it away. A page of another site does not send it with a form.
func SetCookie(w http.ResponseWriter, secret string, secure bool) {
	c := &http.Cookie{Name: cookie, Value: secret, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode, MaxAge: int(sessionLife.Seconds())}
	if secret == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// Known lets a handler know who asks. Requests of other sites that would change something are refused (CSRF).
func (u *Users) Known(next http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of, err := u.Of(r.Context(), Secret(r))
		if err != nil {
			http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, of)))
	}))
}

// ErrRole says that who asks may not do that.
var ErrRole = errors.New("your role does not allow this")

// Require lets only those ask who may do what a role may. Nobody is sent to the page of login, programs are refused.
func Require(least Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := UserOf(r.Context())
		switch {
		case u.Role.May(least):
			next.ServeHTTP(w, r)
		case u.ID != 0:
			http.Error(w, ErrRole.Error(), http.StatusForbidden)
		case r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html"):
			http.Redirect(w, r, "/login", http.StatusSeeOther)
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "nobody is logged in", http.StatusUnauthorized)
		}
	})
}
