package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"

	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/store"
)

// blob is a row of blobs with its body.
type blob struct {
	row           int64
	sum           []byte
	ref, packing  string
	size, created int64
	body          []byte
}

// together bounds the bodies of an object, by their number and their bytes.
const together, togetherBytes = 64, 32 << 20

// bodies moves the bodies behind those that were moved, in the order of their rows.
func (t *Transfer) bodies(ctx context.Context) error {
	last, err := t.done(ctx, "blobs")
	if err != nil {
		return err
	}
	for n := 0; ; {
		list, err := t.next(ctx, last)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			t.Log.Info("moved", "bodies", n)
			return nil
		}
		if err := t.send(ctx, list); err != nil {
			return err
		}
		n, last = n+len(list), list[len(list)-1].row
	}
}

// next reads the bodies behind a row, and compares each with its sum.
func (t *Transfer) next(ctx context.Context, last int64) (list []*blob, err error) {
	found, err := t.From.Read.QueryContext(ctx, "SELECT rowid, sha256, ref, packing, size, created FROM blobs WHERE rowid > $1 ORDER BY rowid LIMIT $2", last, together)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	size := 0
	for found.Next() && size < togetherBytes {
		b := &blob{}
		if err := found.Scan(&b.row, &b.sum, &b.ref, &b.packing, &b.size, &b.created); err != nil {
			return nil, err
		}
		if err := t.load(b); err != nil {
			return nil, fmt.Errorf("body %x at %s: %w", b.sum, b.ref, err)
		}
		size += len(b.body)
		list = append(list, b)
	}
	return list, found.Err()
}

// load reads a body, which is as large as intake takes it at the most.
func (t *Transfer) load(b *blob) error {
	ref, err := store.ParseRef(b.ref)
	if err != nil {
		return err
	}
	body, err := t.Bodies.Open(ref)
	if err != nil {
		return err
	}
	defer body.Close()
	if b.body, err = io.ReadAll(body); err != nil {
		return err
	}
	unpacked, err := packing.Reader(b.packing, bytes.NewReader(b.body))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	h := sha256.New()
	if _, err := io.Copy(h, unpacked); err != nil {
		return err
	}
	if !bytes.Equal(h.Sum(nil), b.sum) {
		return ErrDiffers
	}
	return nil
}

// send appends bodies to the store, and says in the database where they are.
func (t *Transfer) send(ctx context.Context, list []*blob) error {
	bodies := make([]store.Body, len(list))
	for i, b := range list {
		bodies[i] = store.Body{Sum: store.Sum(b.sum), Size: int64(len(b.body)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.body)), nil }}
	}
	refs, err := t.Kept.Append(ctx, bodies)
	if err != nil {
		return err
	}
	return t.To.Tx(ctx, func(tx *sql.Tx) error {
		for i, b := range list {
			_, err := tx.ExecContext(ctx, "INSERT INTO blobs (sha256, ref, size, stored, packing, created) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
				b.sum, refs[i].String(), b.size, refs[i].Size, b.packing, b.created)
			if err != nil {
				return err
			}
		}
		return t.mark(ctx, tx, "blobs", list[len(list)-1].row)
	})
}
