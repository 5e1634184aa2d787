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
			f.Checks |= Vouched
		}
		vouched = f.follows() && (vouched || f.Checks.proven() || root && i == last)
	}
	if root && last > 0 && !frames[last].Checks.proven() {
		frames[last].Checks |= Vouched
	}
	doubt := false
	for i := max(first-1, 1); i <= last && frames[i].Trust == Certain; i++ {
		doubt = doubt || !frames[i].Checks.witnessed() || i < last && frames[i+1].Trust == Guess
		if doubt {
			frames[i].Trust = Likely
		}
	}
}

// locate takes the certainty of interrupted frames away where nothing but a word of
// the signal or exception frame tells which instruction of the function it was: one bit
// of it may have been lost, and all else is as it was. Behind a system call a function is
// interrupted as that returns (raise, sleep), and few have another one. That says
// nothing about the frames further out, which have witnesses of their own. An interrupted
// frame is none whose call proves it: all of them are among those from Walker.unproven on.
func (w *Walker) locate(frames []Frame) {
	for i := range frames {
		f := &frames[i]
		if f.Exact && f.Trust == Certain && !w.opt.Flow.BehindSyscall(f.Module, f.PC, f.Mode) {
			f.Trust = Likely
		}
	}
}

// follows tells whether a frame was derived from the one before, rather than found
// by a search, and could have called it for all that is known.
func (f *Frame) follows() bool {
	return f.Trust == Certain && f.Checks&(Searched|NoCall|TargetDiffers) == 0 && f.Checks&witness != TargetUnclear
}
