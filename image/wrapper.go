package image

// Wrapper is a Container that answers some questions itself, such as those for names, and leaves
// the others to the Container that it wraps.
type Wrapper interface {
	Container
	// Unwrap is the Container that is wrapped; nil: there is none.
	Unwrap() Container
}

// ContainerAs is c, or of those that c wraps the first, as a T: what a Wrapper does not tell, its
// file does. ok is false where none is a T.
func ContainerAs[T any](c Container) (t T, ok bool) {
	for c != nil {
		if t, ok = c.(T); ok {
			return t, true
		}
		w, is := c.(Wrapper)
		if !is {
			break
		}
		c = w.Unwrap()
	}
	return t, false
}
