//go:build !small

package symbol

// Forms (DWARF 5, table 7.6; formRefAlt and formStrpAlt are GNU's, of the binutils' dwarf2.def).
const (
	formAddr, formBlock2, formBlock4, formData2, formData4, formData8       = 0x01, 0x03, 0x04, 0x05, 0x06, 0x07
	formString, formBlock, formBlock1, formData1, formFlag, formSdata       = 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d
	formStrp, formUdata, formRefAddr, formRef1, formRef2, formRef4          = 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13
	formRef8, formRefUdata, formIndirect, formSecOffset, formExprloc        = 0x14, 0x15, 0x16, 0x17, 0x18
	formFlagPresent, formStrx, formAddrx, formRefSup4, formStrpSup          = 0x19, 0x1a, 0x1b, 0x1c, 0x1d
	formData16, formLineStrp, formRefSig8, formImplicitConst, formLoclistx  = 0x1e, 0x1f, 0x20, 0x21, 0x22
	formRnglistx, formRefSup8, formStrx1, formStrx2, formStrx3, formStrx4   = 0x23, 0x24, 0x25, 0x26, 0x27, 0x28
	formAddrx1, formAddrx2, formAddrx3, formAddrx4, formRefAlt, formStrpAlt = 0x29, 0x2a, 0x2b, 0x2c, 0x1f20, 0x1f21
)

// formSizes are sizes that differ between units.
type formSizes struct{ version, addr, offset int }

// of is how many bytes a value of a form has, −1 where it says that itself, or nobody knows.
func (s *formSizes) of(form uint64) int {
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return s.addr
	case formRefAddr:
		if s.version <= 2 {
			return s.addr
		}
		return s.offset
	case formStrp, formSecOffset, formStrpSup, formLineStrp, formRefAlt, formStrpAlt:
		return s.offset
	}
	return -1
}
