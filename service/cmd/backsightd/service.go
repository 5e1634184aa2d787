package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/service/binaries"
	"github.com/backsight/backsight/service/child"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/intake"
	"github.com/backsight/backsight/service/store"
	"github.com/backsight/backsight/service/tracing"
	"github.com/backsight/backsight/service/worker"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/net/netutil"
)

// firstProject is the project that a new database has.
const firstProject = "default"

// service is all that runs.
type service struct {
	config   *config
	log      *slog.Logger
	metrics  *metrics
	db       *db.DB
	store    store.Store
	workers  *worker.Workers
	inbox    *inbox.Inbox
	binaries *binaries.Folder
	spools   *intake.Spools
	intake   *intake.Server
	tracer   trace.Tracer
	node     string    // its name among others
	key      inbox.Key // of the first project
	closers  []func() error
}

// open opens all of it. What was opened is closed where it fails.
func open(ctx context.Context, c *config, stderr io.Writer) (s *service, err error) {
	s = &service{config: c, log: logger(c, stderr)}
	s.metrics = newMetrics(s.waiting)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for _, dir := range []string{"", "bodies", "binaries", "partial", "sysroot", "temp"} {
		if err := store.MakeDir(c.path(dir), c.data); err != nil {
			return s, err
		}
	}
	if err := s.openShared(ctx); err != nil {
		return s, err
	}
	if err := s.trace(ctx); err != nil {
		return s, err
	}
	if err := clean(c.path("temp")); err != nil {
		return s, err
	}
	if s.key, err = s.first(ctx); err != nil {
		return s, err
	}
	return s, s.start(ctx)
}

// trace begins to tell a collector what is done, where there is one.
func (s *service) trace(ctx context.Context) error {
	s.tracer = tracing.None()
	if s.config.told.otlp == "" {
		return nil
	}
	tracer, stop, err := tracing.Start(ctx, s.config.told.otlp, backsight.Version(), s.node)
	if err != nil {
		return fmt.Errorf("--otlp: %w", err)
	}
	s.tracer = tracer
	s.closers = append(s.closers, func() error {
		if err := stop(); err != nil {
			s.log.Warn("traces", "error", err) // what is lost of them is no fault of the service
		}
		return nil
	})
	return nil
}

func logger(c *config, w io.Writer) *slog.Logger {
	if c.told.logs == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// clean removes what processes before this one left.
func clean(dir string) error {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		err = errors.Join(err, os.RemoveAll(dir+"/"+e.Name()))
	}
	return err
}

// readSecret is the key in a file, nil for no file.
func readSecret(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("%s: no key of 64 hexadecimal digits", path)
	}
	return key, nil
}

// first is the first project's first key. A new database gets both.
func (s *service) first(ctx context.Context) (key inbox.Key, err error) {
	const read = `SELECT k.key, k.project_id FROM keys k JOIN projects p ON p.id = k.project_id WHERE p.name = $1 AND k.revoked = 0
		ORDER BY k.created LIMIT 1`
	err = s.db.Read.QueryRowContext(ctx, read, firstProject).Scan(&key.Key, &key.Project)
	if !errors.Is(err, sql.ErrNoRows) {
		return key, err
	}
	b := make([]byte, 16)
	if _, err = rand.Read(b); err != nil {
		return key, err
	}
	key.Key = hex.EncodeToString(b)
	now := db.Milli(time.Now())
	return key, s.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, read, firstProject).Scan(&key.Key, &key.Project); !errors.Is(err, sql.ErrNoRows) {
			return err // another node was faster
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO projects (name, created) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", firstProject, now); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, "SELECT id FROM projects WHERE name = $1", firstProject).Scan(&key.Project); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO keys (key, project_id, note, created) VALUES ($1, $2, 'the first one', $3)", key.Key, key.Project, now)
		return err
	})
}

