package readobj

import (
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/pe"
	"github.com/backsight/backsight/internal/synth/pefile"
)

const base = 0x1_8000_0000

// dll is a PE file with code, entries of functions and what these point to, at 0x3000.
func dll(t *testing.T, machine uint16, entries []uint64, info []byte) *image.Image {
	t.Helper()
	pdata := pefile.U32(entries...)
	f := pefile.File{Machine: machine, Base: base, Sections: []pefile.Section{
		{Name: ".text", Data: make([]byte, 0x200), Flags: pefile.Code},
		{Name: ".pdata", Data: pdata, Flags: pefile.ReadOnly},
		{Name: ".xdata", Data: info, Flags: pefile.ReadOnly},
	}, Directories: map[int][2]uint32{pefile.Exceptions: {0x2000, uint32(len(pdata))}}}
	img, err := image.Parse("a.dll", f.Bytes(), []image.Format{pe.Format()}, image.Options{Archs: backsight.CPUs()})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

const x64Text = `
Format: COFF-x86-64
UnwindInformation [
  RuntimeFunction {
    StartAddress: a (0x180001000)
    EndAddress: (0x180001024)
    UnwindInfoAddress: (0x180003000)
    UnwindInfo {
      Version: 1
      Flags [ (0x1)
        ExceptionHandler (0x1)
      ]
      PrologSize: 10
      FrameRegister: RBP (0x5)
      FrameOffset: 0x2
      UnwindCodeCount: 3
      UnwindCodes [
        0x0A: SET_FPREG reg=RBP, offset=0x20
        0x05: ALLOC_SMALL size=32
        0x01: PUSH_NONVOL reg=RBP
      ]
      Handler: (0x180001100)
    }
  }
  RuntimeFunction {
    StartAddress: (0x180001040)
    EndAddress: (0x180001050)
    UnwindInfoAddress: (0x180003010)
    UnwindInfo {
      Version: 1
      Flags [ (0x4)
        ChainInfo (0x4)
      ]
      PrologSize: 5
      FrameRegister: -
      FrameOffset: -
      UnwindCodeCount: 2
      UnwindCodes [
        0x05: SAVE_XMM128 reg=XMM6, offset=0x30
      ]
      Chained {
        StartAddress: (0x180001000)
        EndAddress: (0x180001024)
        UnwindInfoAddress: (0x180003000)
      }
    }
  }
]
`

// TestX64: the reading of tables agrees with the text; where one number differs, that is told.
func TestX64(t *testing.T) {
	info := []byte{1 | 1<<3, 10, 3, 0x25, 10, 0x03, 5, 0x32, 1, 0x50, 0, 0, 0, 0x11, 0, 0,
		1 | 4<<3, 5, 2, 0, 5, 0x68, 3, 0, 0, 0x10, 0, 0, 0x24, 0x10, 0, 0, 0, 0x30, 0, 0}
	img := dll(t, pefile.X64, []uint64{0x1000, 0x1024, 0x3000, 0x1040, 0x1050, 0x3010}, info)
	check(t, img, x64Text, 2)
	check(t, img, strings.Replace(x64Text, "size=32", "size=40", 1), 2, "0x05: ALLOC_SMALL size=40")
	check(t, img, x64Text[:strings.LastIndex(x64Text, "RuntimeFunction")], 1, "2 functions")
}

const arm64Text = `
  RuntimeFunction {
    Function: a (0x180001000)
    ExceptionRecord: (0x180003000)
    ExceptionData {
      FunctionLength: 64
      Version: 0
      ExceptionData: No
      EpiloguePacked: No
      EpilogueScopes: 1
      ByteCodeLength: 8
      Prologue [
        0xd804              ; stp d8, d9, [sp, #32]
        0xe1                ; mov fp, sp
        0x83                ; stp x29, x30, [sp, #-32]!
        0xe4                ; end
      ]
      EpilogueScopes [
        EpilogueScope {
          StartOffset: 8
          EpilogueStartIndex: 3
          Opcodes [
            0x83                ; ldp x29, x30, [sp], #32
            0xe4                ; end
          ]
        }
      ]
    }
  }
  RuntimeFunction {
    Function: 0x180001100
    Fragment: No
    FunctionLength: 48
    RegF: 1
    RegI: 2
    HomedParameters: Yes
    CR: 3
    FrameSize: 144
    Prologue [
      mov x29, sp
      stp x29, lr, [sp, #-48]!
      stp x6, x7, [sp, #80]
      stp x4, x5, [sp, #64]
      stp x2, x3, [sp, #48]
      stp x0, x1, [sp, #32]
      stp d8, d9, [sp, #16]
      stp x19, x20, [sp, #-96]!
      end
    ]
  }
`

// TestARM64: packed words and .xdata, registers of floating point and arguments too.
func TestARM64(t *testing.T) {
	info := []byte{0x10, 0x00, 0x40, 0x10, 0x08, 0x00, 0xc0, 0x00, 0xd8, 0x04, 0xe1, 0x83, 0xe4, 0, 0, 0}
	packed := uint64(1 | 12<<2 | 1<<13 | 2<<16 | 1<<20 | 3<<21 | 9<<23)
	img := dll(t, pefile.ARM64, []uint64{0x1000, 0x3000, 0x1100, packed}, info)
	check(t, img, arm64Text, 2)
	check(t, img, strings.Replace(arm64Text, "x4, x5", "x4, x9", 1), 2, "stp x4, x9")
}

// check compares the number of functions, and which lines of the text differ.
func check(t *testing.T, img *image.Image, text string, functions int, differ ...string) {
	t.Helper()
	n, got, err := Compare(img, strings.NewReader(text))
	if err != nil || n != functions || !slices.EqualFunc(got, differ, strings.Contains) {
		t.Errorf("%d functions, %v: %q", n, err, got)
	}
}
