//go:build !linux

package input

import (
	"errors"
	"os"
)

// memoryFile is a file without a directory, which only Linux has.
func memoryFile() (*os.File, error) { return nil, errors.ErrUnsupported }
