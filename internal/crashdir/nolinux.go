//go:build !linux

package crashdir

import (
	"errors"
	"time"
)

// counts is nothing: only Linux has a core_pattern.
type counts struct{}

func (*counts) lock() error { return errors.New("only Linux starts a handler of crashes") }
func (*counts) unlock()     {}
func (*counts) close()      {}

// Admit fails.
func (d *Dir) Admit(string, time.Time, int) (*Ticket, error) { return nil, (*counts)(nil).lock() }

// Harden does nothing.
func Harden(int, time.Duration) {}

// Spare is 0.
func Spare() uint64 { return 0 }

// Heard is true.
func Heard() bool { return true }

// Log does nothing.
func Log(string) {}
