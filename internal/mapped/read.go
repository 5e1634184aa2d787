//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package mapped

import "os"

// Maps tells whether the system maps files. Where it does not, large ones are better read in parts.
const Maps = false

func open(path string) (*os.File, error) { return os.Open(path) }

// load reads the file.
func load(f *os.File, size int) ([]byte, func() error, error) {
	if size > maxRead {
		return nil, nil, &os.PathError{Op: "read", Path: f.Name(), Err: errTooLarge}
	}
	return whole(f, size)
}
