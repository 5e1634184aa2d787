package image

// Wrapper is a Container around another Container. The Wrapper answers some questions itself, such
// as which names there are, and leaves all other questions to the wrapped Container.
type Wrapper interface {
	Container
	// Unwrap is the wrapped Container; nil: there is none.
	Unwrap() Container
}

// ContainerAs finds the Container that implements T: c itself, else the outermost of the Containers
// that c wraps. ok is false where no Container implements T.
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
