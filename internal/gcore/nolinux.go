//go:build !linux

package gcore

import "errors"

// Of fails.
func Of(int, Options) (*Core, error) {
	return nil, errors.New("a running process can be looked at on Linux only")
}
