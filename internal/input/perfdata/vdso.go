package perfdata

import (
	"bytes"
	"os"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/procfs"
	"github.com/backsight/backsight/target"
)

// vdsoName is the kernel's shared object, which no file has, and no recording.
const vdsoName = "[vdso]"

// maxVDSO bounds the shared object; it has one to four pages.
const maxVDSO = 256 << 10

// vdso is the module of the kernel's shared object: what this process has, where the recording was made on this machine's kernel, or what
// perf keeps.
func (s *stream) vdso(m *mapping) *target.Module {
	if !s.own.read {
		s.own.read, s.own.image = true, s.thisVDSO()
	}
	img, id := s.own.image, s.rec.ids[vdsoName]
	if img == nil || len(id) > 0 && !bytes.Equal(id, img.BuildID) {
		img = s.keptVDSO(id)
	}
	if img == nil {
		return &target.Module{Name: m.name, Range: m.Range, Bias: m.Lo, BuildID: id}
	}
	lo, _ := img.Segments.Bounds()
	return target.NewModule(m.name, img, m.Lo-lo)
}

// keptVDSO is the one that perf keeps; nil for none.
func (s *stream) keptVDSO(id []byte) *image.Image {
	kept := s.kept(id, "vdso")
	if kept == "" {
		return nil
	}
	img, _ := s.env.Files.Use(kept, input.BinaryRef{Name: vdsoName, BuildID: id, Arch: s.rec.arch, AnyABI: true}) // without it frames there have no names
	return img
}

// ownKernel is the kernel that runs: its release, and once it was read, its shared object in this process.
type ownKernel struct {
	release string
	read    bool
	image   *image.Image // nil: it is another kernel's
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

// ownRelease is the release of the kernel that runs, "" where files are not on this machine.
func ownRelease(files *input.Files) string {
	if files.Disk().FS != nil {
		return ""
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return string(bytes.TrimSpace(release))
}

// ofThisRelease tells whether the recording's kernel may be the one that runs.
func (s *stream) ofThisRelease() bool { return s.own.release == s.rec.release && s.rec.release != "" }

// ofAnotherRelease tells whether the recording's kernel is not the one that runs, so that it may be of another machine.
func (s *stream) ofAnotherRelease() bool {
	return s.own.release != s.rec.release && s.rec.release != ""
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
