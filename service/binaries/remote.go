package binaries

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/backsight/backsight/service/store"
)

// Remote keeps files for all nodes.
type Remote interface {
	Put(ctx context.Context, name, path string) error
	Get(ctx context.Context, name string, to *os.File) error
}

// remoteName is what a file is called there.
func remoteName(rel string) string { return "binaries/" + filepath.ToSlash(rel) }

// File is where a file of a build ID is, which is fetched where others have it.
func (f *Folder) File(id, kind string) (path string, ok bool) {
	if path, ok = f.Dir.File(id, kind); f.Remote == nil || ok && asked(path) == nil {
		return path, ok
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := f.Fill(ctx, []string{id}); err != nil {
		return "", false
	}
	return f.Dir.File(id, kind)
}

// listed is a file as the table has it.
type listed struct {
	path     string
	received time.Time
}

// maxTogether bounds the build IDs of a question.
const maxTogether = 200

// Fill fetches what others keep of build IDs and is not in this folder, or only an older file of it, and tells how many files it has
// fetched.
func (f *Folder) Fill(ctx context.Context, ids []string) (fetched int, err error) {
	for len(ids) > 0 && f.Remote != nil {
		n := min(len(ids), maxTogether)
		list, err := f.lists(ctx, ids[:n])
		if err != nil {
			return fetched, err
		}
		for _, file := range list {
			came, err := f.fetch(ctx, file)
			if err != nil {
				return fetched, fmt.Errorf("%s: %w", file.path, err)
			}
			fetched += came
		}
		ids = ids[n:]
	}
	return fetched, nil
}

// lists are the files of build IDs.
func (f *Folder) lists(ctx context.Context, ids []string) (list []listed, err error) {
	var args []any
	for _, id := range ids {
		args = append(args, strings.ToLower(id))
	}
	marks := make([]string, len(ids))
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	rows, err := f.DB.Read.QueryContext(ctx, "SELECT DISTINCT path, received FROM binaries WHERE build_id IN ("+strings.Join(marks, ", ")+")", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one listed
		var received int64
		if err := rows.Scan(&one.path, &received); err != nil {
			return nil, err
		}
		one.received = time.UnixMilli(received)
		list = append(list, one)
	}
	return list, rows.Err()
}

// settles is how long a store may not show yet what it was given: whoever needs that tries again.
const settles = time.Minute

// fetch fetches a file that is not here, and tells how many that were. What is here and as new as the table says stays.
func (f *Folder) fetch(ctx context.Context, file listed) (int, error) {
	if !filepath.IsLocal(file.path) {
		return 0, errors.New("no place below the folder")
	}
	to := filepath.Join(f.Dir.Dir, file.path)
	if st, err := os.Stat(to); err == nil && !st.ModTime().Before(file.received) && asked(to) == nil {
		return 0, nil
	}
	if err := store.MakeDir(f.Dir.Dir, f.Dir.Dir); err != nil {
		return 0, err
	}
	temp, err := os.CreateTemp(f.Dir.Dir, "new-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(temp.Name()) // of no name any more where all went well
	err = f.Remote.Get(ctx, remoteName(file.path), temp)
	if err = errors.Join(err, temp.Close()); errors.Is(err, fs.ErrNotExist) && time.Since(file.received) > settles {
		return 0, nil // it was lost: the report says that it is missing
	} else if err != nil {
		return 0, err
	}
	st, err := os.Stat(temp.Name())
	if err == nil {
		err = os.Chtimes(temp.Name(), time.Now(), file.received)
	}
	if err == nil {
		err = f.place(temp.Name(), to)
	}
	if err != nil {
		return 0, err
	}
	return 1, f.came(st.Size())
}
