// Package device writes the table that device/backsight.c reads: the rule at each instruction,
// small, read in place from flash, without heap, division or aligned loads.
//
//	PC ─► page of 65,536 units ─► block of 128 bytes ─► row ─► rule ─► form
//	      indexed                 searched             read    2 bytes  4 bytes and more
//
// A unit is the size of the smallest instruction. All numbers are little-endian and lie at any
// address.
//
//	 0  "bsD", version
//	 4  size of the table
//	 8  CRC-32 (IEEE) of all that follows
//	12  ELF machine (16 bits)
//	14  log2 of a unit (bits 0–1), log2 of a register (bits 2–3), big-endian (bit 4)
//	15  number of tracked registers
//	16  their numbers, 12 bytes
//	28  pages, 30 blocks, 32 rules, 34 forms (16 bits each)
//	36  address of unit 0 (64 bits)
//	44  units (32 bits)
//	48  address of the code (64 bits), 56 its size or that of its first segment, 60 its CRC-32
//	64  length of the build's identity, and the identity: 20 bytes at most of image.Identity
//	85  filler up to 88
//	88  pages+1 numbers of blocks (16 bits): the first that begins in or behind each page
//	    blocks: low 16 bits of the unit that each begins with
//	    rules: form, low 8 bits of the CFA's offset
//	    forms: 4 bytes and one for each tracked register
//	    blocks of 128 bytes each; the last one ends with the table
//
// # Registers
//
// Registers have numbers from 0 to 15, by machine: those that functions preserve, the stack
// pointer and the link register are among them (registersOf). Tracked are those that frames of
// this program are found by: the rules say where the caller's values of these are. The values of
// others are unknown in the caller.
//
// # Rows
//
// A row is one byte or more: which rule, and for how many units it holds.
//
//	sss lllll   s < 7: the rule that is s-th in the list of recent rules; 7: a byte follows,
//	            the rule's number, or for 224 and more its high part + 224, and its low part
//	            l < 31: l+1 units; 31: a byte b follows: b+32 units; b 255: 16 bits more
//
// The list begins, in each block, with the seven rules of most rows, while the eighth holds; a
// rule that another one replaces enters the list in front, the one taken leaves it. Functions change between few
// rules, so that nearly all rows but those of their bodies take one byte.
//
// # Rules
//
// A form is what rules have in common but the low part of the CFA's offset:
//
//	0  bits 0–3: the base register; 4: the CFA is the word at base + offset; 5: the return
//	   address is signed; 6: it is in a register; 7: slots are relative to the base register
//	1  slot (or register) of the return address; -127: there is no caller; -128: nothing is known
//	2  upper 16 bits of the CFA's offset from the base register, signed
//	4  for each tracked register its slot; -128: the register has its value; 127: nothing has
//
// Offsets and slots count words of a register's size. Slots are relative to the CFA.
//
// An interrupted frame is looked up by its PC, a calling one by its return address minus 1: the
// row at a call's last unit is that of the running call.
package device
