package backsight

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/unwind/table"
)

func tablePath(dir string, img *image.Image) string {
	return filepath.Join(dir, hex.EncodeToString(table.Key(img))+".table")
}

// useTables puts tables before the sources that they are compiled from.
func useTables(sources []stackwalk.Source, opt Options) {
	l := &tableLoader{opt.TableDir, opt.Warn}
	for i, s := range sources {
		if tabled(s) {
			sources[i] = table.Before(s.(stackwalk.RuleSource), l.of)
		}
	}
}

// tableLoader finds the tables of images. They stay mapped, as images do.
type tableLoader struct {
	dir  string
	warn func(error)
}

// of returns the table of an image, nil for none. It is looked for once.
func (l *tableLoader) of(img *image.Image) *table.Table {
	return img.Memo(l, func() any {
		path := tablePath(l.dir, img)
		t, err := openTable(path, img)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return t
		}
		if l.warn != nil {
			l.warn(err)
		}
		return l.remake(img, path)
	}).(*table.Table)
}

// openTable maps a table. The error names the file and where it is wrong.
func openTable(path string, img *image.Image) (*table.Table, error) {
	f, err := image.OpenFile(path, nil)
	if err != nil {
		return nil, err
	}
	t, err := table.Open(f.Data, img)
	var wrong *image.Error
	if errors.As(err, &wrong) {
		wrong.Path = path
		return nil, errors.Join(wrong, f.Close())
	}
	return t, err
}
