package backsight

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/ehabi"
	"github.com/backsight/backsight/internal/unwind/table"
	"github.com/backsight/backsight/unwind"
)

// CompileTable compiles the unwind rules of an image, as far as they follow from its
// call frame information, its ARM index tables and its code, in this order. names
// selects some of these: cfi, ehabi, code; none: all.
func CompileTable(img *image.Image, names ...string) (*table.Table, error) {
	tables := cfi.New()
	parts := map[string]table.Part{
		"cfi":   table.Listed(unwind.MethodCFI, tables.Rows),
		"ehabi": table.Listed(unwind.MethodEHABI, ehabi.Source{}.Rows),
		"code":  {Method: unwind.MethodCode, List: code.New(tables.FunctionRanges).Rows},
	}
	if len(names) == 0 {
		names = []string{"cfi", "ehabi", "code"}
	}
	var chosen []table.Part
	for _, n := range names {
		p, ok := parts[n]
		if !ok {
			return nil, fmt.Errorf("no table can be compiled from %q; there are cfi, ehabi, code", n)
		}
		chosen = append(chosen, p)
	}
	return table.Build(img, chosen...), nil
}

// TablePath is where the table of an image lies in a directory: by its build ID, or by
// a digest of what is loaded.
func TablePath(dir string, img *image.Image) string {
	return filepath.Join(dir, hex.EncodeToString(table.Key(img))+".table")
}

// SaveTable writes a table to a file, whole or not at all: for Options.TableDir, to
// TablePath.
func SaveTable(t *table.Table, img *image.Image, path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(t.Append(nil, img))
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// useTables puts tables before the sources that they are compiled from.
func useTables(sources []unwind.Source, opt Options) {
	l := &tableLoader{opt.TableDir, opt.Warn}
	for i, s := range sources {
		switch s := s.(type) {
		case *cfi.Source, ehabi.Source, *code.Source:
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
		path := TablePath(l.dir, img)
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
	if err == nil {
		err = SaveTable(t, img, path)
	}
	if err != nil && l.warn != nil {
		l.warn(err)
	}
	return t
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
