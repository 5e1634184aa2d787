package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/service/auth"
	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/web"
	"riverqueue.com/riverui"
)

// pages are what browsers see. Where there is no user yet, the link that makes the first one is told.
func (s *service) pages(ctx context.Context, stdout io.Writer) (http.Handler, error) {
	users := auth.NewUsers(s.db, time.Now)
	link, err := users.FirstLink(ctx)
	if err != nil {
		return nil, err
	}
	if link != "" {
		fmt.Fprintf(stdout, "The first admin begins at %s%s\n", s.config.url, link)
	}
	var provider *auth.Provider
	if o := &s.config.oidc; o.issuer != "" {
		provider, err = auth.NewProvider(ctx, users, auth.OIDC{Issuer: o.issuer, ClientID: o.client, ClientSecret: o.secret, Claim: o.claim,
			Admins: list(o.admins), Triagers: list(o.triagers)}, s.config.url)
		if err != nil {
			return nil, err
		}
	}
	jobs, err := s.jobs(ctx)
	if err != nil {
		return nil, err
	}
	return web.New(web.Config{DB: s.db, Users: users, OIDC: provider, Bodies: s, Receive: s.receive, Reprocess: s.workers.Reprocess, Regroup: s.workers.Regroup,
		Binary: s.binaries.File, Queue: jobs, Version: backsight.Version(), BaseURL: s.config.url, Logger: s.log, Now: time.Now})
}

// list are the words between commas.
func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// jobs is River's page.
func (s *service) jobs(ctx context.Context) (http.Handler, error) {
	h, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: riverui.NewEndpoints(s.workers.Client, &riverui.EndpointsOpts[*sql.Tx]{}), Logger: s.log, Prefix: "/jobs"})
	if err != nil {
		return nil, err
	}
	return h, h.Start(ctx)
}

// Body is a capture's body without packing, for whoever downloads it.
func (s *service) Body(ctx context.Context, capture int64) ([]byte, error) {
	r, err := s.workers.Body(ctx, capture)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(packing.Bounded(r, s.config.limits.raw))
}

// receive takes a capture that the page uploads.
func (s *service) receive(ctx context.Context, project int64, file string, body io.Reader, device, version string) (string, error) {
	sp, err := s.spools.Read(ctx, body, "")
	if err != nil {
		return "", err
	}
	defer sp.Close()
	return s.inbox.Add(&inbox.Arrival{Key: inbox.Key{Key: "page", Project: project}, Kind: "upload", File: file, Device: device, Version: version,
		Body: sp.Body(), Packing: sp.Packing, Size: sp.Size})
}
