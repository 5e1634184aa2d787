package table

import (
	"fmt"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/sha256"
)

// Key tells which image a table belongs to: the image's build ID or, if there is none, a
// digest of what is loaded at which addresses. The digest reads the whole image, once.
func Key(img *image.Image) []byte {
	if id := img.BuildID; len(id) > 0 {
		return id[:min(len(id), maxKey)]
	}
	return img.Memo(digestKey{}, func() any { return digest(img) }).([]byte)
}

// digestKey is the Memo key of an image's digest.
type digestKey struct{}

// digest is longer than build IDs are.
func digest(img *image.Image) []byte {
	h, a := sha256.New(), img.Arch
	fmt.Fprintf(h, "%s %s %v %#x\n", a.Name, a.ABI, a.BigEndian, img.Entry)
	for i := range img.Segments {
		s := &img.Segments[i]
		fmt.Fprintf(h, "%#x %#x %v %d\n", s.Addr, s.Size, s.Exec, len(s.Data))
		h.Write(s.Data)
	}
	return h.Sum(nil)
}
