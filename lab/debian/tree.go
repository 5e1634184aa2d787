package debian

import (
	"io/fs"
	"os"
	"path/filepath"
)

// ready makes a program find below root what it is to find there.
func ready(root string) error {
	if err := relativeLinks(root); err != nil {
		return err
	}
	if err := mergeUsr(root); err != nil {
		return err
	}
	return hideCache(root)
}

// hideCache puts an empty cache of libraries below root. Without one the dynamic linker reads
// this machine's, and i386's takes the libc of a machine that has libc6-i386 out of /lib32.
func hideCache(root string) error {
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "etc/ld.so.cache"), nil, 0o644)
}

// relativeLinks makes the absolute links below root lead into root: QEMU looks a path
// up below its -L folder, but the kernel follows the links from there.
func relativeLinks(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		to, err := os.Readlink(path)
		if err != nil || !filepath.IsAbs(to) {
			return err
		}
		rel, err := filepath.Rel(filepath.Dir(path), filepath.Join(root, to))
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.Symlink(rel, path)
	})
}

// mergeUsr moves /bin, /lib and so on into /usr, as Debian's installer does (package
// usrmerge). Without it i386's dynamic linker finds no library in /lib: it asks by
// statx, which QEMU 7.2 does not look up below its -L folder, whether there is such a
// folder.
func mergeUsr(root string) error {
	for _, name := range []string{"bin", "sbin", "lib", "lib32", "lib64", "libo32", "libx32"} {
		from, to := filepath.Join(root, name), filepath.Join(root, "usr", name)
		if info, err := os.Lstat(from); err != nil || !info.IsDir() {
			continue
		}
		if err := move(from, to); err != nil {
			return err
		}
		if err := os.Remove(from); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join("usr", name), from); err != nil {
			return err
		}
	}
	return nil
}

// move moves what is in a folder into another, which keeps what both have.
func move(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		if err := moveEntry(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func moveEntry(from, to string, e fs.DirEntry) error {
	if e.IsDir() {
		if err := move(from, to); err != nil {
			return err
		}
		return os.Remove(from)
	}
	if _, err := os.Lstat(to); err == nil {
		return os.Remove(from)
	}
	return moveFile(from, to, e.Type())
}

// moveFile moves a file; a link leads to where it led.
func moveFile(from, to string, kind fs.FileMode) error {
	if kind&fs.ModeSymlink == 0 {
		return os.Rename(from, to)
	}
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(filepath.Dir(to), filepath.Join(filepath.Dir(from), target))
	if err != nil {
		return err
	}
	if err := os.Remove(from); err != nil {
		return err
	}
	return os.Symlink(rel, to)
}
