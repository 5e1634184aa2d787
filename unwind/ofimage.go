package unwind

import "github.com/backsight/backsight/image"

// ImageSource is implemented by sources that answer for some images only, because most lack the table that they read.
type ImageSource interface {
	// Knows tells whether the source may have an answer for a place in an image.
	Knows(img *image.Image) bool
}

// sourceLists are the sources to ask, by image. One per goroutine.
type sourceLists struct {
	*ownSources
	shared    *Shared // nil: lists are kept for the last image only
	last      *image.Image
	lastKnown *imageSources
}

// ownSources are the sources of a walker, sorted by what they are. They are asked about frames outside all images.
type ownSources struct {
	imageSources
	trampolines []trampolineSource
}

// imageSources are the sources that know an image.
type imageSources struct {
	all, exact []Source     // exact in the order in which they are asked about an exact frame
	tables     []RuleSource // those that read tables
}

func newSourceLists(opt *Options) *sourceLists {
	sorted := func() *ownSources {
		return &ownSources{imageSources{opt.Sources, exactOrder(opt.Sources), tablesOf(opt.Sources)}, trampolinesOf(opt.Sources)}
	}
	if opt.Shared == nil {
		return &sourceLists{ownSources: sorted()}
	}
	opt.Shared.sorting.Do(func() { opt.Shared.sources = sorted() })
	return &sourceLists{ownSources: opt.Shared.sources, shared: opt.Shared}
}

// of are the sources that know an image.
func (l *sourceLists) of(img *image.Image) *imageSources {
	type key struct{ shared *Shared }
	if l.last == img {
		return l.lastKnown
	}
	list := func() any { return &imageSources{knowing(l.all, img), knowing(l.exact, img), knowing(l.tables, img)} }
	l.last = img
	if l.shared != nil {
		l.lastKnown = img.Memo(key{l.shared}, list).(*imageSources)
	} else {
		l.lastKnown = list().(*imageSources)
	}
	return l.lastKnown
}

// knowing are those of some sources that know an image.
func knowing[S Source](sources []S, img *image.Image) (some []S) {
	for _, s := range sources {
		if known, asks := Source(s).(ImageSource); !asks || known.Knows(img) {
			some = append(some, s)
		}
	}
	return some
}

// asked are the sources to ask about a frame. Who wants to see what each says asks all.
func (f *finder) asked(s *State) []Source {
	all, exact := f.lists.all, f.lists.exact
	if s.Module != nil && s.Module.Image != nil && f.explain.tell == nil {
		known := f.lists.of(s.Module.Image)
		all, exact = known.all, known.exact
	}
	if s.Exact {
		return exact
	}
	return all
}
