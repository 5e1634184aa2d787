package elf

// Names and values from the System V gABI (generic ELF), the GNU extensions in
// the Linux Standard Base, and the processor supplements.
const (
	magic = "\x7fELF"

	etRel  = 1
	etExec = 2
	etDyn  = 3
	etCore = 4

	em386     = 3
	emMIPS    = 8
	emARM     = 40
	emX86_64  = 62
	emAArch64 = 183
	emRISCV   = 243

	ptLoad          = 1
	ptDynamic       = 2
	ptInterp        = 3
	ptNote          = 4
	ptPhdr          = 6
	ptGNUEHFrame    = 0x6474e550
	ptGNURelro      = 0x6474e552
	ptGNUSFrame     = 0x6474e554
	ptARMExidx      = 0x70000001
	ptARMAttributes = 0x70000003 // only meaningful where e_machine is EM_ARM

	pfX = 1
	pfW = 2
	pfR = 4

	shtNobits = 8

	shfWrite      = 0x1
	shfAlloc      = 0x2
	shfExecinstr  = 0x4
	shfCompressed = 0x800

	shnUndef     = 0
	shnLoReserve = 0xff00
	shnXIndex    = 0xffff

	sttNotype  = 0
	sttObject  = 1
	sttFunc    = 2
	sttCommon  = 5
	sttIFunc   = 10
	sttARMFunc = 13 // STT_ARM_TFUNC: a Thumb function of the old GNU ABI

	stbLocal  = 0
	stbGlobal = 1
	stbWeak   = 2

	// MIPS supplement and binutils' include/elf/mips.h: which ISA mode, in st_other.
	stoMIPSISAMask = 0xc0
	stoMicroMIPS   = 0x80
	stoMIPS16Mask  = 0xf0
	stoMIPS16      = 0xf0

	dtPltrelsz       = 2
	dtPltgot         = 3
	dtHash           = 4
	dtStrtab         = 5
	dtSymtab         = 6
	dtRela           = 7
	dtRelasz         = 8
	dtStrsz          = 10
	dtInit           = 12
	dtFini           = 13
	dtRel            = 17
	dtRelsz          = 18
	dtPltrel         = 20
	dtJmprel         = 23
	dtRelrsz         = 35
	dtRelr           = 36
	dtGNUHash        = 0x6ffffef5
	dtVersym         = 0x6ffffff0
	dtRelacount      = 0x6ffffff9
	dtRelcount       = 0x6ffffffa
	dtMIPSLocalGotno = 0x7000000a
	dtMIPSSymtabno   = 0x70000011
	dtMIPSGotsym     = 0x70000013

	ntGNUBuildID = 3

	elfcompressZlib = 1
	elfcompressZstd = 2
)
