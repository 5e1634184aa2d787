package image

import (
	"bytes"
	"crypto/sha256"
	"fmt"
)

// headers is how much of a segment a file's own headers may take, which change when a section
// is added to the file.
const headers = 1 << 10

// Identity tells which build the code of an image is of: the build ID or, without one, a digest of
// the executable segments. It reads all code, once.
func (img *Image) Identity() []byte {
	if len(img.BuildID) > 0 {
		return img.BuildID
	}
	return img.Memo(identityKey{}, func() any { return img.codeDigest() }).([]byte)
}

// identityKey is the Memo key of an image's digest.
type identityKey struct{}

func (img *Image) codeDigest() []byte {
	h := sha256.New()
	for i := range img.Segments {
		s := &img.Segments[i]
		if !s.Exec {
			continue
		}
		data := s.Data
		if bytes.HasPrefix(data, []byte("\x7fELF")) {
			data = data[min(len(data), headers):]
		}
		fmt.Fprintf(h, "%#x %d\n", s.Addr, len(s.Data))
		h.Write(data)
	}
	return h.Sum(nil)
}
