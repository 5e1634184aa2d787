// Package worker backtraces captures: River's jobs, each done by a child process, each result written with its group, its words
// and the end of the job in one transaction.
package worker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/backsight/backsight/service/child"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/store"
	"github.com/backsight/backsight/service/tracing"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/trace"
)

// Queues: what has just come, and what is done again behind that.
const live, again = river.QueueDefault, "again"

// maxDeaths is after how many deaths of its child a capture is put aside.
const maxDeaths = 3

// maxAttempts is of a job: what fails is not its fault.
const maxAttempts = 1000

// jobTime bounds a job, rescue when a job of a process that went is another's. River takes an hour where it is not told.
const jobTime, rescue = 55 * time.Second, time.Minute

// Args are a job's.
type Args struct {
	Capture int64 `json:"capture"`
	// Again: there may be a result, which this one replaces.
	Again bool `json:"again,omitempty"`
}

// Kind implements river.JobArgs.
func (Args) Kind() string { return "backtrace" }

// Config is what Workers need.
type Config struct {
	DB       *db.DB
	Store    store.Store
	Runner   *child.Runner
	Node     string // its own name among those who share the database, the same when it starts again
	Engine   string // the version that results are made by
	Workers  int    // captures at once; 0: results are others' work
	Log      *slog.Logger
	Fill     func(ctx context.Context, ids []string) (fetched int, err error) // fetches binaries of build IDs that others have; nil: nobody has
	Observed func(took time.Duration, err error)                              // of each capture, may be nil
	Tracer   trace.Tracer                                                     // nil: none
}

// Workers do jobs.
type Workers struct {
	Config
	Client *river.Client[*sql.Tx]
	end    func() // of live
}

// New makes Workers. Start has them begin.
func New(c Config) (*Workers, error) {
	if c.Tracer == nil {
		c.Tracer = tracing.None()
	}
	w := &Workers{Config: c, end: func() {}}
	kinds := river.NewWorkers()
	if err := errors.Join(river.AddWorkerSafely(kinds, &backtracer{w: w}), river.AddWorkerSafely(kinds, &regrouper{w: w})); err != nil {
		return nil, err
	}
	config := &river.Config{ID: c.Node, Workers: kinds, Logger: slog.New(quiet{c.Log.Handler()}), JobTimeout: jobTime, RescueStuckJobsAfter: rescue, MaxAttempts: maxAttempts,
		FetchCooldown: 20 * time.Millisecond, FetchPollInterval: 200 * time.Millisecond, RetryPolicy: soon{}, CompletedJobRetentionPeriod: time.Hour,
		SoftStopTimeout: 5 * time.Second}
	if c.Workers > 0 {
		config.Queues = map[string]river.QueueConfig{live: {MaxWorkers: c.Workers}, again: {MaxWorkers: max(1, c.Workers/2)}}
	}
	client, err := river.NewClient(c.DB.Driver(), config)
	w.Client = client
	return w, err
}

// quiet leaves out what River says of itself while all is well.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// soon tries again within a minute: what fails is not the capture's fault.
type soon struct{}

// NextRetry implements river.ClientRetryPolicy.
func (soon) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(min(time.Minute, time.Second<<min(6, len(job.Errors))))
}

// Start begins. The jobs that the process before this one had when it ended begin anew.
func (w *Workers) Start(ctx context.Context) error {
	if err := w.reclaim(ctx); err != nil || w.Workers == 0 {
		return err
	}
	if w.DB.Postgres() {
		living, end := context.WithCancel(ctx)
		w.end = end
		go w.alive(living)
	}
	return w.Client.Start(ctx)
}

// Stop ends when the jobs that are worked on have ended, or ctx has; they begin anew then.
func (w *Workers) Stop(ctx context.Context) error {
	if w.Workers == 0 {
		return nil
	}
	defer w.end()
	return w.Client.Stop(ctx)
}

// Insert implements inbox.Queue.
func (w *Workers) Insert(ctx context.Context, tx *sql.Tx, captures []int64) error {
	return w.insert(ctx, tx, captures, false)
}

