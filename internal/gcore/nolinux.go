//go:build !linux

package gcore

import (
	"errors"
	"io"
)

var errSystem = errors.New("a running process can be looked at on Linux only")

// Of fails.
func Of(int, Options) (*Core, error) { return nil, errSystem }

// Dying fails.
func Dying(io.Reader, int, Options) (*Core, error) { return nil, errSystem }
