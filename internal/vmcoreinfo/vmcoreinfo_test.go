package vmcoreinfo

import "testing"

// TestParse: keys of all kinds; the format string that the kernel holds is none.
func TestParse(t *testing.T) {
	i := Parse([]byte("OSRELEASE=6.1.0-50-arm64\nPAGESIZE=16384\nSYMBOL(_stext)=ffffb2e60b410000\nOFFSET(list_head.prev)=8\nSIZE(page)=64\n" +
		"NUMBER(VA_BITS)=48\nNUMBER(kimage_voffset)=0xffffb2e5cb200000\nNUMBER(X)=-129\nKERNELOFFSET=32e603400000\nCRASHTIME=1236127674\nCONFIG_ARM_LPAE=y\n\x00SYMBOL(_stext)=1\n"))
	stext, _ := i.Symbol("_stext")
	off, _ := i.Offset("list_head.prev")
	size, _ := i.Size("page")
	bits, _ := i.Number("VA_BITS")
	delta, _ := i.Number("kimage_voffset")
	minus, _ := i.Number("X")
	moved, _ := i.KernelOffset()
	if i.Release() != "6.1.0-50-arm64" || i.PageSize() != 16384 || stext != 0xffffb2e60b410000 || off != 8 || size != 64 ||
		bits != 48 || delta != 0xffffb2e5cb200000 || int64(minus) != -129 || moved != 0x32e603400000 || !i.Has("ARM_LPAE") {
		t.Errorf("%v", i)
	}
	if got, none := i.CrashTime(), (Info{}).CrashTime(); got != "2009-03-04T00:47:54Z" || none != "" {
		t.Errorf("crashed at %q, %q", got, none)
	}
	if i := Parse([]byte("OSRELEASE=%s\n\x00")); i != nil {
		t.Errorf("a format: %v", i)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("OSRELEASE=6\nSYMBOL(a)=1\nNUMBER(b)=-0x2\n=\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		i := Parse(data)
		i.Symbols(func(string, uint64) {})
		i.PageSize()
	})
}
