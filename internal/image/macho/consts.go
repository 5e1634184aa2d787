package macho

// Names and values from Apple's mach-o/loader.h, mach-o/nlist.h, mach-o/fat.h and
// mach-o/fixup-chains.h.
const (
	magic32 = 0xfeed_face
	magic64 = 0xfeed_facf

	fatMagic   = 0xcafe_babe
	fatMagic64 = 0xcafe_babf

	mhObject  = 1
	mhExecute = 2
	mhCore    = 4
	mhPreload = 5
	mhDylib   = 6
	mhDylink  = 7
	mhBundle  = 8
	mhDsym    = 10
	mhKext    = 11
	mhFileset = 12

	mhPIE = 0x0020_0000

	lcReqDyld = 0x8000_0000

	lcSegment          = 0x1
	lcSymtab           = 0x2
	lcThread           = 0x4
	lcUnixThread       = 0x5
	lcDysymtab         = 0xb
	lcIDDylib          = 0xd
	lcIDDylinker       = 0xf
	lcSegment64        = 0x19
	lcUUID             = 0x1b
	lcEncryptionInfo   = 0x21
	lcDyldInfo         = 0x22
	lcFunctionStarts   = 0x26
	lcMain             = 0x28 | lcReqDyld
	lcEncryptionInfo64 = 0x2c
	lcExportsTrie      = 0x33 | lcReqDyld
	lcChainedFixups    = 0x34 | lcReqDyld

	protRead, protWrite, protExec = 1, 2, 4

	sectionType         = 0xff
	sZeroFill           = 0x1
	sNonLazyPointers    = 0x6
	sLazyPointers       = 0x7
	sSymbolStubs        = 0x8
	sGBZeroFill         = 0xc
	sLazyDylibPointers  = 0x10
	sThreadLocalZero    = 0x12
	attrSomeInstruction = 0x0000_0400
	attrPureInstruction = 0x8000_0000

	nStab        = 0xe0
	nType        = 0x0e
	nSect        = 0x0e
	nExt         = 0x01
	nARMThumbDef = 0x0008
	nWeakDef     = 0x0080

	indirectLocal = 0x8000_0000
	indirectAbs   = 0x4000_0000
)
