package truth

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Image is a file in the address space of a case.
type Image struct {
	Path string
	// Bias is target address minus image address.
	Bias uint64
}

// Placed is an element of images.json: "." is the case's own file, any other lies
// in lib beside the case.
type Placed struct {
	File string `json:"file"`
	Bias Hex    `json:"bias"`
}

// Own is the name of the case's own file in images.json.
const Own = "."

// imagesFile is what tells a dynamic program from one that is a single image.
const imagesFile = "images.json"

// WriteImages writes the images of a dynamic program into a case's folder.
func WriteImages(dir string, images []Placed) error {
	b, err := json.Marshal(images)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, imagesFile), append(b, '\n'), 0o644)
}

// Images are the images of a case in a tier, none where the case lacks the tier.
// Compressed ones are written to a temporary folder, which cleanup removes.
func (c *Case) Images(tier string) (images []Image, cleanup func(), err error) {
	dir, err := os.MkdirTemp("", "truth")
	if err != nil {
		return nil, nil, err
	}
	cleanup = func() { os.RemoveAll(dir) }
	b, err := os.ReadFile(filepath.Join(c.Dir, imagesFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		images, err = c.single(tier, dir)
	case err == nil && tier != "sym":
		images, err = c.dynamic(b, tier, dir)
	}
	if err != nil {
		cleanup()
		return nil, nil, fmt.Errorf("%s: %w", c.Dir, err)
	}
	return images, cleanup, nil
}

// single is a program of one image, linked where it runs.
func (c *Case) single(tier, dir string) ([]Image, error) {
	path, err := plain(filepath.Join(c.Dir, tier+".elf"), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return []Image{{Path: path}}, err
}

// dynamic are the images of a dynamic program, which are kept stripped; the naked ones
// are made of these.
func (c *Case) dynamic(list []byte, tier, dir string) ([]Image, error) {
	var placed []Placed
	if err := json.Unmarshal(list, &placed); err != nil {
		return nil, fmt.Errorf("%s: %w", imagesFile, err)
	}
	var images []Image
	for _, p := range placed {
		file := filepath.Join(filepath.Dir(c.Dir), "lib", filepath.FromSlash(p.File))
		if p.File == Own {
			file = filepath.Join(c.Dir, "stripped.elf")
		}
		path, err := plain(file, dir)
		if err != nil {
			return nil, err
		}
		if tier == "naked" {
			from := path
			path = filepath.Join(dir, "naked-"+filepath.Base(path))
			if err := Undress(from, path); err != nil {
				return nil, fmt.Errorf("%s: %w", p.File, err)
			}
		}
		images = append(images, Image{path, uint64(p.Bias)})
	}
	return images, nil
}

// plain is where a file lies, or, inflated into dir, its .gz.
func plain(path, dir string) (string, error) {
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	f, err := os.Open(path + ".gz")
	if err != nil {
		return "", err
	}
	defer f.Close()
	to := filepath.Join(dir, filepath.Base(path))
	return to, inflate(f, to)
}

func inflate(r io.Reader, path string) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	w, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, z)
	return errors.Join(err, w.Close())
}

// Binary is the one image of a case that is no dynamic program. found is false where
// the case lacks the tier, or is a dynamic program. cleanup removes what was written.
func (c *Case) Binary(tier string) (path string, found bool, cleanup func(), err error) {
	images, cleanup, err := c.Images(tier)
	if err != nil {
		return "", false, func() {}, err
	}
	if len(images) != 1 {
		cleanup()
		return "", false, func() {}, nil
	}
	return images[0].Path, true, cleanup, nil
}
