package power

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// ErrNone says that nothing can be mounted here.
var ErrNone = errors.New("no FUSE here")

// Mount shows a disk at a folder, for as long as unmount is not called. It needs /dev/fuse, and to be root.
func (d *Disk) Mount(dir string) (unmount func() error, err error) {
	long := time.Hour // the kernel alone changes it
	_, err = fs.Mount(dir, &folderNode{d: d, f: d.root}, &fs.Options{AttrTimeout: &long, EntryTimeout: &long,
		MountOptions: fuse.MountOptions{DirectMountStrict: true, AllowOther: true, DisableXAttrs: true, MaxWrite: 1 << 20, FsName: "power", Name: "power"}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return func() error { return syscall.Unmount(dir, syscall.MNT_DETACH) }, nil
}

type fileNode struct {
	fs.Inode
	d *Disk
	f *file
}

type folderNode struct {
	fs.Inode
	d *Disk
	f *folder
}

func (f *file) attr(a *fuse.Attr) {
	a.Ino, a.Mode, a.Size, a.Nlink = f.inode, syscall.S_IFREG|0o600, uint64(len(f.now)), 1
	a.SetTimes(nil, &f.changed, &f.changed)
}

func (f *folder) attr(a *fuse.Attr) {
	a.Ino, a.Mode, a.Nlink = f.inode, syscall.S_IFDIR|0o700, 1
}

// Getattr implements fs.NodeGetattrer.
func (n *fileNode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return n.d.do(func() syscall.Errno { n.f.attr(&out.Attr); return 0 })
}

// Setattr implements fs.NodeSetattrer: the length; modes and owners are nobody's matter here.
func (n *fileNode) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return n.d.do(func() (errno syscall.Errno) {
		if size, ok := in.GetSize(); ok {
			errno = n.f.change(change{at: int64(min(size, maxFile+1)), length: true})
		}
		if at, ok := in.GetMTime(); ok {
			n.f.changed = at
		}
		n.f.attr(&out.Attr)
		return errno
	})
}

// Open implements fs.NodeOpener. The kernel's pages stay: nobody else changes a file.
func (n *fileNode) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, n.d.do(func() syscall.Errno { return 0 })
}

// Read implements fs.NodeReader.
func (n *fileNode) Read(_ context.Context, _ fs.FileHandle, to []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	read := 0
	errno := n.d.do(func() syscall.Errno {
		if at < int64(len(n.f.now)) {
			read = copy(to, n.f.now[at:])
		}
		return 0
	})
	return fuse.ReadResultData(to[:read]), errno
}

// Write implements fs.NodeWriter.
func (n *fileNode) Write(_ context.Context, _ fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	errno := n.d.do(func() syscall.Errno { return n.f.change(change{at: at, data: bytes.Clone(data)}) })
	return uint32(len(data)), errno
}

// Fsync implements fs.NodeFsyncer.
func (n *fileNode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return n.d.do(func() syscall.Errno { n.f.sync(); return 0 })
}

// Getattr implements fs.NodeGetattrer.
func (n *folderNode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return n.d.do(func() syscall.Errno { n.f.attr(&out.Attr); return 0 })
}

// Setattr implements fs.NodeSetattrer.
func (n *folderNode) Setattr(ctx context.Context, f fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return n.Getattr(ctx, f, out)
}

// Fsync implements fs.NodeFsyncer.
func (n *folderNode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return n.d.do(func() syscall.Errno { n.f.sync(); return 0 })
}

// Statfs implements fs.NodeStatfser: there is always room.
func (n *folderNode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	const blocks, block = 1 << 28, 4096
	out.Blocks, out.Bfree, out.Bavail, out.Bsize, out.Frsize, out.NameLen = blocks, blocks, blocks, block, block, 255
	return 0
}

// child is the node of an entry.
func (n *folderNode) child(ctx context.Context, is any, out *fuse.EntryOut) *fs.Inode {
	switch is := is.(type) {
	case *file:
		is.attr(&out.Attr)
		return n.NewInode(ctx, &fileNode{d: n.d, f: is}, fs.StableAttr{Mode: syscall.S_IFREG, Ino: is.inode})
	case *folder:
		is.attr(&out.Attr)
		return n.NewInode(ctx, &folderNode{d: n.d, f: is}, fs.StableAttr{Mode: syscall.S_IFDIR, Ino: is.inode})
	}
	return nil
}

// Lookup implements fs.NodeLookuper.
func (n *folderNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (inode *fs.Inode, errno syscall.Errno) {
	errno = n.d.do(func() syscall.Errno {
		if inode = n.child(ctx, n.f.now[name], out); inode == nil {
			return syscall.ENOENT
		}
		return 0
	})
	return inode, errno
}

// Readdir implements fs.NodeReaddirer.
func (n *folderNode) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	var list []fuse.DirEntry
	errno := n.d.do(func() syscall.Errno {
		for name, is := range n.f.now {
			e := fuse.DirEntry{Name: name, Mode: syscall.S_IFREG}
			if _, ok := is.(*folder); ok {
				e.Mode = syscall.S_IFDIR
			}
			list = append(list, e)
		}
		return 0
	})
	return fs.NewListDirStream(list), errno
}

// Create implements fs.NodeCreater.
func (n *folderNode) Create(ctx context.Context, name string, _, _ uint32, out *fuse.EntryOut) (inode *fs.Inode, h fs.FileHandle, flags uint32, errno syscall.Errno) {
	errno = n.d.do(func() syscall.Errno {
		f := n.d.newFile()
		n.f.name(naming{name: f})
		inode = n.child(ctx, f, out)
		return 0
	})
	return inode, nil, fuse.FOPEN_KEEP_CACHE, errno
}

// Mkdir implements fs.NodeMkdirer.
func (n *folderNode) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (inode *fs.Inode, errno syscall.Errno) {
	errno = n.d.do(func() syscall.Errno {
		f := n.d.newFolder()
		n.f.name(naming{name: f})
		inode = n.child(ctx, f, out)
		return 0
	})
	return inode, errno
}

// Unlink implements fs.NodeUnlinker.
func (n *folderNode) Unlink(_ context.Context, name string) syscall.Errno {
	return n.d.do(func() syscall.Errno { n.f.name(naming{name: nil}); return 0 })
}

// Rmdir implements fs.NodeRmdirer.
func (n *folderNode) Rmdir(_ context.Context, name string) syscall.Errno {
	return n.d.do(func() syscall.Errno {
		if f, ok := n.f.now[name].(*folder); ok && len(f.now) > 0 {
			return syscall.ENOTEMPTY
		}
		n.f.name(naming{name: nil})
		return 0
	})
}

// Rename implements fs.NodeRenamer. Between two folders it is two changes, each of which may be lost.
func (n *folderNode) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	other, ok := to.(*folderNode)
	if !ok || flags != 0 {
		return syscall.EINVAL
	}
	return n.d.do(func() syscall.Errno {
		is := n.f.now[name]
		if other.f == n.f {
			n.f.name(naming{name: nil, newName: is})
			return 0
		}
		other.f.name(naming{newName: is})
		n.f.name(naming{name: nil})
		return 0
	})
}
