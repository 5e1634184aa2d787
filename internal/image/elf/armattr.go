package elf

import "github.com/backsight/backsight/internal/bin"

// Tags of the "aeabi" build attributes (Addenda to, and Errata in, the ABI for
// the Arm Architecture, §3.3.5).
const (
	tagFile           = 1
	tagCPURawName     = 4
	tagCPUName        = 5
	tagCPUArch        = 6
	tagCPUArchProfile = 7
	tagCompatibility  = 32
)

// armProfile is Tag_CPU_arch_profile of an ARM file: 'A', 'R' or 'M', 0 where
// nothing tells.
func (f *file) armProfile() byte {
	if f.machine != emARM {
		return 0
	}
	if s, ok := f.sections.find(".ARM.attributes"); ok {
		return armProfile(f.sections.bytes(s), f.big)
	}
	if p, ok := f.segments.find(ptARMAttributes); ok {
		return armProfile(f.segments.bytes(p), f.big)
	}
	return 0
}

// armProfile reads a section of build attributes: 'A', then vendors' subsections
// of a length and a name.
func armProfile(section []byte, big bool) byte {
	r := bin.New(section, big)
	if r.U8() != 'A' {
		return 0
	}
	for r.Len() > 4 && r.Err() == nil {
		n := uint64(r.U32())
		if n < 4 {
			return 0
		}
		sub := bin.New(r.Bytes(n-4), big)
		if string(sub.CBytes()) == "aeabi" {
			return fileProfile(sub, big)
		}
	}
	return 0
}

// fileProfile looks for the attributes of the whole file in a subsection.
func fileProfile(r bin.Reader, big bool) byte {
	for r.Len() > 5 && r.Err() == nil {
		tag, n := r.U8(), uint64(r.U32())
		if n < 5 {
			return 0
		}
		attrs := bin.New(r.Bytes(n-5), big)
		if tag == tagFile {
			return attributeProfile(attrs)
		}
	}
	return 0
}

// attributeProfile reads tag and value pairs. Odd tags above 32 and two early
// ones hold strings, the others numbers.
func attributeProfile(r bin.Reader) byte {
	var arch uint64
	for r.Len() > 0 && r.Err() == nil {
		switch tag := r.ULEB(); {
		case tag == tagCPUArchProfile:
			if v := r.ULEB(); v != 0 {
				return byte(v)
			}
		case tag == tagCPUArch:
			arch = r.ULEB()
		case tag == tagCompatibility:
			r.ULEB()
			r.CBytes()
		case tag == tagCPURawName, tag == tagCPUName, tag > 32 && tag&1 == 1:
			r.CBytes()
		default:
			r.ULEB()
		}
	}
	switch arch { // those that exist for one profile only
	case 11, 12, 13, 16, 17, 21: // v6-M, v6S-M, v7E-M, v8-M baseline and mainline, v8.1-M
		return 'M'
	}
	return 0
}
