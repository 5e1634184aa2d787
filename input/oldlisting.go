package input

import (
	"bufio"
	"bytes"
	"io"
)

// oldListing reads a listing that was kept, block by block as a walk asks for directories in the order of their paths.
type oldListing struct {
	in *bufio.Reader
	// dir and stamp are of the block whose records come next; at: there is one.
	dir, stamp string
	at         bool
	// differs: not all was taken over, or directories were asked for that are not there.
	differs bool
}

func newOldListing(in io.Reader) *oldListing {
	o := &oldListing{in: bufio.NewReaderSize(in, 64<<10)}
	_, _ = o.in.Discard(1) // the NUL before the first record
	o.pass(nil)
	return o
}

// listingEnd is behind the last block of a kept listing.
const listingEnd = "\x00/"

// pass reads up to the head of the next block or the listing's end, and appends the records to text if that is not nil. It is
// false where neither comes, and where some records are no names, or are names that lead elsewhere.
func (o *oldListing) pass(text *[]byte) (sound bool) {
	sound = true
	for {
		rec, err := o.in.ReadSlice(0)
		o.at = false
		if err != nil && err != io.EOF || len(rec) == 0 {
			return false // cut short, or no listing
		}
		if rec = bytes.TrimSuffix(rec, []byte{0}); bytes.HasPrefix(rec, []byte("/")) {
			dir, stamp, ok := head(append([]byte{0}, rec...))
			o.dir, o.stamp, o.at = string(dir), string(stamp), ok
			return sound
		}
		sound = sound && isName(rec)
		if text != nil {
			*text = append(append(*text, 0), rec...)
		}
	}
}

// isName tells whether a record is a name that leads nowhere else.
func isName(rec []byte) bool {
	switch name := string(bytes.TrimSuffix(bytes.TrimSuffix(rec, []byte("/")), []byte("/"))); name {
	case "", ".", "..":
		return false
	default:
		return !bytes.ContainsRune([]byte(name), '/')
	}
}

// appendBlock appends the block of a directory, nothing where it was in another state.
func (o *oldListing) appendBlock(text []byte, dir, stamp string) []byte {
	for o.at && before(o.dir, dir) {
		o.differs = true
		o.pass(nil)
	}
	if !o.at || o.dir != dir || o.stamp != stamp || stamp == unknownStamp {
		o.differs = true
		return text
	}
	from := len(text)
	text = append(appendRecord(text, "/"+dir, isLink), stamp...)
	if !o.pass(&text) {
		o.differs = true
		return text[:from]
	}
	return text
}

// before tells whether a path comes before another in a walk: a slash is less than what names have.
func before(a, b string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] == '/' || b[i] != '/' && a[i] < b[i]
		}
	}
	return len(a) < len(b)
}
