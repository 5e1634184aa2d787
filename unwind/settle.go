package unwind

// settle looks back over a walk that took its frames' certainty for granted, and
// takes it away where nobody vouches for it. Frames before the one at index first
// are proven.
//
//	#4  main            ◄─ call f: goes to #3's function            proven
//	#3  f               ◄─ call *%rax: unknown                      vouched by #4:
//	#2  callback        ◄─ call g, which ends in jmp h              … and by #3
//	#1  h
//
// An indirect call before a return address proves nothing, nor one that comes to the
// callee by another function's jump. But the rule of the function there leads on; if it leads
// exactly to where a call of just that function returns, or through more such frames
// to one that is proven, the story holds together: where a return address was
// overwritten, another function's frame layout would be laid over the stack, and
// what that finds is not such a place.
//
// Stacks begin in few places (clone, _start), and a rule leads to one exactly, or to
// none: the outermost frame vouches for the one below, start_thread, which nobody
// calls directly, and is itself taken for granted if that one holds.
func settle(frames []Frame, first int, root bool) {
	last := len(frames) - 1
	root = root && !frames[last].Exact // no rule led to an interrupted frame
	vouched := false
	for i := last; i >= first; i-- {
		f := &frames[i]
		if vouched && !f.Checks.proven() {
			f.Checks |= Corroborated
		}
		vouched = f.follows() && (vouched || f.Checks.proven() || root && i == last)
	}
	if root && last > 0 && !frames[last].Checks.proven() {
		frames[last].Checks |= Corroborated
	}
	doubt := false
	for i := max(first-1, 1); i <= last && frames[i].Trust == Certain; i++ {
		doubt = doubt || !frames[i].Checks.witnessed() || i < last && frames[i+1].Trust == Guess
		if doubt {
			frames[i].Trust = Likely
		}
	}
}

// locate takes certainty away from frames of which one lost bit or word makes others that
// look as good, all else being as it was:
//
//   - an interrupted frame: nothing but a word of the signal or exception frame tells which
//     instruction of the function it was. Behind a system call a function is interrupted as
//     that returns (raise, sleep), and few have another one;
//   - all frames that it leads to, where its caller is not proven: were the PC that of a leaf
//     function, the link register would be taken for where that returns to; what it still
//     holds is an earlier call of the interrupted function's own, and one frame too many;
//   - a frame whose function calls its callee again, one bit of the return address away:
//     main, which calls f at 0x404 and at 0x414. That says nothing about the frames further
//     out, which have witnesses of their own.
//
// All of them are among those from Walker.unproven on.
func (w *Walker) locate(frames []Frame) {
	lost, shifted := false, false
	for i := range frames {
		f := &frames[i]
		shifted = shifted || lost && !f.Checks.proven()
		lost = f.Exact && !w.opt.CallGraph.BehindSyscall(f.Module, f.PC, f.Mode)
		if lost || shifted || f.Checks&OneBitAway != 0 {
			f.Trust = min(f.Trust, Likely)
		}
	}
}

// follows tells whether a frame was derived from the one before, rather than found
// by a search, and could have called it for all that is known.
func (f *Frame) follows() bool {
	return f.Trust == Certain && f.Checks&(NoCall|TargetDiffers) == 0 && f.Checks&witness != TargetUnclear
}
