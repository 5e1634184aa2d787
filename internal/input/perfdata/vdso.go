package perfdata

import (
	"bytes"
	"os"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/procfs"
	"github.com/backsight/backsight/target"
)

// vdsoName is the kernel's shared object, which no file has, and no recording.
const vdsoName = "[vdso]"

// maxVDSO bounds the shared object; it has one to four pages.
const maxVDSO = 256 << 10

// vdso is the module of the kernel's shared object: what this process has, where the recording was made on this machine's kernel.
func (s *stream) vdso(m *mapping) *target.Module {
	if !s.own.read {
		s.own = ownVDSO{true, s.thisVDSO()}
	}
	img := s.own.image
	if img == nil || len(s.rec.ids[vdsoName]) > 0 && !bytes.Equal(s.rec.ids[vdsoName], img.BuildID) {
		return &target.Module{Name: m.name, Range: m.Range, Bias: m.Lo, BuildID: s.rec.ids[vdsoName]}
	}
	lo, _ := img.Segments.Bounds()
	return target.NewModule(m.name, img, m.Lo-lo)
}

// ownVDSO is that of this process, once it was read.
type ownVDSO struct {
	read  bool
	image *image.Image // nil: it is another kernel's
}

// thisVDSO is that of this process; nil where the recording is of another kernel or of programs of another kind.
func (s *stream) thisVDSO() *image.Image {
	if !s.ofThisRelease() {
		return nil
	}
	maps, _ := procfs.Maps("/proc/self")
	for i := range maps {
		if m := &maps[i]; m.Name == vdsoName {
			return s.memoryImage(m.Lo, m.Hi-m.Lo)
		}
	}
	return nil
}

// ofThisRelease tells whether the recording's kernel may be the one that runs.
func (s *stream) ofThisRelease() bool {
	if s.env.Files.Disk().FS != nil {
		return false
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return string(bytes.TrimSpace(release)) == s.rec.release && s.rec.release != ""
}

// memoryImage is an image in this process's memory.
func (s *stream) memoryImage(addr, size uint64) *image.Image {
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil
	}
	defer memory.Close()
	data := make([]byte, min(size, maxVDSO))
	if _, err := memory.ReadAt(data, int64(addr)); err != nil {
		return nil
	}
	var captured target.Memory
	captured.Hold(s.rec.arch, addr, data)
	m, err := s.env.Files.VDSO(&captured, addr)
	if err != nil || m == nil || m.Image.Arch.Name != s.rec.arch.Name || m.Image.Arch.AddrSize != s.rec.arch.AddrSize {
		return nil
	}
	return m.Image
}
