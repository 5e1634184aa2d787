// Package dbtest has the tests of a package run over each database that the service knows: SQLite, then PostgreSQL, of which it
// starts a server of its own.
package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/backsight/backsight/service/db"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// server is the variable that has the URL of a server, while tests run over PostgreSQL; must is the one that says that PostgreSQL
// must be there, as in CI.
const server, must = "BACKSIGHT_TEST_POSTGRES", "BACKSIGHT_SERVERS"

// Run runs the tests of a package over SQLite, and then once more, in a process of its own, over PostgreSQL. It is what TestMain
// exits with.
func Run(m *testing.M) int {
	code := m.Run()
	if code != 0 || Postgres() || fuzzes() {
		return code
	}
	p, err := Start(nil)
	if errors.Is(err, ErrNone) && os.Getenv(must) == "" {
		fmt.Println("no PostgreSQL on this machine: these tests ran over SQLite alone")
		return code
	}
	if err == nil {
		err = errors.Join(again(p.URL("postgres")), p.Stop())
	}
	if err != nil {
		fmt.Println("FAIL: over PostgreSQL:", err)
		return 1
	}
	return 0
}

// fuzzes tells whether this is a fuzzer, or a process of one.
func fuzzes() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != "" || slices.Contains(os.Args, "-test.fuzzworker")
}

// again runs this program's tests over a server.
func again(url string) error {
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool {
		return strings.HasPrefix(a, "-test.testlogfile") || strings.HasPrefix(a, "-test.coverprofile") || strings.HasPrefix(a, "-test.gocoverdir")
	})
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(cmd.Environ(), server+"="+url)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// Postgres tells whether this process's tests run over PostgreSQL.
func Postgres() bool { return os.Getenv(server) != "" }

// Source is what a new, empty database is opened by: a path in a folder of the test, or a URL.
func Source(t testing.TB) string {
	t.Helper()
	if !Postgres() {
		return filepath.Join(t.TempDir(), "x.db")
	}
	url, err := Create(t.Context(), os.Getenv(server))
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// Open opens a new database, which the test's end closes.
func Open(t testing.TB) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), Source(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// joined makes texts of rows one, as SQLite does, for tests.
const joined = `CREATE AGGREGATE group_concat(TEXT) (sfunc = textcat_comma, stype = TEXT)`

// connect is the database of a URL.
func connect(url string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config), nil
}

// Create makes a new database on the server of a URL, and returns the URL of that. It has group_concat, which tests ask with.
func Create(ctx context.Context, of string) (string, error) {
	d, err := connect(of)
	if err != nil {
		return "", err
	}
	defer d.Close()
	var n int64
	if _, err := d.ExecContext(ctx, "CREATE SEQUENCE IF NOT EXISTS made"); err != nil {
		return "", err
	}
	if err := d.QueryRowContext(ctx, "SELECT nextval('made')").Scan(&n); err != nil {
		return "", err
	}
	name := fmt.Sprint("test", n)
	if _, err := d.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	url := strings.Replace(of, "/postgres?", "/"+name+"?", 1)
	own, err := connect(url)
	if err != nil {
		return "", err
	}
	defer own.Close()
	for _, s := range []string{
		"CREATE FUNCTION textcat_comma(TEXT, TEXT) RETURNS TEXT AS 'SELECT CASE WHEN $1 IS NULL THEN $2 ELSE $1 || '','' || $2 END' LANGUAGE sql",
		"CREATE FUNCTION textcat_by(TEXT, TEXT, TEXT) RETURNS TEXT AS 'SELECT CASE WHEN $1 IS NULL THEN $2 ELSE $1 || $3 || $2 END' LANGUAGE sql",
		joined, "CREATE AGGREGATE group_concat(TEXT, TEXT) (sfunc = textcat_by, stype = TEXT)",
	} {
		if _, err := own.ExecContext(ctx, s); err != nil {
			return "", err
		}
	}
	return url, nil
}

// ErrNone says that PostgreSQL is not installed.
var ErrNone = errors.New("no PostgreSQL: apt-get install postgresql")

// Server is a PostgreSQL server of a test.
type Server struct {
	bin, dir string
	port     int
	as       *syscall.Credential
}

// Start makes and starts a server in a folder of its own, with more settings ("name=value"). What it has survives a kill, but no
// loss of power, unless a setting says so. As root it runs as another user, since PostgreSQL refuses root.
func Start(settings []string) (*Server, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return nil, errors.Join(ErrNone, err)
	}
	s := &Server{bin: filepath.Dir(found[len(found)-1])}
	if s.dir, err = os.MkdirTemp("", "backsight-postgres-"); err != nil {
		return nil, err
	}
	if err = s.unprivileged(); err == nil {
		err = s.Run("initdb", "-D", s.dir+"/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
	}
	if err == nil {
		s.port, err = free()
	}
	if err == nil {
		text := fmt.Sprintf("port=%d\nlisten_addresses='127.0.0.1'\nunix_socket_directories=''\nfsync=off\nmax_connections=200\n%s\n", s.port, strings.Join(settings, "\n"))
		err = appendTo(s.dir+"/data/postgresql.conf", text)
	}
	if err == nil {
		err = s.Begin()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// unprivileged finds whom the server runs as.
func (s *Server) unprivileged() error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return err
	}
	uid, errU := strconv.ParseUint(u.Uid, 10, 32)
	gid, errG := strconv.ParseUint(u.Gid, 10, 32)
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return errors.Join(errU, errG, os.Chown(s.dir, int(uid), int(gid)))
}

// Run runs a program of PostgreSQL, such as pg_dump, in the server's folder.
func (s *Server) Run(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	out, err := os.Create(filepath.Join(s.dir, name+".log"))
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		b, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w: %s", name, err, b)
	}
	return nil
}

// Begin starts the server, after Halt.
func (s *Server) Begin() error {
	return s.Run("pg_ctl", "-D", s.dir+"/data", "-l", s.dir+"/log", "-w", "-t", "30", "start")
}

// Halt ends the server as a crash does ("immediate"), or as an operator ("fast").
func (s *Server) Halt(mode string) error {
	return s.Run("pg_ctl", "-D", s.dir+"/data", "-w", "-m", mode, "stop")
}

// Stop ends the server, and removes what it had.
func (s *Server) Stop() error { return errors.Join(s.Halt("immediate"), os.RemoveAll(s.dir)) }

// PID is that of the server's first process, whose children are all others, 0 where it does not run.
func (s *Server) PID() (pid int) {
	b, err := os.ReadFile(s.dir + "/data/postmaster.pid")
	if err == nil {
		_, err = fmt.Sscan(string(b), &pid)
	}
	if err != nil {
		return 0
	}
	return pid
}

// URL is that of a database.
func (s *Server) URL(name string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, name)
}

// For is a server that the end of a test ends. Without PostgreSQL the test is left out, but where it must be there.
func For(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := Start(settings)
	if errors.Is(err, ErrNone) && os.Getenv(must) == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}
