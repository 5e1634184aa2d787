package processes

import (
	"fmt"
	"strings"
)

// fileFields are where struct file has its vfsmount, which a dentry follows, and dentries their name and parent.
type fileFields struct{ path, name, parent field }

const (
	// sizeFile and sizeDentry bound where the fields lie.
	sizeFile, sizeDentry = 320, 128
	// maxName is NAME_MAX, maxPath PATH_MAX; a path has no more parts than bytes.
	maxName, maxPath = 255, 4096
)

// findFiles finds vm_pgoff, behind which is vm_file: that of the program's code leads to a file with a name, its stack has none.
// Mappings stay without names where that is not found.
func (f *finder) findFiles(voters []Process) bool {
	for off := range f.offsets(sizeVMA, "vm_area_struct", []string{"vm_pgoff"}) {
		var files []uint64
		if off >= 2*f.word && f.all(voters, func(p *Process, v vma) bool {
			file := f.at(v.at + off + f.word)
			if v.Contains(f.aux(p, atEntry)) && f.isKernel(file) {
				files = append(files, file)
			}
			return (file == 0 || f.isKernel(file)) && (!v.Contains(f.stack(p)) || file == 0)
		}) && f.findPath(files, len(voters)) {
			f.vma.pgoff = field{off, true}
			break
		}
	}
	return true
}

// findPath finds how files lead to names, where most of them do.
func (f *finder) findPath(files []uint64, spaces int) bool {
	if len(files)*2 <= spaces {
		return false
	}
	for off := range f.offsets(sizeFile, "file", []string{"f_path", "mnt"}) {
		n := 0
		for i, file := range files {
			mnt, dentry := f.at(file+off), f.at(file+off+f.word)
			if f.isKernel(mnt) && f.isKernel(dentry) && (f.isDentry(dentry) || !f.files.name.known && f.findName(dentry)) && f.isDentry(f.at(mnt)) {
				n++
			}
			if i == 2 && n == 0 {
				break
			}
		}
		if n*4 > len(files)*3 {
			f.files.path = field{off, true}
			return true
		}
		f.files.name.known = false
	}
	return false
}

// findName finds d_name.name and d_parent by a dentry: a name is as long as its hash_len says, and the parent has one, too.
func (f *finder) findName(dentry uint64) bool {
	for off := range f.offsets(sizeDentry, "dentry", []string{"d_name", "name"}) {
		for _, gap := range [...]uint64{8, 12} { // hash_len is aligned to 8 bytes on most processors
			if off < gap+f.word {
				continue
			}
			f.files.name, f.files.parent = field{off, true}, field{off - gap - f.word, true}
			if parent := f.at(dentry + f.files.parent.at); parent != dentry && f.isDentry(dentry) && f.isDentry(parent) {
				return true
			}
		}
	}
	f.files.name.known = false
	return false
}

// isDentry tells whether a dentry lies at an address.
func (f *finder) isDentry(dentry uint64) bool {
	return f.files.name.known && f.isKernel(dentry) && f.name(dentry) != "" && f.isKernel(f.at(dentry+f.files.parent.at))
}

// name is a dentry's name, "" where there is none.
func (f *finder) name(dentry uint64) string {
	at := dentry + f.files.name.at
	hashed, ok := f.Memory.Uint(at-8, 8)
	n := hashed >> 32 // on any processor (HASH_LEN_DECLARE, include/linux/dcache.h)
	if !ok || n == 0 || n > maxName || !f.work.Draw(1) {
		return ""
	}
	if s := f.Memory.CString(f.at(at), maxName+1); uint64(len(s)) == n {
		return s
	}
	return ""
}

// struct mount (fs/mount.h): mnt_hash of two words, mnt_parent, mnt_mountpoint, then the struct vfsmount that others point to, which
// begins with the root's dentry.
const mountParent, mountPoint, mountInside = 2, 3, 4

// path is that of a file: the names from its dentry to the root, through mounts. Where no names are found the file is called by its
// address; its build ID leads to it then.
func (f *finder) path(file uint64) string {
	path, ok := f.paths[file]
	if !ok {
		if path = f.climb(file); path == "" {
			path = fmt.Sprintf("/file-%x", file)
		}
		if len(f.paths) < maxPaths {
			f.paths[file] = path
		}
	}
	return path
}

func (f *finder) climb(file uint64) string {
	if !f.files.path.known {
		return ""
	}
	var parts []string
	mnt, dentry := f.at(file+f.files.path.at), f.at(file+f.files.path.at+f.word)
	for range maxPath {
		mount, parent := mnt-mountInside*f.word, f.at(dentry+f.files.parent.at)
		switch up := f.at(mount + mountParent*f.word); {
		case dentry == f.at(mnt) && up != mount && f.isKernel(up):
			dentry, mnt = f.at(mount+mountPoint*f.word), up+mountInside*f.word
			continue
		case dentry == f.at(mnt), parent == dentry:
			return joined(parts)
		}
		name := f.name(dentry)
		if name == "" || strings.Contains(name, "/") {
			return ""
		}
		parts = append(parts, name)
		dentry = parent
	}
	return ""
}

// joined is a path by its parts, the last one first.
func joined(parts []string) string {
	n := len(parts)
	for _, p := range parts {
		n += len(p)
	}
	if n == 0 || n > maxPath {
		return ""
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(parts[i])
	}
	return b.String()
}
