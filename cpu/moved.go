package cpu

// Moved is what an instruction adds to SP; false where that is not a constant.
func (a *Arch) Moved(in *Insn) (int64, bool) {
	switch {
	case in.Op == OpLeave || in.Op == OpCall && a.CallPushesRA:
		return 0, false
	case in.Op == OpAddImm && in.Dst == a.SP:
		return in.Imm, in.Src == a.SP
	case in.Dst == a.SP || in.Dst2 == a.SP || in.Op != OpStoreMulti && in.List.Has(a.SP):
		return 0, false
	case in.Base == a.SP:
		return int64(in.WB), true
	}
	return 0, true
}
