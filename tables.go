package backsight

import (
	"errors"
	"io/fs"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/compact"
	"github.com/backsight/backsight/internal/unwind/ehabi"
	"github.com/backsight/backsight/internal/unwind/table"
	"github.com/backsight/backsight/unwind"
)

// useTables puts tables before the sources that they are compiled from.
func useTables(sources []unwind.Source, opt Options) {
	l := &tableLoader{opt.TableDir, opt.Warn}
	for i, s := range sources {
		switch s := s.(type) {
		case *cfi.Source, compact.Source, ehabi.Source, *code.Source:
			sources[i] = table.Before(s.(unwind.RuleSource), l.of)
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

// remake replaces a file that cannot be used.
func (l *tableLoader) remake(img *image.Image, path string) *table.Table {
	t, err := CompileTable(img)
	if err != nil {
		return nil // all sources can be compiled
	}
	if err := t.Save(path); err != nil && l.warn != nil {
		l.warn(err)
	}
	return t.rules
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
