package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
)

// openZip opens a member of an archive.
func openZip(archive []byte, name string) (fs.File, error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	return z.Open(name)
}
