package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
)

// Connections of a process to PostgreSQL: of those that write, of those that read, of the queue, and one that listens for jobs.
const pgWriters, pgReaders, pgQueue = 4, 6, 8

// turn and migrating are the numbers of PostgreSQL's advisory locks that the service takes; tasks goes before those of Only.
const turn, migrating, tasks = 0x6273_0001, 0x6273_0002, 0x6273

// isPostgres tells a URL of PostgreSQL from the path of a file.
func isPostgres(source string) bool {
	return strings.HasPrefix(source, "postgres://") || strings.HasPrefix(source, "postgresql://")
}

// openPostgres opens the database that a URL names, for any number of processes.
func openPostgres(ctx context.Context, url string) (d *DB, err error) {
	d = &DB{postgres: true}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if d.Write, err = pgPool(url, pgWriters, false); err != nil {
		return d, err
	}
	if d.Read, err = pgPool(url, pgReaders, true); err != nil {
		return d, err
	}
	if d.queue, err = pgPool(url, pgQueue, false); err != nil {
		return d, err
	}
	listening, err := pgxpool.ParseConfig(url)
	if err != nil {
		return d, err
	}
	listening.MaxConns = 1
	if d.listen, err = pgxpool.NewWithConfig(ctx, listening); err != nil {
		return d, err
	}
	return d, alone(ctx, d.Write, func() error {
		return migrateAll(ctx, d.Write, riverdatabasesql.New(d.Write), goose.DialectPostgres)
	})
}

// pgPool opens so many connections, at the most. A commit is durable when it returns, whatever the server's default is; a process
// that is lost within a transaction holds others up for no longer than these times (postgresql.org/docs/15/runtime-config-client.html).
func pgPool(url string, most int, reads bool) (*sql.DB, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return watched{conn}, nil
	}
	for name, value := range map[string]string{
		"application_name":                    "backsightd",
		"synchronous_commit":                  "on",
		"default_transaction_isolation":       "read committed", // Tx reads what was committed when its turn came, not when it began to wait
		"idle_in_transaction_session_timeout": "15s",
		"tcp_keepalives_idle":                 "10",
		"tcp_keepalives_interval":             "5",
		"tcp_keepalives_count":                "3",
		"tcp_user_timeout":                    "30000",
	} {
		c.RuntimeParams[name] = value
	}
	if reads {
		c.RuntimeParams["default_transaction_read_only"] = "on"
		// How much a search finds depends on its words: a plan that is kept for any word walks all captures (a million: seconds).
		c.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
		c.RuntimeParams["jit"] = "off" // compiling takes longer than what pages ask
	}
	db := sql.OpenDB(plainConnector{stdlib.GetConnector(*c)})
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, nil
}

// plainConnector makes connections that take any text.
type plainConnector struct{ driver.Connector }

// Connect implements driver.Connector.
func (p plainConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	own, ok := c.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T is no connection of pgx", c), c.Close())
	}
	return plainConn{own}, nil
}

// plainConn takes texts that devices have a part in: PostgreSQL refuses what is no UTF-8, and U+0000
// (postgresql.org/docs/15/datatype-character.html), which SQLite takes. They come in as U+FFFD.
type plainConn struct{ *stdlib.Conn }

// CheckNamedValue implements driver.NamedValueChecker.
func (p plainConn) CheckNamedValue(v *driver.NamedValue) error {
	if s, ok := v.Value.(string); ok {
		v.Value = PlainText(s)
	}
	return p.Conn.CheckNamedValue(v)
}

// PlainText is a text as PostgreSQL takes it.
func PlainText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// alone runs f while no other process does: two that start at once make the tables once.
func alone(ctx context.Context, pool *sql.DB, f func() error) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err = conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", migrating); err != nil {
		return err
	}
	err = f()
	_, unlocked := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrating)
	return errors.Join(err, unlocked)
}

// Only does a task that one process is enough for, unless another one is at it: whoever comes first. On SQLite there is no other.
func (d *DB) Only(ctx context.Context, task string, do func(context.Context) error) error {
	if !d.postgres {
		return do(ctx)
	}
	conn, err := d.queue.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var mine bool
	if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1, hashtext($2))", tasks, task).Scan(&mine); err != nil || !mine {
		return err
	}
	err = do(ctx)
	_, unlocked := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1, hashtext($2))", tasks, task)
	return errors.Join(err, unlocked)
}

// ErrDown says that a connection to the database ended.
var ErrDown = errors.New("the database went away")

// watched is a connection whose end is told from other ends, such as that of a sender's body.
type watched struct{ net.Conn }

// Read implements net.Conn.
func (w watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	return n, down(err)
}

// Write implements net.Conn.
func (w watched) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	return n, down(err)
}

func down(err error) error {
	var timed net.Error
	if err == nil || errors.As(err, &timed) && timed.Timeout() {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDown, err)
}

// Down tells whether an error says that the database cannot be asked now, and may be later: it is away, starts, stops, has no
// connection left, only reads, or was too slow.
func Down(err error) bool {
	var no *pgconn.ConnectError
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// postgresql.org/docs/15/errcodes-appendix.html: connections, resources, an operator's work, read only, a rollback for others
		return pg.Code != diskFull && slices.ContainsFunc([]string{"08", "53", "57", "25006", "25P03", "40"}, func(class string) bool {
			return strings.HasPrefix(pg.Code, class)
		})
	}
	return errors.Is(err, ErrDown) || errors.As(err, &no) || errors.Is(err, driver.ErrBadConn) || pgconn.Timeout(err) || pgconn.SafeToRetry(err) || errors.Is(err, pgconn.ErrConnClosed)
}

// diskFull is PostgreSQL's code for that.
const diskFull = "53100"
