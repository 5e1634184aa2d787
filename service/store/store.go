// Package store keeps bodies of captures: Store is what the service asks of whoever keeps them, Disk does it in files.
package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// ErrFull says that there is no room for a body. Nothing of it, nor of those appended with it, was kept.
var ErrFull = errors.New("the disk is full")

// Sum is the SHA-256 that a body is called by.
type Sum [sha256.Size]byte

// Body is what is to be kept: Size bytes that Open reads from the beginning.
type Body struct {
	Sum  Sum
	Size int64
	Open func() (io.ReadCloser, error)
}

// Ref is where a body is: Segment, which goes as a whole, and Offset and Size in bytes of what is kept there, with its header.
type Ref struct {
	Segment      uint64
	Offset, Size int64
}

// String is the form of a Ref that ParseRef reads.
func (r Ref) String() string { return fmt.Sprintf("%d:%d:%d", r.Segment, r.Offset, r.Size) }

// Prefix is what the texts of a segment's Refs begin with.
func (r Ref) Prefix() string { return fmt.Sprintf("%d:", r.Segment) }

// ParseRef reads what String wrote.
func ParseRef(s string) (r Ref, err error) {
	if _, err = fmt.Sscanf(s, "%d:%d:%d", &r.Segment, &r.Offset, &r.Size); err != nil || r.Offset < 0 || r.Size < 0 {
		return Ref{}, fmt.Errorf("%q is no place of a body", s)
	}
	return r, nil
}

// Store keeps bodies. It is safe for concurrent use.
type Store interface {
	// Append keeps bodies, all or none: they are durable when it returns. The error is ErrFull where there is no room.
	Append(ctx context.Context, bodies []Body) ([]Ref, error)
	// Open reads a body. The error is fs.ErrNotExist where Compact took its segment: its Ref is another one by now.
	Open(ref Ref) (io.ReadCloser, error)
	// Compact gives the room of bodies back that live no longer names. Those of a segment that stay are moved first, if most
	// of it goes: moved is told the new places before the old ones end.
	Compact(ctx context.Context, live func(segment uint64) (map[Ref]Sum, error), moved func(map[Ref]Ref) error) error
	// Size is how many bytes are kept.
	Size() (int64, error)
	Close() error
}
