package kernels

import "encoding/binary"

// Zram is a zram device of a kernel, to be written into its memory: Linux 6.1's structures, for words of 4 or 8 bytes, little-endian.
type Zram struct {
	RAM     []byte // physical memory from Begin on
	Begin   uint64
	Virtual uint64 // the address that shows Begin
	Word    int
	// At is where the device's structures lie from the beginning of RAM, ZramSize bytes; its table is at the end of RAM.
	At int
	// Stride and Shift are the size of an entry of the table, and how far up a handle's object has the number of its page.
	Stride int
	Shift  uint
}

// Zram is an empty device, at the end of the machine's memory.
func (m *Machine) Zram() *Zram {
	z := &Zram{RAM: m.RAM, Begin: RAMBase, Virtual: Linear, Word: 8, At: RAMSize - ZramSize - programPage, Stride: 24, Shift: 28}
	z.Write()
	return z
}

// Offsets in a Zram: its structures, those of the pages from Begin on, and the pages of its objects.
const (
	zramArea, zramDevice, zramGendisk, zramSelf, zramPool = 0x100, 0x400, 0x800, 0x1000, 0x1400
	zramHandles, zramStructs, zramPages                   = 0x3000, 0x4000, 0x8000
	ZramSize                                              = 0x18000
	zramPageStruct                                        = 64
)

// word writes a word at an offset.
func (z *Zram) word(at int, v uint64) {
	if z.Word == 4 {
		binary.LittleEndian.PutUint32(z.RAM[z.At+at:], uint32(v))
	} else {
		binary.LittleEndian.PutUint64(z.RAM[z.At+at:], v)
	}
}

// table is the offset of the table, behind which nothing is mapped.
func (z *Zram) table() int { return len(z.RAM) - z.At - programPage }

// address is that of an offset.
func (z *Zram) address(at int) uint64 { return z.Virtual + uint64(z.At+at) }

// Areas is the address of swap_info. Structs is that of the struct page of physical address 0, and size the size of one.
func (z *Zram) Areas() uint64 { return z.address(0) }

// Structs implements what Areas says.
func (z *Zram) Structs() (at, size uint64) {
	return z.address(zramStructs) - (z.Begin+uint64(z.At+zramPages))/programPage*zramPageStruct, zramPageStruct
}

// Write writes the structures.
func (z *Zram) Write() {
	z.word(0, z.address(zramArea))
	z.word(zramArea+0xe0, z.address(zramDevice))
	z.word(zramDevice+0x98, z.address(zramGendisk))
	copy(z.RAM[z.At+zramGendisk+12:], "zram0")
	z.word(zramGendisk+0x88, z.address(zramSelf))
	for i, at := range []int{z.table(), zramPool, zramPool, zramGendisk} {
		z.word(zramSelf+i*z.Word, z.address(at))
	}
}

// Entry writes what the table has for a page: a handle, or a word, and flags that have the object's size.
func (z *Zram) Entry(slot int, handle, flags uint64) {
	z.word(z.table()+slot*z.Stride, handle)
	z.word(z.table()+slot*z.Stride+z.Word, flags)
}

// Handle makes the handle of a slot lead to one of the device's pages, by its number.
func (z *Zram) Handle(slot, page int) (handle uint64) {
	pfn := (z.Begin + uint64(z.At+zramPages)) / programPage
	z.word(zramHandles+slot*z.Word, (pfn+uint64(page))<<z.Shift|uint64(slot)<<1)
	return z.address(zramHandles + slot*z.Word)
}

// Object stores an object at an offset of one of the pages, which may reach into the next one that Linked has linked.
func (z *Zram) Object(slot, page, offset int, packed []byte) {
	handle := z.Handle(slot, page)
	z.Entry(slot, handle, uint64(len(packed)))
	at := zramPages + page*programPage + offset
	z.word(at, handle|1)
	copy(z.RAM[z.At+at+z.Word:], packed)
}

// Whole stores a page as it is.
func (z *Zram) Whole(slot, page int, data []byte) {
	handle := z.Handle(slot, page)
	z.Entry(slot, handle, programPage|1<<17)
	z.word(zramStructs+page*zramPageStruct+4*z.Word, handle|1)
	copy(z.RAM[z.At+zramPages+page*programPage:], data)
}

// Linked makes a page go on in the next one.
func (z *Zram) Linked(page int) {
	own, next := zramStructs+page*zramPageStruct, zramStructs+(page+1)*zramPageStruct
	z.word(own+4*z.Word, z.address(next))
	z.word(own+5*z.Word, z.address(zramPool))
	z.word(next+5*z.Word, z.address(zramPool))
}
