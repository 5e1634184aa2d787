package intake

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/packing"
)

// uploadRows is an upload in the database, a row a part. Two senders of the same part are told apart by the row that both would make.
type uploadRows struct {
	db   *db.DB
	name string
}

// maxPart bounds the bytes of a row.
const maxPart = 1 << 20

// row opens an upload in the database.
func (p *Partial) row(ctx context.Context, name string) (unwhole, error) {
	u := &uploadRows{p.db, name}
	if size, err := u.told(ctx); size > 0 || err != nil {
		return u, err
	}
	var n int
	err := p.db.Read.QueryRowContext(ctx, "SELECT count(*) FROM parts WHERE start = 0").Scan(&n)
	if err == nil && n >= maxPartial {
		err = errPartial
	}
	return u, err
}

func (u *uploadRows) told(ctx context.Context) (size int64, err error) {
	err = u.db.Read.QueryRowContext(ctx, "SELECT start + length(body) FROM parts WHERE name = $1 ORDER BY start DESC LIMIT 1", u.name).Scan(&size)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return size, err
}

func (u *uploadRows) add(ctx context.Context, size int64, part io.Reader) (int64, error) {
	const insert = "INSERT INTO parts (name, start, body, came) VALUES ($1, $2, $3, $4) ON CONFLICT (name, start) DO NOTHING"
	ctx = context.WithoutCancel(ctx) // what came of a sender who goes is kept
	b := make([]byte, maxPart)
	for {
		n, read := readAll(part, b)
		if errors.Is(read, packing.ErrLarge) {
			return size, read
		}
		if n > 0 {
			done, err := u.db.Write.ExecContext(ctx, insert, u.name, size, b[:n], db.Milli(time.Now()))
			if err != nil {
				return size, err
			}
			if made, err := done.RowsAffected(); err != nil || made == 0 {
				return size, errorOr(err, errInUse)
			}
			size += int64(n)
		}
		if read != nil {
			return size, end(read)
		}
	}
}

// readAll fills b, unless the reader ends before, by io.EOF too.
func readAll(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = r.Read(b[n:])
		n += m
	}
	return n, err
}

func (u *uploadRows) all(ctx context.Context, size int64) io.Reader {
	return &rowReader{ctx: ctx, of: u, size: size}
}

func (u *uploadRows) remove(ctx context.Context) error {
	_, err := u.db.Write.ExecContext(ctx, "DELETE FROM parts WHERE name = $1", u.name)
	return err
}

func (*uploadRows) end() {}

// rowReader reads an upload, a row at a time.
type rowReader struct {
	ctx      context.Context
	of       *uploadRows
	at, size int64
	b        []byte
}

// Read implements io.Reader.
func (r *rowReader) Read(p []byte) (int, error) {
	if r.at == r.size {
		return 0, io.EOF
	}
	if len(r.b) == 0 {
		err := r.of.db.Read.QueryRowContext(r.ctx, "SELECT body FROM parts WHERE name = $1 AND start = $2", r.of.name, r.at).Scan(&r.b)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, io.ErrUnexpectedEOF // another node has taken it meanwhile
		} else if err != nil {
			return 0, err
		}
	}
	n := copy(p, r.b)
	r.b, r.at = r.b[n:], r.at+int64(n)
	return n, nil
}
