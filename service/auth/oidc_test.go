package auth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/backsight/backsight/service/auth"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// provider is an OIDC provider that lets everybody in as who its claims say.
type provider struct {
	*testing.T
	*httptest.Server
	key       *rsa.PrivateKey
	claims    map[string]any
	challenge string
	nonce     string
}

func newProvider(t *testing.T) *provider {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{T: t, key: key, claims: map[string]any{}}
	mux := http.NewServeMux()
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		p.json(w, map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, r *http.Request) {
		p.json(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		p.challenge, p.nonce = r.FormValue("code_challenge"), r.FormValue("nonce")
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?code=c&state="+url.QueryEscape(r.FormValue("state")), http.StatusSeeOther)
	})
	mux.HandleFunc("/token", p.token)
	return p
}

func (p *provider) json(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.Error(err)
	}
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("code") != "c" || r.FormValue("code_verifier") == "" || p.challenge == "" {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: p.key, KeyID: "1"}}, nil)
	if err != nil {
		p.Error(err)
	}
	claims := map[string]any{"iss": p.URL, "sub": "42", "aud": "backsight", "iat": 1767225600, "exp": 1767229200, "nonce": p.nonce}
	for k, v := range p.claims {
		claims[k] = v
	}
	signed, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		p.Error(err)
	}
	p.json(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": signed})
}

// visit lets a browser log in at a service by a provider, and returns its last answer and who it is.
func visit(t *testing.T, s *service, of auth.OIDC) (int, auth.User) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	p, err := auth.NewProvider(t.Context(), s.Users, of, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var who auth.User
	mux.HandleFunc("/login/oidc", p.Begin)
	mux.HandleFunc("/login/oidc/back", p.Finish)
	mux.Handle("/{$}", s.Known(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { who = auth.UserOf(r.Context()) })))
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	answer, err := browser.Get(server.URL + "/login/oidc")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode, who
}

func TestOIDC(t *testing.T) {
	s, p := newService(t), newProvider(t)
	s.first()
	of := auth.OIDC{Issuer: p.URL, ClientID: "backsight", ClientSecret: "s", Claim: "groups", Admins: []string{"ops"}, Triagers: []string{"dev"}}
	for _, c := range []struct {
		claims map[string]any
		code   int
		name   string
		role   auth.Role
	}{
		{map[string]any{"preferred_username": "grace", "groups": []string{"dev"}}, 200, "grace", auth.Triager},
		{map[string]any{"preferred_username": "grace", "groups": []string{"x", "ops"}}, 200, "grace", auth.Admin},
		{map[string]any{"preferred_username": "renamed", "groups": "ops"}, 200, "grace", auth.Viewer},
		{map[string]any{"sub": "43", "email": "a b<c@x.org"}, 200, "abc@x.org", auth.Viewer},
		{map[string]any{"aud": "another"}, 403, "", ""},
		{map[string]any{"nonce": "replayed"}, 403, "", ""},
		{map[string]any{"exp": 1}, 403, "", ""},
		{map[string]any{"iss": "https://other"}, 403, "", ""},
	} {
		p.claims = c.claims
		code, who := visit(t, s, of)
		if code != c.code || who.Name != c.name || who.Role != c.role {
			t.Errorf("%v: %d %+v", c.claims, code, who)
		}
	}
	// The local user of a name stays who that is.
	p.claims = map[string]any{"sub": "44", "preferred_username": "ada"}
	if _, who := visit(t, s, of); who.Name == "ada" || who.Role != auth.Viewer {
		t.Errorf("%+v", who)
	}
}

// Who comes back without having been sent is not let in.
func TestForgedFlow(t *testing.T) {
	s, p := newService(t), newProvider(t)
	provider, err := auth.NewProvider(t.Context(), s.Users, auth.OIDC{Issuer: p.URL, ClientID: "backsight"}, "http://x")
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range []string{"", "a.b.c", "..", "other.b.c"} {
		r := httptest.NewRequest("GET", "/login/oidc/back?state=x&code=c", nil)
		r.AddCookie(&http.Cookie{Name: "backsight_oidc", Value: cookie})
		w := httptest.NewRecorder()
		if provider.Finish(w, r); w.Code != http.StatusForbidden {
			t.Errorf("%q: %d", cookie, w.Code)
		}
	}
}
