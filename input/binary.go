package input

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// BinaryRef is a binary as a capture names it.
type BinaryRef struct {
	// Name is its path on the captured machine.
	Name string
	// Offset is where in the file of that name the binary begins, see image.Options.
	Offset uint64
	// BuildID decides where it is known.
	BuildID []byte
	// Begin is how image.Image.Identity begins, of a capture that tells no more of it.
	Begin []byte
	// Arch is the captured program's ABI; nil accepts any. AnyABI: only its CPU
	// and byte order count.
	Arch   *cpu.Arch
	AnyABI bool
	// Dir is where relative names are looked for besides the working directory,
	// and nothing where it is "".
	Dir string
	// Absolute: the captured system writes absolute paths only. Another one is looked for
	// below sysroots and among the files that the user named, and in no directory of ours.
	Absolute bool
}

// notUsed is the issue of a file that was found in vain.
func (ref *BinaryRef) notUsed(path string, err error) target.Issue {
	what := path + ": " + err.Error()
	var inPath *os.PathError
	if errors.As(err, new(*image.Error)) { // names the path itself
		what = err.Error()
	} else if errors.As(err, &inPath) {
		what = path + ": " + inPath.Err.Error()
	}
	return target.Issue{Kind: target.IssueNotUsed, Subject: ref.Name, Text: what + "; not used"}
}

// damage are the issues of an image that is used.
func (ref *BinaryRef) damage(img *image.Image) (issues []target.Issue) {
	for _, text := range img.Issues {
		issues = append(issues, target.Issue{Kind: target.IssueImage, Subject: ref.Name, Text: text})
	}
	return issues
}

// accepts tells why img cannot be what the capture means, nil when it can.
func (ref *BinaryRef) accepts(img *image.Image) error {
	if !ref.runs(img.Arch) {
		return fmt.Errorf("a binary for %s, the capture is of %s", img.Arch, ref.Arch)
	}
	if len(ref.Begin) > 0 && !bytes.HasPrefix(img.Identity(), ref.Begin) {
		return fmt.Errorf("build %x, the capture says %x", img.Identity(), ref.Begin)
	}
	if ref.BuildID == nil || bytes.Equal(ref.BuildID, img.BuildID) {
		return nil
	}
	if img.BuildID == nil {
		return fmt.Errorf("no build ID, the capture says %x", ref.BuildID)
	}
	return fmt.Errorf("build ID %x, the capture says %x", img.BuildID, ref.BuildID)
}

// runs tells whether code of ABI a runs in the captured program: the same CPU and
// byte order and, unless the ABI is open, the same widths. Variants that only ELF
// flags tell apart (microMIPS, release 6) are the same here.
func (ref *BinaryRef) runs(a *cpu.Arch) bool {
	want := ref.Arch
	return want == nil || want.PC == cpu.NoReg || a == want || a.Name == want.Name && a.BigEndian == want.BigEndian &&
		(ref.AnyABI || a.AddrSize == want.AddrSize && a.RegSize == want.RegSize)
}