func (w *Workers) insert(ctx context.Context, tx *sql.Tx, captures []int64, redo bool) error {
	jobs := make([]river.InsertManyParams, len(captures))
	for i, id := range captures {
		jobs[i] = river.InsertManyParams{Args: Args{Capture: id, Again: redo}}
		if redo {
			jobs[i].InsertOpts = &river.InsertOpts{Queue: again, Priority: 4}
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	_, err := w.Client.InsertManyFastTx(ctx, tx, jobs)
	return err
}

// backtracer is the worker that River calls.
type backtracer struct {
	river.WorkerDefaults[Args]
	w *Workers
}

// Work implements river.Worker.
func (b *backtracer) Work(ctx context.Context, job *river.Job[Args]) error {
	began := time.Now()
	ctx, span := b.w.Tracer.Start(ctx, "job")
	err := b.w.work(ctx, job, began)
	tracing.End(span, err)
	if b.w.Observed != nil {
		b.w.Observed(time.Since(began), err)
	}
	return err
}

func (w *Workers) work(ctx context.Context, job *river.Job[Args], began time.Time) error {
	c, err := w.capture(ctx, job.Args.Capture)
	if err != nil || c == nil || c.done && !job.Args.Again || !c.kept {
		return err // a nil error ends the job: there is nothing to do
	}
	trace.SpanFromContext(ctx).SetAttributes(tracing.Capture(c.report))
	result, err := w.run(ctx, c)
	var died *child.Died
	switch {
	case errors.As(err, &died):
		if deaths, err := w.died(ctx, c, died); err != nil {
			return err
		} else if deaths < maxDeaths {
			return river.JobSnooze(time.Duration(deaths) * time.Second)
		}
		result = child.Result{JSON: child.FailedJSON(c.name(), fmt.Sprintf("put aside after %d attempts: %s", maxDeaths, died.Why))}
		c.aside = died.Why
	case err != nil:
		return err
	}
	return w.DB.Tx(ctx, func(tx *sql.Tx) error {
		if err := w.write(ctx, tx, c, &result, began); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[riverdriver.Driver[*sql.Tx]](ctx, tx, job)
		return err
	})
}

// maxFills bounds how often a capture is backtraced anew since others had more of its binaries than this node.
const maxFills = 3

// run has a child backtrace a capture, by all binaries of its modules that any node was given: so each node makes the same of it.
func (w *Workers) run(ctx context.Context, c *capture) (result child.Result, err error) {
	for range maxFills {
		if result, err = w.once(ctx, c); err != nil || w.Fill == nil {
			return result, err
		}
		ids, err := named(result.JSON)
		if err != nil {
			return result, err
		}
		if n, err := w.Fill(ctx, ids); err != nil || n == 0 {
			return result, err
		}
	}
	return result, nil
}

// once has a child backtrace a capture.
func (w *Workers) once(ctx context.Context, c *capture) (child.Result, error) {
	body, err := w.body(ctx, c.id)
	if errors.Is(err, fs.ErrNotExist) {
		body, err = w.body(ctx, c.id) // it was moved between two looks
	}
	if err != nil {
		return child.Result{}, err
	}
	defer body.Close()
	ctx, span := w.Tracer.Start(ctx, "child")
	result, err := w.Runner.Run(ctx, body, c.name())
	tracing.End(span, err)
	return result, err
}

// died counts a death of a capture's child.
func (w *Workers) died(ctx context.Context, c *capture, why *child.Died) (deaths int, err error) {
	err = w.DB.Tx(ctx, func(tx *sql.Tx) error {
		const count = "UPDATE captures SET deaths = deaths + 1, reason = $2 WHERE id = $1 RETURNING deaths"
		return tx.QueryRowContext(ctx, count, c.id, why.Why).Scan(&deaths)
	})
	w.Log.Warn("backtrace died", "capture", c.report, "deaths", deaths, "why", why.Why)
	return deaths, err
}

// Body is a capture's, without packing. The error is fs.ErrNotExist where retention took it.
func (w *Workers) Body(ctx context.Context, capture int64) (io.ReadCloser, error) {
	body, err := w.body(ctx, capture)
	if errors.Is(err, fs.ErrNotExist) {
		return w.body(ctx, capture)
	}
	return body, err
}

func (w *Workers) body(ctx context.Context, capture int64) (io.ReadCloser, error) {
	const find = "SELECT b.ref, b.packing FROM captures c JOIN blobs b ON b.sha256 = c.sha256 WHERE c.id = $1 AND c.kept = 1"
	var at, form string
	err := w.DB.Read.QueryRowContext(ctx, find, capture).Scan(&at, &form)
	if errors.Is(err, sql.ErrNoRows) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("capture %d: %w", capture, err)
	}
	ref, err := store.ParseRef(at)
	if err != nil {
		return nil, err
	}
	_, span := w.Tracer.Start(ctx, "store open")
	stored, err := w.Store.Open(ref)
	tracing.End(span, err)
	if err != nil {
		return nil, err
	}
	r, err := packing.Reader(form, stored)
	if err != nil {
		return nil, errors.Join(err, stored.Close())
	}
	return unpacked{r, stored}, nil
}

// unpacked closes both.
type unpacked struct {
	io.ReadCloser
	stored io.Closer
}

func (u unpacked) Close() error { return errors.Join(u.ReadCloser.Close(), u.stored.Close()) }

// chance is whether one of n in all is among k.
func chance(k, n int64) bool { return n > 0 && rand.Int64N(n) < k }
