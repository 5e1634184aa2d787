package auth

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// OIDC is a provider that says who users are (OpenID Connect Core 1.0, 3.1: authorization code flow).
type OIDC struct {
	Issuer, ClientID, ClientSecret string
	// Claim is the claim that lists a user's groups, "" for none. Who is in one of Admins or Triagers has that role, at each login;
	// all others are viewers, or what an admin here has made them, where there is no Claim.
	Claim            string
	Admins, Triagers []string
}

// Provider logs users in by what an OIDC provider says.
type Provider struct {
	users    *Users
	of       OIDC
	config   oauth2.Config
	verifier *oidc.IDTokenVerifier
	secure   bool
}

// callback is the path to which the provider sends users back.
const callback = "/login/oidc/back"

// NewProvider asks a provider what it offers (OpenID Connect Discovery 1.0). base is the service's own address.
func NewProvider(ctx context.Context, users *Users, of OIDC, base string) (*Provider, error) {
	p, err := oidc.NewProvider(ctx, of.Issuer)
	if err != nil {
		return nil, fmt.Errorf("OIDC: %w", err)
	}
	return &Provider{users: users, of: of, verifier: p.Verifier(&oidc.Config{ClientID: of.ClientID, Now: users.now}), secure: strings.HasPrefix(base, "https:"),
		config: oauth2.Config{ClientID: of.ClientID, ClientSecret: of.ClientSecret, Endpoint: p.Endpoint(), RedirectURL: strings.TrimSuffix(base, "/") + callback,
			Scopes: []string{oidc.ScopeOpenID, "profile", "email"}}}, nil
}

// flowCookie is the name of the cookie that a login has until the provider sends the user back: state, nonce, and PKCE's secret.
const flowCookie, flowLife = "backsight_oidc", 10 * time.Minute

// Begin sends a user to the provider.
func (p *Provider) Begin(w http.ResponseWriter, r *http.Request) {
	state, _ := token()
	nonce, _ := token()
	verifier := oauth2.GenerateVerifier()
	http.SetCookie(w, &http.Cookie{Name: flowCookie, Value: strings.Join([]string{state, nonce, verifier}, "."), Path: callback, HttpOnly: true,
		Secure: p.secure, SameSite: http.SameSiteLaxMode, MaxAge: int(flowLife.Seconds())})
	http.Redirect(w, r, p.config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), http.StatusSeeOther)
}

// errFlow says that a user was not sent back from where this service has sent that one.
var errFlow = errors.New("this login was not begun here, or too long ago; begin again")

// Finish logs in whom the provider has sent back.
func (p *Provider) Finish(w http.ResponseWriter, r *http.Request) {
	session, err := p.finish(r)
	http.SetCookie(w, &http.Cookie{Name: flowCookie, Path: callback, MaxAge: -1})
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	SetCookie(w, session, p.secure)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (p *Provider) finish(r *http.Request) (session string, err error) {
	c, err := r.Cookie(flowCookie)
	if err != nil {
		return "", errFlow
	}
	flow := strings.Split(c.Value, ".")
	if len(flow) != 3 || flow[0] == "" || r.FormValue("state") != flow[0] {
		return "", errFlow
	}
	if r.FormValue("error") != "" {
		return "", errors.New("the provider has refused the login")
	}
	id, err := p.exchange(r.Context(), r.FormValue("code"), flow[2])
	if err != nil {
		return "", err
	}
	if id.Nonce != flow[1] {
		return "", errFlow
	}
	return p.welcome(r.Context(), id)
}

// exchange is what the provider says of a user for its code.
func (p *Provider) exchange(ctx context.Context, code, verifier string) (*oidc.IDToken, error) {
	tokens, err := p.config.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, errors.New("the provider did not take its own code")
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, err := p.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("the provider's answer: %w", err)
	}
	return id, nil
}

// welcome makes the session of a provider's user, and the user where that comes for the first time.
func (p *Provider) welcome(ctx context.Context, id *oidc.IDToken) (session string, err error) {
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return "", err
	}
	subject := id.Issuer + " " + id.Subject
	name := p.name(claims, id.Subject)
	var user int64
	err = p.users.db.Tx(ctx, func(tx *sql.Tx) error {
		var role Role
		if user, role, err = p.known(ctx, tx, name, text(claims, "email"), subject); err != nil {
			return err
		}
		if p.of.Claim != "" {
			role = p.role(claims)
		}
		if _, err := tx.ExecContext(ctx, "UPDATE users SET role = $1 WHERE id = $2", role, user); err != nil {
			return err
		}
		return Audit(ctx, tx, p.users.now(), user, "login", name, "OIDC")
	})
	if err != nil {
		return "", err
	}
	return p.users.session(ctx, user, sessionLife)
}

// known is a provider's user here, who is made where that one comes for the first time.
func (p *Provider) known(ctx context.Context, tx *sql.Tx, name, email, subject string) (id int64, role Role, err error) {
	disabled := false
	err = tx.QueryRowContext(ctx, "SELECT id, role, disabled FROM users WHERE subject = $1", subject).Scan(&id, &role, &disabled)
	if errors.Is(err, sql.ErrNoRows) {
		id, err = p.create(ctx, tx, name, email, subject)
		return id, Viewer, err
	}
	if err == nil && disabled {
		err = ErrDenied
	}
	return id, role, err
}

// create makes a user; where the name is another's, the subject makes it this one's.
func (p *Provider) create(ctx context.Context, tx *sql.Tx, name, email, subject string) (id int64, err error) {
	for _, n := range []string{name, name + "@" + strings.Map(allowed, p.of.Issuer), strings.Map(allowed, subject)} {
		err = tx.QueryRowContext(ctx, "INSERT INTO users (name, email, role, subject, created) VALUES ($1, $2, 'viewer', $3, $4) ON CONFLICT (name) DO NOTHING RETURNING id",
			n, email, subject, db.Milli(p.users.now())).Scan(&id)
		if !errors.Is(err, sql.ErrNoRows) {
			return id, err
		}
	}
	return 0, ErrName
}

// name is what a provider's user is called here.
func (p *Provider) name(claims map[string]any, subject string) string {
	for _, claim := range []string{"preferred_username", "email", "name"} {
		if n := strings.Map(allowed, text(claims, claim)); validName(n) {
			return n
		}
	}
	n := strings.Map(allowed, subject)
	return n[:min(len(n), 64)]
}

// allowed is a character of a name, or -1.
func allowed(r rune) rune {
	if strings.ContainsRune(nameCharacters, r) {
		return r
	}
	return -1
}

func text(claims map[string]any, name string) string {
	s, _ := claims[name].(string)
	return s
}

// role is what the provider's groups make of a user.
func (p *Provider) role(claims map[string]any) Role {
	list, _ := claims[p.of.Claim].([]any)
	in := func(names []string) bool {
		return slices.ContainsFunc(list, func(g any) bool { s, ok := g.(string); return ok && slices.Contains(names, s) })
	}
	switch {
	case in(p.of.Admins):
		return Admin
	case in(p.of.Triagers):
		return Triager
	}
	return Viewer
}
