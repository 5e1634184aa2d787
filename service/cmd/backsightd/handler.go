package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/backsight/backsight/service/api"
	"github.com/backsight/backsight/service/binaries"
	"github.com/backsight/backsight/service/groups"
	"github.com/backsight/backsight/service/retention"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// isIntake tells what devices and build machines ask for from what browsers do.
func isIntake(path string) bool {
	for _, p := range []string{"/api/v1/", "/api/v0/", "/v1/", "/submit", "/api/0/organizations/", "/api/0/projects/"} {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	rest, ok := strings.CutPrefix(path, "/api/") // Sentry's: /api/PROJECT/minidump/
	_, what, _ := strings.Cut(rest, "/")
	return ok && (strings.HasPrefix(what, "minidump") || strings.HasPrefix(what, "envelope"))
}

// handler has all that is served.
func (s *service) handler(pages http.Handler) http.Handler {
	devices := s.intake.Handler()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	if s.config.shared.role == roleWorker {
		return mux
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if isIntake(r.URL.Path) {
			devices.ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	})
	return mux
}

// ready tells whether the database answers and the disk has room.
func (s *service) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	var one int
	err := s.db.Read.QueryRowContext(ctx, "SELECT 1").Scan(&one)
	if disk, ok := s.store.(interface{ Room() error }); ok && err == nil {
		err = disk.Room()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ready\n")
}

// keep does what is done now and then, until ctx ends.
func (s *service) keep(ctx context.Context) error {
	if s.config.syslog != "" {
		conn, err := net.ListenPacket("udp", s.config.syslog)
		if err != nil {
			return err
		}
		go s.every(ctx, time.Second, "syslog", func(ctx context.Context) error { return s.intake.Syslog(ctx, conn, s.key) })
	}
	if s.config.watch != "" {
		go s.intake.Watch(ctx, s.config.watch, s.key, 5*time.Second)
	}
	if s.config.debuginfod != "" {
		servers, err := binaries.NewServers(s.config.debuginfod, s.binaries, s.log)
		if err != nil {
			return err
		}
		go s.every(ctx, time.Minute, "debuginfod", s.only("debuginfod", servers.Ask))
	}
	go s.every(ctx, 10*time.Second, "metrics", s.gauge)
	teller := api.Teller{DB: s.db, Base: s.config.url, Now: time.Now,
		Mail: api.Mail{Host: s.config.mail.host, User: s.config.mail.user, Password: s.config.mail.password, From: s.config.mail.from}}
	go s.every(ctx, 10*time.Second, "notifications", s.only("notifications", teller.Tell))
	go s.every(ctx, time.Hour, "retention", s.only("retention", func(ctx context.Context) error { return retention.Expire(ctx, s.db, time.Now()) }))
	go s.every(ctx, s.compacts(), "compaction", s.only("compaction", func(ctx context.Context) error { return retention.Compact(ctx, s.db, s.store) }))
	go s.every(ctx, time.Hour, "partial uploads", func(ctx context.Context) error {
		return errors.Join(s.intake.Partial.Sweep(ctx), s.intake.Pieces.Sweep())
	})
	go s.every(ctx, time.Hour, "spikes", s.only("spikes", func(ctx context.Context) error {
		return s.db.Tx(ctx, func(tx *sql.Tx) error { return groups.Spikes(ctx, tx, time.Now()) })
	}))
	return nil
}

// only is a task that one node is enough for.
func (s *service) only(task string, do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return s.db.Only(ctx, task, do) }
}

// compacts is how often room is given back: a bucket is listed as a whole for that.
func (s *service) compacts() time.Duration {
	if s.db.Postgres() {
		return 24 * time.Hour
	}
	return time.Hour
}

// every does something at once and then again and again.
func (s *service) every(ctx context.Context, pause time.Duration, what string, do func(context.Context) error) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			s.log.Error(what, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
