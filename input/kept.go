package input

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/backsight/backsight/internal/outfile"
)

// keptFile is what an earlier search through a directory found, in the user's cache, which nobody trusts: it begins
// with what it is, and is of use for speed only. "": nothing is kept.
type keptFile struct {
	ctx  context.Context
	path string
	most int64 // bytes
	what string
}

// newKept is the file in a cache for a directory of this machine; suffix and what tell kinds of such files apart.
func newKept(opt *FileOptions, dir, suffix, what string, most int64) keptFile {
	k := keptFile{ctx: opt.Context, what: what, most: most}
	if dir, err := filepath.Abs(dir); opt.CacheDir != "" && opt.CacheDir != NoCache && opt.FS == nil && err == nil {
		k.path = filepath.Join(opt.CacheDir, fmt.Sprintf("%016x.%s", digest(dir), suffix))
	}
	return k
}

// open returns what is kept, its size in bytes, and what ends the reading; nothing of size 0 where nothing is kept.
func (k *keptFile) open() (in io.Reader, size int, end func()) {
	in, end = strings.NewReader(""), func() {}
	if k.path == "" {
		return in, 0, end
	}
	f, err := os.Open(k.path)
	if err != nil {
		return in, 0, end
	}
	end = func() { _ = f.Close() } // nothing was written
	st, err := f.Stat()
	what := make([]byte, len(k.what))
	if err != nil || !st.Mode().IsRegular() || st.Size() > k.most {
		return in, 0, end
	}
	if _, err := io.ReadFull(f, what); err != nil || string(what) != k.what {
		return in, 0, end
	}
	size = int(st.Size()) - len(what)
	return io.LimitReader(f, int64(size)), size, end
}

// write keeps data for the next time. Where nothing can be written, it is found again.
func (k *keptFile) write(data []byte) {
	if k.path == "" || int64(len(k.what)+len(data)) > k.most || os.MkdirAll(filepath.Dir(k.path), 0o700) != nil {
		return
	}
	_ = outfile.Write(k.ctx, k.path, 0o600, func(f *os.File) error {
		if _, err := f.WriteString(k.what); err != nil {
			return err
		}
		_, err := f.Write(data)
		return err
	})
}
