// Package db opens the service's database and brings its tables up to date: one SQLite file that one process has at a time, or
// a PostgreSQL database that any number of processes have.
//
// Statements are such as both understand: numbered parameters ($1, $2), ON CONFLICT, qualified names where a row conflicts. What
// differs is in this package: migrations are translated, and the search table is asked by Matching.
//
//	                 SQLite                     PostgreSQL
//	who writes       one connection             whoever has the lock "turn" until the transaction ends
//	who reads        four connections           six, each of what was committed
//	the queue        the connection that writes connections of its own, and one that listens
//	words            FTS5                       tsvector, a column a text
package db

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
)

// ErrBusy says that another process has the database.
var ErrBusy = errors.New("another process has this database")

// readers bounds connections that only read.
const readers = 4

//go:embed migrations/*.sql
var migrations embed.FS

// DB is an open database. Write has one connection, so a transaction on it waits for the one before; whoever has one must not ask
// Write for another. Read sees what was committed, and refuses to write.
type DB struct {
	Write, Read *sql.DB
	lock        *os.File      // of SQLite
	postgres    bool          // what follows is PostgreSQL's
	queue       *sql.DB       // of River's own statements
	listen      *pgxpool.Pool // tells River of new jobs
}

// Open opens or makes the database of a path (SQLite) or a URL (postgres://…), with all its tables.
func Open(ctx context.Context, source string) (*DB, error) {
	if !isPostgres(source) {
		return openSQLite(ctx, source)
	}
	d, err := openPostgres(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	return d, nil
}

// Postgres tells whether others may have the database at the same time.
func (d *DB) Postgres() bool { return d.postgres }

// Driver is the queue's. Jobs are inserted and completed in transactions of Tx.
func (d *DB) Driver() riverdriver.Driver[*sql.Tx] {
	if d.postgres {
		return riverdatabasesql.NewWithPgxListener(d.queue, d.listen)
	}
	return riversqlite.New(d.Write)
}

func openSQLite(ctx context.Context, path string) (*DB, error) {
	lock, err := Own(ctx, path+".lock")
	if err != nil {
		return nil, err
	}
	d := &DB{lock: lock}
	if d.Write, err = pool(path, 1, "_txlock=immediate"); err == nil {
		err = migrateAll(ctx, d.Write, riversqlite.New(d.Write), goose.DialectSQLite3)
	}
	if err == nil {
		d.Read, err = pool(path, readers, "_pragma=query_only(1)")
	}
	if Full(err) {
		err = fmt.Errorf("the disk is full: %w", err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), d.Close())
	}
	return d, nil
}

// patience is how long the database may be another's: a child of a process that was killed has its files until it is a program of
// its own (execve(2)).
const patience = 2 * time.Second

// Own locks a file until it is closed, or the process ends. The error is ErrBusy where another process has it.
func Own(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("%s: %w", path, ErrBusy), f.Close())
		}
	}
	return f, nil
}

// pool opens so many connections. A commit is on the disk when it returns: synchronous=FULL (sqlite.org/pragma.html, WAL with
// NORMAL may lose the last ones when power goes).
func pool(path string, most int, more string) (*sql.DB, error) {
	const common = "_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)" +
		"&_pragma=cache_size(-16384)&_pragma=journal_size_limit(67108864)"
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+common+"&"+more)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// migrateAll makes the tables of the queue, then ours.
func migrateAll(ctx context.Context, db *sql.DB, driver riverdriver.Driver[*sql.Tx], dialect goose.Dialect) error {
	queue, err := rivermigrate.New(driver, nil)
	if err != nil {
		return err
	}
	if _, err = queue.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	if dialect == goose.DialectPostgres {
		files = translated{files}
	}
	ours, err := goose.NewProvider(dialect, db, files)
	if err != nil {
		return err
	}
	_, err = ours.Up(ctx)
	return err
}

// Close closes the database and lets others have it.
func (d *DB) Close() error {
	var errs []error
	for _, pool := range []*sql.DB{d.Read, d.queue, d.Write} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	if d.listen != nil {
		d.listen.Close()
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	return errors.Join(errs...)
}

// Tx runs f in a transaction that writes, alone: on PostgreSQL, too, it sees all that those before it wrote, and none writes beside
// it. So what counts, groups and keeps need not be thought of twice; whoever writes much, such as the inbox, writes many rows in its
// turn. f's error undoes it.
func (d *DB) Tx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if d.postgres {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", turn); err != nil {
			return err
		}
	}
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Copy writes a copy of what was committed to a database into a file that is not there yet, while a process may have it.
func Copy(ctx context.Context, path, to string) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	from, err := pool(path, 1, "_pragma=cache_size(-2048)") // VACUUM is refused where a connection only reads
	if err != nil {
		return err
	}
	_, err = from.ExecContext(ctx, "VACUUM INTO $1", to)
	return errors.Join(err, from.Close())
}

// Full tells whether an error says that the disk has no room.
func Full(err error) bool {
	const full, noShared = 13, 4874 // SQLITE_FULL, SQLITE_IOERR_SHMSIZE: sqlite.org/rescode.html
	var e *sqlite.Error
	var pg *pgconn.PgError
	return errors.Is(err, unix.ENOSPC) || errors.As(err, &pg) && pg.Code == diskFull || errors.As(err, &e) && (e.Code()&0xff == full || e.Code() == noShared)
}

// Milli is a time as the tables have it.
func Milli(t time.Time) int64 { return t.UnixMilli() }

// Day is the day of a time as the tables have it.
func Day(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }
