package mips

import (
	"testing"

	"github.com/backsight/backsight/cpu"
)

// TestStandardListing: what prologues, epilogues, calls and constants of the
// standard encoding become, at 0x1000.
func TestStandardListing(t *testing.T) {
	listing(t, archOf(t, "o32", true, plain).Decoder, 0, `
		27bdffe0  addiu sp,sp,-32  -> addimm sp <sp -0x20
		afbf001c  sw ra,28(sp)     -> store <ra [sp]4 0x1c
		8fbf001c  lw ra,28(sp)     -> load ra [sp]4 0x1c
		03e00008  jr ra            -> return <ra slot
		0320f809  jalr t9          -> call ra <t9 slot
		03200008  jr t9            -> jump <t9 slot
		3c1c004b  lui gp,0x4b      -> const gp 0x4b0000
		279cee40  addiu gp,gp,-4544 -> addimm gp <gp -0x11c0
		0399e021  addu gp,gp,t9    -> add gp <gp <t9
		2402ffe0  li v0,-32        -> const v0 0xffffffe0
		3c018000  lui at,0x8000    -> const at 0x80000000
		3408fff0  li t0,0xfff0     -> const t0 0xfff0
		35088001  ori t0,t0,0x8001 -> orimm t0 <t0 0x8001
		03a3e823  subu sp,sp,v1    -> sub sp <sp <v1
		03a0f025  move s8,sp       -> move s8 <sp
		03c0e825  move sp,s8       -> move sp <s8
		03a0f021  addu s8,sp,zero  -> move s8 <sp
		00001025  move v0,zero     -> const v0
		7c1d1004  ins sp,zero,0,3  -> andimm sp <sp -0x8
		33bd00f8  andi sp,sp,0xf8  -> andimm sp <sp 0xf8
		00021080  sll v0,v0,2      -> shlimm v0 <v0 0x2
		00021082  srl v0,v0,2      -> shrimm v0 <v0 0x2
		00221082  ror v0,v0,2      -> clobber {v0}
		00000000  nop              -> nop padding
		00000040  ssnop            -> nop
		2c620009  sltiu v0,v1,9    -> compare v0 <v1 0x9
		28620009  slti v0,v1,9     -> clobber {v0}
		104003ee  beqz v0,1fbc     -> jump <v0 <zero @0x1fbc cond slot
		100003ed  b 1fb8           -> jump @0x1fb8 slot
		04110001  bal 1008         -> call ra @0x1008 slot
		0411002b  bal 10b0         -> call ra @0x10b0 slot
		0491002b  bgezal a0,10b0   -> call ra @0x10b0 cond slot
		5043ffea  beql v0,v1,fac   -> jump <v0 <v1 @0xfac cond slot likely
		0c000800  jal 2000         -> call ra @0x2000 slot
		74000800  jalx 2000        -> call ra @0x2000 mode1 slot
		08000800  j 2000           -> jump @0x2000 slot
		8ba80003  lwl t0,3(sp)     -> clobber {t0}
		aba80003  swl t0,3(sp)     -> store [sp]4
		8c000000  lw zero,0(zero)  -> nop
		c0880000  ll t0,0(a0)      -> load t0 [a0]4
		e0880000  sc t0,0(a0)      -> clobber {t0}
		0085100a  movz v0,a0,a1    -> move v0 <a0 cond
		0005100b  movn v0,zero,a1  -> const v0 cond
		f7b40008  sdc1 $f20,8(sp)  -> store [sp]8 0x8
		44020000  mfc1 v0,$f0      -> clobber {v0}
		45000004  bc1f 1014        -> jump @0x1014 cond slot
		00000034  teq zero,zero    -> trap
		008001f4  teq a0,zero,7    -> nop
		0007000d  break 7          -> trap
		0000000c  syscall          -> syscall {at v0 v1 a3 t0 t1 t2 t3 t4 t5 t6 t7 t8 t9 hi lo}
		42000018  eret             -> return <pc exception
		40037000  mfc0 v1,c0_epc   -> move v1 <pc
		40837000  mtc0 v1,c0_epc   -> move pc <v1
		40036000  mfc0 v1,c0_status -> clobber {v1}
		00850018  mult a0,a1       -> clobber {hi lo}
		7c03e83b  rdhwr v1,$29     -> clobber {v1}
		7ca4100a  lwx v0,a0(a1)    -> load v0 [a1+a0]4
		70a41088  lwxs v0,a0(a1)   -> load v0 [a1+a0]4 *4
		4c41a00f  prefx            -> nop
	`)
}

// TestWideListing: on 64-bit registers word results are flagged and constants
// have their sign.
func TestWideListing(t *testing.T) {
	listing(t, archOf(t, "n64", true, plain).Decoder, 0, `
		67bdffd0  daddiu sp,sp,-48 -> addimm sp <sp -0x30
		27bdffd0  addiu sp,sp,-48  -> addimm sp <sp -0x30 w32
		ffbf0028  sd ra,40(sp)     -> store <ra [sp]8 0x28
		dfbf0028  ld ra,40(sp)     -> load ra [sp]8 0x28
		8fbf0028  lw ra,40(sp)     -> load ra [sp]4 0x28 signed
		9fa20028  lwu v0,40(sp)    -> load v0 [sp]4 0x28
		3c018000  lui at,0x8000    -> const at -0x80000000
		0399e02d  daddu gp,gp,t9   -> add gp <gp <t9
		03a3e82f  dsubu sp,sp,v1   -> sub sp <sp <v1
		00021438  dsll v0,v0,16    -> shlimm v0 <v0 0x10
		0002103c  dsll32 v0,v0,0   -> shlimm v0 <v0 0x20
		0002103a  dsrl v0,v0,0     -> shrimm v0 <v0
		001fe03e  dsrl32 gp,ra,0   -> shrimm gp <ra 0x20
		00021000  sll v0,v0,0      -> shlimm v0 <v0 w32
		7c1d1807  dins sp,zero,0,4 -> andimm sp <sp -0x10
		c8a20003  bbit0 a1,2,1010  -> jump <a1 @0x1010 cond slot
		fca20008  sd v0,8(a1)      -> store <v0 [a1]8 0x8
	`)
	listing(t, archOf(t, "n64", false, loongson).Decoder, 0, `
		3000bfeb  gssq ra,s0,0(sp) -> store <ra <s0 [sp]8
		3000bfcb  gslq ra,s0,0(sp) -> load ra s0 [sp]8
	`)
}

// TestRelease6Listing: compact branches, told apart by register numbers, and
// PC-relative operands.
func TestRelease6Listing(t *testing.T) {
	listing(t, archOf(t, "o32", true, release6).Decoder, 0, `
		03e00009  jr ra            -> return <ra slot
		d81f0000  jrc ra           -> return <ra
		d8190000  jrc t9           -> jump <t9
		d8190008  jic t9,8         -> jump <t9 0x8
		f8190000  jalrc t9         -> call ra <t9
		c8000004  bc 1014          -> jump @0x1014
		e8000004  balc 1014        -> call ra @0x1014
		e8000000  balc 1004        -> call ra @0x1004
		04100000  nal              -> call ra @0x1008 slot getpc
		18420004  bgezalc v0,1014  -> call ra @0x1014 cond
		18020004  blezalc v0,1014  -> call ra @0x1014 cond
		18430004  bgeuc v0,v1,1014 -> jump <v0 <v1 @0x1014 cond
		18400004  blez v0,1014     -> jump <v0 <zero @0x1014 cond slot
		20430004  beqc v0,v1,1014  -> jump <v0 <v1 @0x1014 cond
		20020004  beqzalc v0,1014  -> call ra @0x1014 cond
		20000004  bovc zero,zero   -> jump <zero <zero @0x1014 cond
		d8400004  beqzc v0,1014    -> jump <v0 <zero @0x1014 cond
		58020004  blezc v0,1014    -> jump <zero <v0 @0x1014 cond
		ec400004  addiupc v0,16    -> const v0 0x1010 addr
		ec480004  lwpc v0,1010     -> load v0 [?]4 0x1010
		ec5e0002  auipc v0,2       -> const v0 0x21000 addr
		ec5f0002  aluipc v0,2      -> const v0 0x20000 addr
		3c5d0001  aui sp,v0,1      -> addimm sp <v0 0x10000
		00831045  lsa v0,a0,v1,2   -> add v0 <v1 <a0 *4
		00831098  mul v0,a0,v1     -> clobber {v0}
		00850018  mult a0,a1 (DSP) -> clobber {hi lo}
		7c880036  ll t0,0(a0)      -> load t0 [a0]4
		04170000  sigrie           -> trap
	`)
}

// TestMIPS16Listing: frames, moves between the register sets, literals.
func TestMIPS16Listing(t *testing.T) {
	listing(t, archOf(t, "o32", true, plain).Decoder, 1, `
		64f5      save 40,ra,s0-s1      -> storemulti {s0 s1 ra} [sp]4 -0xc wb-40 frame
		6475      restore 40,ra,s0-s1   -> loadmulti {s0 s1 ra} [sp]4 0x1c wb+40 frame
		6480      save 128              -> addimm sp <sp -0x80 frame
		f00464f8  save a0,64,ra,s0-s1   -> storemulti {s0 s1 ra} [sp]4 -0xc wb-64 frame
		f72b64f4  save 352,a0-a3,ra,s0-s8 -> storemulti {a0 a1 a2 a3 s0 s1 s2 s3 s4 s5 s6 s7 s8 ra} [sp]4 -0x38 wb-288 frame
		e820      jr ra                 -> return <ra slot
		e8a0      jrc ra                -> return <ra
		eb00      jr v1                 -> jump <v1 slot
		eb40      jalr v1               -> call ra <v1 slot
		ebc0      jalrc v1              -> call ra <v1
		1a000549  jal 401524            -> call ra @0x401524 mode1 slot
		1e000549  jalx 401524           -> call ra @0x401524 slot
		1000      b 1002                -> jump @0x1002 mode1
		f0011000  b 2004                -> jump @0x2004 mode1
		2a09      bnez v0,1014          -> jump <v0 <zero @0x1014 mode1 cond
		6125      btnez 104c            -> jump <t8 <zero @0x104c mode1 cond
		63fc      addiu sp,-32          -> addimm sp <sp -0x20
		f7c06308  addiu sp,1992         -> addimm sp <sp 0x7c8
		0404      addiu a0,sp,16        -> addimm a0 <sp 0x10
		0b02      addiu v1,pc,8         -> const v1 0x1008 addr
		b204      lw v0,16(pc)          -> load v0 [?]4 0x1010
		9204      lw v0,16(sp)          -> load v0 [sp]4 0x10
		d204      sw v0,16(sp)          -> store <v0 [sp]4 0x10
		6204      sw ra,16(sp)          -> store <ra [sp]4 0x10
		f0309b60  lw v1,-32736(v1)      -> load v1 [v1]4 -0x7fe0
		6724      move s1,a0            -> move s1 <a0
		659e      move gp,a2            -> move gp <a2
		6500      nop                   -> nop padding
		6d01      li a1,1               -> const a1 0x1
		f7ff6d1f  li a1,0xffff          -> const a1 0xffff
		5a09      sltiu v0,9            -> compare t8 <v0 0x9
		5209      slti v0,9             -> clobber {t8}
		7209      cmpi v0,9             -> clobber {t8}
		e805      break 0               -> trap
		f0c93084  ins a0,zero,3,7       -> andimm a0 <a0 -0x3f9
		f2220234  addiu v0,gp,0x1234    -> addimm v0 <gp 0x1234
	`)
}

// TestMicroMIPSListing: the frame instructions, the short jumps and the odd
// immediates.
func TestMicroMIPSListing(t *testing.T) {
	listing(t, archOf(t, "o32", true, microMIPS).Decoder, 1, `
		4ff9      addiusp -16           -> addimm sp <sp -0x10
		4c01      addiusp 1024          -> addimm sp <sp 0x400
		4ffd      addiusp -1032         -> addimm sp <sp -0x408
		4ffb      addiusp -12           -> addimm sp <sp -0xc
		4c50      addius5 v0,-8         -> addimm v0 <v0 -0x8
		6d09      addiur1sp v0,16       -> addimm v0 <sp 0x10
		6d2e      addiur2 v0,v0,-1      -> addimm v0 <v0 -0x1
		4704      jraddiusp 16          -> return <ra 0x10
		459f      jr ra                 -> return <ra slot
		45bf      jrc ra                -> return <ra
		45d9      jalr t9               -> call ra <t9 slot
		45f9      jalrs t9              -> call ra <t9 slot
		00190f3c  jr t9                 -> jump <t9 slot
		03f90f3c  jalr t9               -> call ra <t9 slot
		f4000800  jal 1000              -> call ra @0x1000 mode1 slot
		74000800  jals 1000             -> call ra @0x1000 mode1 slot
		f0000800  jalx 2000             -> call ra @0x2000 slot
		40600002  bal 1008              -> call ra @0x1008 mode1 slot
		42600001  bals 1006             -> call ra @0x1006 mode1 slot
		42600002  bals 1008             -> call ra @0x1008 mode1 slot
		4502      lwm s0,ra,8(sp)       -> loadmulti {s0 ra} [sp]4 0x8 frame
		4542      swm s0,ra,8(sp)       -> storemulti {s0 ra} [sp]4 0x8 frame
		227d5008  lwm s0-s2,ra,8(sp)    -> loadmulti {s0 s1 s2 ra} [sp]4 0x8 frame
		233dd008  swm s0-s7,s8,ra,8(sp) -> storemulti {s0 s1 s2 s3 s4 s5 s6 s7 s8 ra} [sp]4 0x8 frame
		221d9004  swp s0,4(sp)          -> store <s0 <s1 [sp]4 0x4
		221d1004  lwp s0,4(sp)          -> load s0 s1 [sp]4 0x4
		8406      movep a1,a2,zero,v1   -> clobber {a1 a2}
		0c00      nop                   -> nop padding
		0fdd      move s8,sp            -> move s8 <sp
		cc02      b 1006                -> jump @0x1006 mode1 slot
		8d02      beqz v0,1006          -> jump <v0 <zero @0x1006 mode1 cond slot
		40e20002  beqzc v0,1008         -> jump <v0 <zero @0x1008 mode1 cond
		ed7f      li v0,-1              -> const v0 0xffffffff
		ed7e      li v0,126             -> const v0 0x7e
		090f      lbu v0,-1(s0)         -> load v0 [s0]1 -0x1
		4be7      lw ra,28(sp)          -> load ra [sp]4 0x1c
		cbe7      sw ra,28(sp)          -> store <ra [sp]4 0x1c
		657f      lw v0,-4(gp)          -> load v0 [gp]4 -0x4
		41bc0001  lui gp,1              -> const gp 0x10000
		33bdffe0  addiu sp,sp,-32       -> addimm sp <sp -0x20
		79000004  addiupc v0,16         -> const v0 0x1010 addr
		00638b7c  syscall               -> syscall {at v0 v1 a3 t0 t1 t2 t3 t4 t5 t6 t7 t8 t9 hi lo} 0x63
	`)
	listing(t, archOf(t, "o32", true, release6).Decoder, 1, `
		47e3      jrc ra                -> return <ra
		472b      jalrc t9              -> call ra <t9
		4493      jrcaddiusp 16         -> return <ra 0x10
		b4000002  balc 1008             -> call ra @0x1008 mode1
		b4000000  balc 1004             -> call ra @0x1004 mode1
		94000002  bc 1008               -> jump @0x1008 mode1
		a01f0000  jic ra,0              -> return <ra
		80190000  jialc t9,0            -> call ra <t9
		80400002  beqzc v0,1008         -> jump <v0 <zero @0x1008 mode1 cond
		cc02      bc 1006               -> jump @0x1006 mode1
		78400004  addiupc v0,16         -> const v0 0x1010 addr
		4422      lwm s0,ra,8(sp)       -> loadmulti {s0 ra} [sp]4 0x8 frame
	`)
}

// TestSlotLiteral: in a delay slot of MIPS16e the PC of a literal is that of the
// jump (0x1002), not its own (0x1004).
func TestSlotLiteral(t *testing.T) {
	code := []byte{0x65, 0x00, 0xe8, 0x20, 0xb2, 0x04} // nop; jr ra; lw v0,16(pc)
	var out [3]cpu.Insn
	if n := archOf(t, "o32", true, plain).Decoder.Decode(code, 0x1000, 1, out[:]); n != 3 {
		t.Fatalf("%d instructions", n)
	}
	if got, want := format(&out[2]), "load v0 [?]4 0x1010"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
