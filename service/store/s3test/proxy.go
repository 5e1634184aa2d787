package s3test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Fault is what a Proxy does to requests.
type Fault int32

// Faults of an S3 server.
const (
	None     Fault = iota
	FailOnce       // answers 500, for once
	Fail           // answers 500
	Lose           // has no object that is read, whatever was written
	Cut            // ends an object that is read half way
	Late           // answers after Lateness
	Never          // answers when the client has gone
)

// Lateness is how long answers take that are Late.
const Lateness = 400 * time.Millisecond

// Proxy stands between a client and a server.
type Proxy struct {
	server *httptest.Server
	fault  atomic.Int32
}

// Set has the proxy do something to all requests that come.
func (p *Proxy) Set(f Fault) { p.fault.Store(int32(f)) }

// URL is that of a bucket.
func (p *Proxy) URL(bucket string) string {
	return URL(strings.TrimPrefix(p.server.URL, "http://"), bucket)
}

// Before is a proxy before a server, which the end of a test ends.
func Before(t testing.TB, s *Server) *Proxy {
	p := &Proxy{}
	through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: s.Address()})
		r.Out.Host = r.In.Host // the signature is of the name that was asked
	}, ModifyResponse: p.cut}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { _ = recover() }() // what ReverseProxy cuts an answer short by
		reads := r.Method == http.MethodGet && strings.Count(strings.Trim(r.URL.Path, "/"), "/") > 0
		switch f := Fault(p.fault.Load()); {
		case f == FailOnce && p.fault.CompareAndSwap(int32(f), int32(None)), f == Fail:
			http.Error(w, "", http.StatusInternalServerError)
		case f == Lose && reads:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
		case f == Never:
			_, _ = io.Copy(io.Discard, r.Body) // the server sees the client go only then
			<-r.Context().Done()
		case f == Late:
			time.Sleep(Lateness)
			through.ServeHTTP(w, r)
		default:
			through.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(p.server.Close)
	return p
}

func (p *Proxy) cut(r *http.Response) error {
	if Fault(p.fault.Load()) == Cut && r.Request.Method == http.MethodGet {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(r.Body, r.ContentLength/2), failing{}), r.Body}
	}
	return nil
}

// failing is a connection that ends.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