// start starts what works behind the handlers.
func (s *service) start(ctx context.Context) (err error) {
	c := s.config
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	dir := child.Binaries{Dir: c.path("binaries")}
	runner := &child.Runner{Exe: exe, Temp: c.path("temp"), Binaries: dir, Sysroots: c.roots(), Memory: c.limits.childMemory, Time: c.limits.childTime}
	s.binaries = &binaries.Folder{DB: s.db, Dir: dir, Most: c.limits.binary, Room: c.limits.copies}
	s.binaries.Remote, _ = s.store.(binaries.Remote) // the disk is of one node
	s.workers, err = worker.New(worker.Config{DB: s.db, Store: s.store, Runner: runner, Engine: backsight.Version(), Workers: c.workers, Log: s.log,
		Node: s.node, Fill: s.binaries.Fill, Observed: s.metrics.backtraced, Tracer: s.tracer})
	if err != nil {
		return err
	}
	s.binaries.Came = s.workers.Came
	if err := s.workers.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	s.closers = append(s.closers, s.stopWorkers)
	s.inbox = inbox.New(s.db, tracing.Store{Store: s.store, Tracer: s.tracer}, s.workers)
	s.closers = append(s.closers, func() error { s.inbox.Close(); return nil })
	s.spools = intake.NewSpools(c.path("temp"), c.limits.memory/3, c.limits.packed, c.limits.raw)
	offers, err := intake.NewOffers(s.db)
	if err != nil {
		return err
	}
	partial, err := intake.NewPartial(s.db, c.path("partial"))
	if err != nil {
		return err
	}
	pieces, err := intake.NewPieces(c.path("pieces"), 2*c.limits.binary)
	if err != nil {
		return err
	}
	consoles := intake.NewConsoles(intake.TakeLog(s.inbox, s.spools), s.log)
	s.closers = append(s.closers, consoles.Close)
	s.intake = &intake.Server{DB: s.db, Inbox: s.inbox, Spools: s.spools, Keys: intake.NewKeys(s.db), Partial: partial, Pieces: pieces, Offers: offers, Consoles: consoles,
		Binaries: s.binaries, Metrics: s.metrics.intake(), Log: s.log, Tracer: s.tracer}
	return nil
}

func (s *service) stopWorkers() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.workers.Stop(ctx)
}

// close ends all, what was started last first.
func (s *service) close() (err error) {
	for i := len(s.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, s.closers[i]())
	}
	s.closers = nil
	return err
}

// serve serves until ctx ends. fill, if there is one, fills the service before.
func serve(ctx context.Context, c *config, stdout, stderr io.Writer, fill func(context.Context, *service) error) error {
	debug.SetMemoryLimit(c.limits.memory)
	s, err := open(ctx, c, stderr)
	if err != nil {
		return err
	}
	pages, err := s.pages(ctx, stdout)
	if err == nil && fill != nil {
		err = fill(ctx, s)
	}
	if err == nil {
		err = s.listen(ctx, pages, stdout)
	}
	return errors.Join(err, s.close())
}

func (s *service) listen(ctx context.Context, pages http.Handler, stdout io.Writer) error {
	l, err := net.Listen("tcp", s.config.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.handler(pages), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	working, stop := context.WithCancel(ctx)
	defer stop()
	if err := s.keep(working); err != nil {
		return errors.Join(err, l.Close())
	}
	go func() {
		<-working.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if server.Shutdown(ending) != nil {
			_ = server.Close() // who still sends is not acknowledged
		}
	}()
	fmt.Fprintf(stdout, "Devices send to %s/api/v1/captures?key=%s\n", s.config.url, s.key.Key)
	s.log.Info("serving", "address", l.Addr().String())
	l = netutil.LimitListener(l, s.config.limits.connections)
	if s.config.tls.cert != "" {
		err = server.ServeTLS(l, s.config.tls.cert, s.config.tls.key)
	} else {
		err = server.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// backup copies the database of a service that may be running.
func backup(ctx context.Context, c *config, to string) error {
	if c.shared.database != "" {
		return errors.New("PostgreSQL is copied by pg_dump, S3 by its own means: service/README.md, \"Backup\"")
	}
	return db.Copy(ctx, c.path("backsight.db"), to)
}
